"""The Beam pipeline of an export of images.

    manifest ── Plan ──> one element per shard ── Spread ── WriteShard ──> results ── Commit
                  └───────────────────────── classes, rejected lines ──────────────────┘

The pipeline reads and plans the manifest itself: a job request on Dataflow is limited to 10 MB,
and a manifest of a million lines does not fit. The launcher has read it too, to refuse a bad one
before it creates a job; the checksum ensures that both have read the same file.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Literal, TypeAlias

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.pvalue import TaggedOutput

from trainer import storage
from trainer.exporting import ExportError
from trainer.exporting.images.assignment import Plan, Work, make_plan
from trainer.exporting.images.commit import commit
from trainer.exporting.images.manifest import Manifest, parse
from trainer.exporting.images.shards import ShardResult, write_shard
from trainer.exporting.objects import Objects
from trainer.exporting.settings import ImageExportSettings

# Concurrent reads per element: Cloud Storage answers after some 50 ms, an image takes about 2 ms
# of CPU.
_READERS = 16

_HEADER: Final = "header"
Header: TypeAlias = TaggedOutput[Literal["header"], tuple[Manifest, Plan]]


class PlanShards(beam.DoFn):
    """Plans: one element -> Work for each shard; as header, (Manifest, Plan) without their rows."""

    def __init__(self, settings: ImageExportSettings, beam_flags: Sequence[str], sha256: str):
        self._settings = settings
        self._beam_flags = beam_flags
        self._sha256 = sha256

    def process(self, _: bytes) -> Iterator[Work | Header]:
        """Read the manifest again; raises ExportError if it has changed since it was checked."""
        source = self._settings.source
        content = Objects(self._beam_flags).read(source)
        manifest = parse(content, source, self._settings.split_by, self._settings.regression)
        if manifest.sha256 != self._sha256:
            raise ExportError(f"{source} changed while the export began; start it again")
        plan = make_plan(manifest, self._settings)
        header = dataclasses.replace(manifest, rows=()), dataclasses.replace(plan, work=())
        yield TaggedOutput(_HEADER, header)
        yield from plan.work


class WriteShard(beam.DoFn):
    """Writes a shard: Work -> ShardResult."""

    def __init__(self, settings: ImageExportSettings, beam_flags: Sequence[str]):
        self._settings = settings
        self._beam_flags = beam_flags

    def setup(self):
        """Create what cannot be pickled, once per worker thread."""
        self._objects = Objects(self._beam_flags)
        self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="images")

    def teardown(self):
        """Stop the pool's threads."""
        self._pool.shutdown()

    def process(self, work: Work) -> Iterator[ShardResult]:
        """Write the whole shard."""
        write = _writer(self._objects, self._settings.output)
        result = write_shard(work, self._settings.image, self._objects.read, write, self._pool)
        # Shown in Dataflow's console while the job runs.
        Metrics.counter("export", "shards").inc()
        Metrics.counter("export", "examples").inc(result.shard.examples)
        Metrics.counter("export", "rejected").inc(len(result.rejected))
        yield result


class Commit(beam.DoFn):
    """Writes dataset.json; results and header are side inputs."""

    def __init__(self, settings: ImageExportSettings, beam_flags: Sequence[str]):
        self._settings = settings
        self._beam_flags = beam_flags

    def process(
        self, _: bytes, results: Iterable[ShardResult], header: tuple[Manifest, Plan]
    ) -> Iterator[None]:
        """Write dataset.json, or raise ExportError."""
        write = _writer(Objects(self._beam_flags), self._settings.output)
        commit(self._settings, *header, results, write)
        yield from ()


def build(
    pipeline: beam.Pipeline, settings: ImageExportSettings, beam_flags: Sequence[str], sha256: str
) -> None:
    """Add the export's steps to a pipeline. sha256: of the manifest that the launcher checked."""
    planned = (
        pipeline
        | "Start" >> beam.Impulse()
        | "Plan"
        >> beam.ParDo(PlanShards(settings, beam_flags, sha256)).with_outputs(_HEADER, main="work")
    )
    results = (
        planned.work
        | "Spread" >> beam.Reshuffle()
        | "WriteShard" >> beam.ParDo(WriteShard(settings, beam_flags))
    )
    _ = (
        pipeline
        | "End" >> beam.Impulse()
        | "Commit"
        >> beam.ParDo(
            Commit(settings, beam_flags),
            results=beam.pvalue.AsList(results),
            header=beam.pvalue.AsSingleton(planned[_HEADER]),
        )
    )


def _writer(objects: Objects, folder: str) -> Callable[[str, bytes], None]:
    return lambda name, data: objects.write(storage.join(folder, name), data)
