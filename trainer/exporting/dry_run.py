"""Estimates the size and duration of an export from a sample that is really exported.

The sample goes to a temporary folder. Its bytes and seconds for each example are those of all.
"""

import contextlib
import dataclasses
import io
import os
import tempfile
import time
from collections.abc import Iterator
from functools import partial

from trainer import dataset_description
from trainer.exporting import ExportError
from trainer.exporting.objects import Objects
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables import local as tables
from trainer.exporting.tables.parquet import RowGroups
from trainer.exporting.tables.steps import Steps
from trainer.exporting.workers import Workers
from trellis_contracts.dataset import SPLITS

# Enough for a rate within some percent, in seconds.
_ROWS = 200_000


@dataclasses.dataclass(frozen=True)
class Estimate:
    """examples: by split; exact if all were counted, not only those of the sample. sample: number
    of examples exported. bytes: of the dataset's TFRecord files. seconds: on this machine.
    """

    examples: dict[str, int]
    exact: bool
    sample: int
    bytes: int
    seconds: float

    def lines(self) -> list[str]:
        """Format the estimate for people."""
        about = "" if self.exact else "about "
        sizes = ", ".join(f"{count} {split}" for split, count in self.examples.items())
        return [
            f"dry run: nothing is written. {self.sample} of {sum(self.examples.values())} examples "
            "were exported to a temporary folder",
            f"splits: {about}{sizes}",
            f"bytes: about {self.bytes / 1e6:.1f} MB of TFRecord files",
            f"time: about {self.seconds:.0f} s and its start, on this machine ({_cores()} cores)",
        ]


def estimate(settings: ExportSettings, sha256: str, objects: Objects) -> Estimate:
    """Export a sample of a source with this SHA-256, which was checked. Raises ExportError."""
    with (
        tempfile.TemporaryDirectory() as folder,
        # Its progress is of temporary files.
        contextlib.redirect_stdout(io.StringIO()),
    ):
        return _of_rows(dataclasses.replace(settings, output=folder), sha256, objects)


def _of_rows(settings: ExportSettings, sha256: str, objects: Objects) -> Estimate:
    steps = Steps(settings, objects)
    with Workers(partial(tables.steps_of, settings), steps, processes=1) as workers:
        source = steps.list_row_groups(sha256)
        work = tuple(_first(source.work))
        rows = sum(groups.rows for groups in work)
        start = time.monotonic()
        try:
            tables.write(dataclasses.replace(source, work=work), steps, workers)
        except ExportError as error:
            raise ExportError(f"of the first {rows} of {source.rows} rows: {error.text}") from error
        seconds = time.monotonic() - start
    dataset = dataset_description.load(settings.output)
    return Estimate(
        {split: dataset.examples(split) * source.rows // rows for split in SPLITS},
        exact=rows == source.rows,
        sample=rows,
        bytes=dataset.bytes * source.rows // rows,
        # The sample took one core.
        seconds=seconds * source.rows / rows / _cores(),
    )


def _first(work: tuple[RowGroups, ...]) -> Iterator[RowGroups]:
    rows = 0
    for groups in work:
        if rows < _ROWS:
            yield groups
        rows += groups.rows


def _cores() -> int:
    return len(os.sched_getaffinity(0))
