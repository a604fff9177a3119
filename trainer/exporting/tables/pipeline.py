"""The Beam pipeline of a table.

    columns.json ── List ──> row groups ── SortRows ──> reports ── Survey
    Survey ──> ranges of fingerprints ── Summarise ──> one summary ── Plan
    Plan ──> shards ── WriteShard ──> sizes ── Commit

Only small values pass between the steps; the rows go through temporary files in the dataset's
folder. With Beam's grouping, a run on one machine would hold all rows in memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Literal, TypeAlias

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.pvalue import TaggedOutput

from trainer import storage
from trainer.dataset_description import Shard
from trainer.exporting import ExportError
from trainer.exporting.objects import Objects
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables import columns as table_columns
from trainer.exporting.tables import features, parquet, ranges, survey, write
from trainer.exporting.tables.features import TablePlan
from trainer.exporting.tables.layout import (
    PARTIAL_FOLDER,
    ShardWork,
    Slice,
    range_bits,
    rows_at_once,
)
from trainer.exporting.tables.parquet import Report, RowGroups, Source
from trainer.exporting.tables.summaries import RangeSummary, Tree
from trainer.exporting.tables.survey import Survey

_SOURCE: Final = "source"
Header: TypeAlias = TaggedOutput[Literal["source"], Source]

# Concurrent reads per element: Cloud Storage answers after some 50 ms, and a slice is small.
_READERS = 16


def read_source(settings: ExportSettings, objects: Objects) -> Source:
    """Read columns.json and the footers of the Parquet files beside it. Raises ExportError."""
    try:
        content = objects.read(settings.source)
    except FileNotFoundError as error:
        raise ExportError(f"there is no columns.json at {settings.source}") from error
    columns = table_columns.parse(content, settings.source)
    return parquet.list_source(columns, settings.source, objects, rows_at_once)


class _Step(beam.DoFn):
    """A step that reads and writes objects."""

    def __init__(self, settings: ExportSettings, beam_flags: Sequence[str]):
        self._settings = settings
        self._beam_flags = beam_flags

    def setup(self):
        """Create what cannot be pickled."""
        self._objects = Objects(self._beam_flags)
        self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="slices")

    def teardown(self):
        """Stop the pool's threads."""
        self._pool.shutdown()

    def _address(self, name: str) -> str:
        return storage.join(self._settings.output, name)

    def _read(self, slices: Sequence[Slice]) -> Iterator[bytes]:
        """The bytes of slices of temporary files, in order."""
        return self._pool.map(
            lambda s: self._objects.read_range(self._address(s.file), s.start, s.size), slices
        )


class ListRowGroups(_Step):
    """Lists: one element -> RowGroups; as source, the Source without them."""

    def __init__(self, settings: ExportSettings, beam_flags: Sequence[str], sha256: str):
        super().__init__(settings, beam_flags)
        self._sha256 = sha256

    def process(self, _: bytes) -> Iterator[RowGroups | Header]:
        """Read the footers again; raises ExportError if columns.json has changed since."""
        source = read_source(self._settings, self._objects)
        if source.columns.sha256 != self._sha256:
            raise ExportError(
                f"{self._settings.source} changed while the export began; start it again"
            )
        header = Source(source.columns, (), source.rows, source.cells)
        yield TaggedOutput(_SOURCE, header)
        yield from source.work


class SortRows(_Step):
    """Writes sorted temporary files: RowGroups -> Report."""

    def process(self, work: RowGroups, source: Source) -> Iterator[Report]:
        """Sort the rows of some row groups."""
        bits, limit = range_bits(source.cells), rows_at_once(source.cells, source.rows)
        output = self._settings.output
        yield parquet.sort_rows(work, source.columns, bits, limit, self._objects, output)
        Metrics.counter("export", "rows read").inc(work.rows)


class SurveyRows(_Step):
    """Combines all reports, a side input: one element -> Survey."""

    def process(self, _: bytes, source: Source, reports: Iterable[Report]) -> Iterator[Survey]:
        """Assign splits, classes and shards."""
        yield survey.survey(self._settings, source.columns, reports)


class SummariseRange(_Step):
    """Summarises a range: its number -> (number, RangeSummary)."""

    def process(
        self, range_: int, source: Source, surveyed: Survey
    ) -> Iterator[tuple[int, RangeSummary]]:
        """Summarise all rows of a range."""
        columns = source.columns
        yield range_, ranges.summarise(range_, surveyed.layout, columns, self._read)


class MergeSummaries(beam.CombineFn):
    """Merges (number, RangeSummary) of all ranges into one RangeSummary."""

    def create_accumulator(self) -> Tree:
        """Return an empty tree."""
        return Tree()

    def add_input(self, tree: Tree, numbered: tuple[int, RangeSummary]) -> Tree:
        """Add one range."""
        number, summary = numbered
        return tree.add(summary, 0, number)

    def merge_accumulators(self, trees: Iterable[Tree]) -> Tree:
        """Merge the trees of several workers."""
        return Tree().merge(trees)

    def extract_output(self, tree: Tree) -> RangeSummary | None:
        """Return the summary of all ranges, or an empty one: Beam also asks for that."""
        return tree.whole if tree.nodes else None


class MakePlan(_Step):
    """Plans: one element -> TablePlan."""

    def process(
        self, _: bytes, source: Source, surveyed: Survey, summary: RangeSummary
    ) -> Iterator[TablePlan]:
        """Describe the features."""
        yield features.make_plan(self._settings, source.columns, surveyed, summary)


class WriteShard(_Step):
    """Writes a shard: ShardWork -> Shard."""

    def process(self, work: ShardWork, table: TablePlan) -> Iterator[Shard]:
        """Write the whole shard."""

        def writing(name):
            return self._objects.writing(self._address(name))

        shard = write.write_shard(work, table, self._read, writing)
        # Shown in Dataflow's console while the job runs.
        Metrics.counter("export", "shards").inc()
        Metrics.counter("export", "examples").inc(shard.examples)
        yield shard


class Commit(_Step):
    """Writes dataset.json; the shards are a side input."""

    def process(self, _: bytes, table: TablePlan, shards: Iterable[Shard]) -> Iterator[None]:
        """Remove the temporary files and write dataset.json."""

        def write_object(name, data):
            self._objects.write(self._address(name), data)

        self._objects.remove_folder(self._address(PARTIAL_FOLDER))
        write.commit(self._settings, table, shards, write_object)
        yield from ()


def build(
    pipeline: beam.Pipeline, settings: ExportSettings, beam_flags: Sequence[str], sha256: str
) -> None:
    """Add the export's steps to a pipeline.

    sha256: of the columns.json that the launcher checked.
    """
    args = (settings, beam_flags)
    one, all_of = beam.pvalue.AsSingleton, beam.pvalue.AsList

    def once(name):
        return pipeline | f"Start{name}" >> beam.Impulse()

    listed = once("List") | "List" >> beam.ParDo(ListRowGroups(*args, sha256)).with_outputs(
        _SOURCE, main="work"
    )
    source = one(listed[_SOURCE])
    reports = (
        listed.work
        | "SpreadRowGroups" >> beam.Reshuffle()
        | "SortRows" >> beam.ParDo(SortRows(*args), source)
    )
    surveyed = once("Survey") | "Survey" >> beam.ParDo(SurveyRows(*args), source, all_of(reports))
    summary = (
        surveyed
        | "Ranges" >> beam.FlatMap(lambda surveyed: range(surveyed.layout.ranges))
        | "SpreadRanges" >> beam.Reshuffle()
        | "Summarise" >> beam.ParDo(SummariseRange(*args), source, one(surveyed))
        | "Merge" >> beam.CombineGlobally(MergeSummaries())
    )
    table = once("Plan") | "Plan" >> beam.ParDo(
        MakePlan(*args), source, one(surveyed), one(summary)
    )
    shards = (
        table
        | "Shards" >> beam.FlatMap(lambda table: table.survey.work)
        | "SpreadShards" >> beam.Reshuffle()
        | "WriteShard" >> beam.ParDo(WriteShard(*args), one(table))
    )
    _ = once("Commit") | "Commit" >> beam.ParDo(Commit(*args), one(table), all_of(shards))
