"""The steps of a table's export; `local` and `pipeline` run them."""

import contextlib
import io
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, BinaryIO, cast

from trainer import storage
from trainer.exporting import ExportError
from trainer.exporting.objects import Objects
from trainer.exporting.refusal import step
from trainer.exporting.settings import ExportSettings
from trainer.exporting.sharding import by_bytes
from trainer.exporting.tables import columns as table_columns
from trainer.exporting.tables import features, parquet, ranges, survey, write
from trainer.exporting.tables.features import TablePlan
from trainer.exporting.tables.layout import PARTIAL_FOLDER, ShardWork, Slice, cut
from trainer.exporting.tables.parquet import Report, RowGroups, Source
from trainer.exporting.tables.summaries import RangeSummary
from trainer.exporting.tables.survey import Survey
from trainer.exporting.tables.write import ShardResult, Writing

# Concurrent reads per step: Cloud Storage answers after some 50 ms, and a slice is small.
_READERS = 16
# Rows whose records are written to know their bytes: of images, a second or two on one machine. The
# mean of 500 sizes that vary as much as they are large is within 5 %.
_SAMPLE = 500
# No more than a twentieth of the rows: writing few takes no longer for it.
_SAMPLE_PART = 20


def read_source(settings: ExportSettings, objects: Objects) -> Source:
    """Read columns.json and the footers of the Parquet files beside it. Raises ExportError."""
    try:
        content = objects.read(settings.source)
    except FileNotFoundError as error:
        raise ExportError(f"there is no columns.json at {settings.source}") from error
    columns = table_columns.parse(content, settings.source).of_part(settings.part)
    return parquet.list_source(columns, settings.source, objects)


class _Counted(io.RawIOBase):
    """A file that keeps nothing."""

    def write(self, data: Any) -> int:
        """Return the number of bytes."""
        return len(data)


class Steps:
    """The steps, with what they need to read and write objects; not picklable."""

    def __init__(self, settings: ExportSettings, objects: Objects):
        self._settings = settings
        self._objects = objects
        self._is_local = "://" not in settings.output
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="slices")

    def close(self) -> None:
        """Stop the threads that read."""
        self._readers.shutdown()

    @step
    def list_row_groups(self, sha256: str) -> Source:
        """Read the footers again; raises ExportError if columns.json has not this SHA-256."""
        source = read_source(self._settings, self._objects)
        if source.columns.sha256 != sha256:
            raise ExportError(
                f"{self._settings.source} changed while the export began; start it again"
            )
        return source

    @step
    def sort_rows(self, work: RowGroups, source: Source) -> Report:
        """Write the rows of some row groups to sorted temporary files."""
        return parquet.sort_rows(work, source, self._objects, self._settings.output)

    @step
    def survey(self, source: Source, reports: Iterable[Report]) -> Survey:
        """Assign splits, classes and shards."""
        return survey.survey(self._settings, source.columns, reports)

    @step
    def summarise(self, range_: int, source: Source, surveyed: Survey) -> RangeSummary:
        """Summarise all rows of a range of fingerprints."""
        return ranges.summarise(range_, surveyed.layout, source.columns, self._read)

    @step
    def plan(self, source: Source, surveyed: Survey, summary: RangeSummary) -> TablePlan:
        """Describe the features, and divide the rows among files."""
        table = features.make_plan(self._settings, source.columns, surveyed, summary)
        return self._sized(table) if self._settings.by_bytes else table

    @step
    def write_shard(self, work: ShardWork, table: TablePlan) -> ShardResult:
        """Write a TFRecord file."""
        start = time.monotonic()
        result = self._write(work, table, lambda name: self._objects.writing(self._address(name)))
        seconds = time.monotonic() - start
        rejected = f", {len(result.rejected)} rejected" if table.columns.images() else ""
        examples = result.shard.examples
        print(
            f"shard {work.position}: wrote {work.name}, {examples} examples{rejected}, "
            f"{seconds:.1f} s, {examples / max(seconds, 1e-9):.0f} rows/s",
            flush=True,
        )
        return result

    def _sized(self, table: TablePlan) -> TablePlan:
        """The table with files of a size, by the records of a sample of its train rows. These are
        in the order of their keys' fingerprints, so the first are as good as any.
        """
        rows = {name: split.examples for name, split in table.survey.counts.items()}
        size = max(1, min(_SAMPLE, rows["train"] // _SAMPLE_PART))
        sample = ShardWork("sample", "train", "sample", 0, size)
        written = self._write(
            sample, table, lambda name: contextlib.nullcontext(cast(BinaryIO, _Counted()))
        )
        bytes_ = written.shard.bytes / size * rows["train"]
        count = by_bytes(self._settings.shards, rows["train"], bytes_)
        print(
            f"train: about {bytes_ / 1e6:,.0f} MB by a sample of {size} rows, {count} files of "
            f"{bytes_ / count / 1e6:,.0f} MB",
            flush=True,
        )
        return replace(table, survey=replace(table.survey, work=tuple(cut(rows, count))))

    def _write(self, work: ShardWork, table: TablePlan, writing: Writing) -> ShardResult:
        return write.write_shard(
            work, table, self._read, writing, self._objects.read, self._readers, self._is_local
        )

    @step
    def commit(self, table: TablePlan, shards: Iterable[ShardResult]) -> None:
        """Remove the temporary files, and write rejected.jsonl and dataset.json."""
        self._objects.remove_folder(self._address(PARTIAL_FOLDER))
        write.commit(
            self._settings,
            table,
            shards,
            lambda name, data: self._objects.write(self._address(name), data),
        )

    def _address(self, name: str) -> str:
        return storage.join(self._settings.output, name)

    def _read(self, slices: Sequence[Slice]) -> Iterator[bytes]:
        """The bytes of slices of temporary files, in order."""

        def read(part: Slice) -> bytes:
            return self._objects.read_range(self._address(part.file), part.start, part.size)

        # This machine's files answer at once: handing a read to a thread takes longer than it.
        return map(read, slices) if self._is_local else self._readers.map(read, slices)
