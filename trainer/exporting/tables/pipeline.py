"""The Beam pipeline of a table.

    columns.json ── List ──> row groups ── SortRows ──> reports ── Survey
    Survey ──> ranges of fingerprints ── Summarise ──> one summary ── Plan
    Plan ──> shards ── WriteShard ──> sizes ── Commit

Only small values pass between the steps; the rows go through temporary files in the dataset's
folder. With Beam's grouping, a run on one machine would hold all rows in memory.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, TypeAlias

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.pvalue import TaggedOutput

from trainer.exporting.objects import Objects
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables.features import TablePlan
from trainer.exporting.tables.layout import ShardWork
from trainer.exporting.tables.parquet import Report, RowGroups, Source
from trainer.exporting.tables.steps import Steps
from trainer.exporting.tables.summaries import RangeSummary, Tree
from trainer.exporting.tables.survey import Survey
from trainer.exporting.tables.write import ShardResult

_SOURCE: Final = "source"
Header: TypeAlias = TaggedOutput[Literal["source"], Source]

CreateObjects: TypeAlias = Callable[[], Objects]


class _Step(beam.DoFn):
    """A step that reads and writes objects."""

    def __init__(self, settings: ExportSettings, create_objects: CreateObjects):
        self._settings = settings
        self._create_objects = create_objects

    def setup(self):
        """Create what cannot be pickled."""
        self._steps = Steps(self._settings, self._create_objects())

    def teardown(self):
        """Stop its threads."""
        self._steps.close()


class ListRowGroups(_Step):
    """Lists: one element -> RowGroups; as source, the Source without them."""

    def __init__(self, settings: ExportSettings, create_objects: CreateObjects, sha256: str):
        super().__init__(settings, create_objects)
        self._sha256 = sha256

    def process(self, _: bytes) -> Iterator[RowGroups | Header]:
        """Read the footers again; raises ExportError if columns.json has changed since."""
        source = self._steps.list_row_groups(self._sha256)
        yield TaggedOutput(_SOURCE, dataclasses.replace(source, work=()))
        yield from source.work


class SortRows(_Step):
    """Writes sorted temporary files: RowGroups -> Report."""

    def process(self, work: RowGroups, source: Source) -> Iterator[Report]:
        """Sort the rows of some row groups."""
        yield self._steps.sort_rows(work, source)
        Metrics.counter("export", "rows read").inc(work.rows)


class SurveyRows(_Step):
    """Combines all reports, a side input: one element -> Survey."""

    def process(self, _: bytes, source: Source, reports: Iterable[Report]) -> Iterator[Survey]:
        """Assign splits, classes and shards."""
        yield self._steps.survey(source, reports)


class SummariseRange(_Step):
    """Summarises a range: its number -> (number, RangeSummary)."""

    def process(
        self, range_: int, source: Source, surveyed: Survey
    ) -> Iterator[tuple[int, RangeSummary]]:
        """Summarise all rows of a range."""
        yield range_, self._steps.summarise(range_, source, surveyed)


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
        yield self._steps.plan(source, surveyed, summary)


class WriteShard(_Step):
    """Writes a shard: ShardWork -> ShardResult."""

    def process(self, work: ShardWork, table: TablePlan) -> Iterator[ShardResult]:
        """Write the whole shard."""
        result = self._steps.write_shard(work, table)
        # Shown in Dataflow's console while the job runs.
        Metrics.counter("export", "shards").inc()
        Metrics.counter("export", "examples").inc(result.shard.examples)
        Metrics.counter("export", "rejected").inc(len(result.rejected))
        yield result


class Commit(_Step):
    """Writes dataset.json; the shards are a side input."""

    def process(self, _: bytes, table: TablePlan, shards: Iterable[ShardResult]) -> Iterator[None]:
        """Remove the temporary files and write dataset.json."""
        self._steps.commit(table, shards)
        yield from ()


def build(
    pipeline: beam.Pipeline, settings: ExportSettings, create_objects: CreateObjects, sha256: str
) -> None:
    """Add the export's steps to a pipeline.

    sha256: of the columns.json that the launcher checked.
    """
    args = (settings, create_objects)
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
