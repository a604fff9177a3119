"""The Beam pipeline of an export of images.

    manifest ── Plan ──> one element per shard ── Spread ── WriteShard ──> results ── Commit
                  └───────────────────────── classes, rejected lines ──────────────────┘

The pipeline reads and plans the manifest itself: a job request on Dataflow is limited to 10 MB,
and a manifest of a million lines does not fit. The launcher has read it too, to refuse a bad one
before it creates a job; the checksum ensures that both have read the same file.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, TypeAlias

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.pvalue import TaggedOutput

from trainer.exporting.images.assignment import Plan, Work
from trainer.exporting.images.manifest import Manifest
from trainer.exporting.images.shards import ShardResult
from trainer.exporting.images.steps import Steps
from trainer.exporting.objects import Objects
from trainer.exporting.settings import ImageExportSettings

_HEADER: Final = "header"
Header: TypeAlias = TaggedOutput[Literal["header"], tuple[Manifest, Plan]]

CreateObjects: TypeAlias = Callable[[], Objects]


class _Step(beam.DoFn):
    """A step that reads and writes objects."""

    def __init__(self, settings: ImageExportSettings, create_objects: CreateObjects):
        self._settings = settings
        self._create_objects = create_objects

    def setup(self):
        """Create what cannot be pickled, once per worker thread."""
        self._steps = Steps(self._settings, self._create_objects())

    def teardown(self):
        """Stop its threads."""
        self._steps.close()


class PlanShards(_Step):
    """Plans: one element -> Work for each shard; as header, (Manifest, Plan) without their rows."""

    def __init__(self, settings: ImageExportSettings, create_objects: CreateObjects, sha256: str):
        super().__init__(settings, create_objects)
        self._sha256 = sha256

    def process(self, _: bytes) -> Iterator[Work | Header]:
        """Read the manifest again; raises ExportError if it has changed since it was checked."""
        manifest, plan = self._steps.plan(self._sha256)
        yield TaggedOutput(_HEADER, (manifest, dataclasses.replace(plan, work=())))
        yield from plan.work


class WriteShard(_Step):
    """Writes a shard: Work -> ShardResult."""

    def process(self, work: Work) -> Iterator[ShardResult]:
        """Write the whole shard."""
        result = self._steps.write_shard(work)
        # Shown in Dataflow's console while the job runs.
        Metrics.counter("export", "shards").inc()
        Metrics.counter("export", "examples").inc(result.shard.examples)
        Metrics.counter("export", "rejected").inc(len(result.rejected))
        yield result


class Commit(_Step):
    """Writes dataset.json; results and header are side inputs."""

    def process(
        self, _: bytes, results: Iterable[ShardResult], header: tuple[Manifest, Plan]
    ) -> Iterator[None]:
        """Write dataset.json, or raise ExportError."""
        self._steps.commit(*header, results)
        yield from ()


def build(
    pipeline: beam.Pipeline,
    settings: ImageExportSettings,
    create_objects: CreateObjects,
    sha256: str,
) -> None:
    """Add the export's steps to a pipeline. sha256: of the manifest that the launcher checked."""
    planned = (
        pipeline
        | "Start" >> beam.Impulse()
        | "Plan"
        >> beam.ParDo(PlanShards(settings, create_objects, sha256)).with_outputs(
            _HEADER, main="work"
        )
    )
    results = (
        planned.work
        | "Spread" >> beam.Reshuffle()
        | "WriteShard" >> beam.ParDo(WriteShard(settings, create_objects))
    )
    _ = (
        pipeline
        | "End" >> beam.Impulse()
        | "Commit"
        >> beam.ParDo(
            Commit(settings, create_objects),
            results=beam.pvalue.AsList(results),
            header=beam.pvalue.AsSingleton(planned[_HEADER]),
        )
    )
