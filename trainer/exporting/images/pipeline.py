"""The Beam pipeline of trainer.export for images, and how a pipeline is run (tables/ has its own).

    manifest ── Plan ──> one element per shard ── Spread ── WriteShard ──> results ── Commit
                  └───────────────────────── classes, rejected lines ──────────────────┘

The manifest is read and planned in the pipeline, not handed over by the launcher: a job request on
Dataflow may hold 10 MB, a manifest of a million lines does not fit. The launcher has read it too,
to refuse a bad one before a job exists; its checksum makes sure that both saw the same file.
"""

import dataclasses
import logging
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import apache_beam as beam
import cv2
from apache_beam.metrics import Metrics
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions

from trainer import storage
from trainer.exporting import ExportError
from trainer.exporting.commit import commit
from trainer.exporting.manifest import Manifest, parse
from trainer.exporting.objects import Objects
from trainer.exporting.plan import Plan, Work, make_plan
from trainer.exporting.settings import ExportSettings
from trainer.exporting.shards import ShardResult, write_shard
from trainer.exporting.tables import pipeline as tables

# Reads in flight per element: Cloud Storage answers after some 50 ms, an image costs about 2 ms of
# CPU.
_READERS = 16

# In this process, and named: what "DirectRunner" stands for first tries to download Beam's Prism.
_LOCAL_RUNNER = "FnApiRunner"
_RUNNERS_TO_REPLACE = (None, "DirectRunner", "SwitchingDirectRunner")

_DATAFLOW_RUNNER = "DataflowRunner"

_HEADER = "header"


class PlanShards(beam.DoFn):
    """Any one element -> Work, one per shard; as header: (Manifest, Plan) without their rows."""

    def __init__(self, settings: ExportSettings, beam_flags: Sequence[str], sha256: str):
        self._settings = settings
        self._beam_flags = beam_flags
        self._sha256 = sha256

    def process(self, _) -> Iterator[Work]:
        """Read the manifest again, exactly as it was when it was checked."""
        source = self._settings.source
        manifest = parse(Objects(self._beam_flags).read(source), source)
        if manifest.sha256 != self._sha256:
            raise ExportError(f"{source} changed while the export began; start it again")
        plan = make_plan(manifest, self._settings)
        header = dataclasses.replace(manifest, rows=()), dataclasses.replace(plan, work=())
        yield beam.pvalue.TaggedOutput(_HEADER, header)
        yield from plan.work


class WriteShard(beam.DoFn):
    """Work -> ShardResult, having written the shard."""

    def __init__(self, settings: ExportSettings, beam_flags: Sequence[str]):
        self._settings = settings
        self._beam_flags = beam_flags

    def setup(self):
        """Make what cannot be pickled, once per worker thread."""
        cv2.setNumThreads(1)  # the pool below is the parallelism
        cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # rejected.jsonl tells
        self._objects = Objects(self._beam_flags)
        self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="images")

    def teardown(self):
        """End the pool's threads."""
        self._pool.shutdown()

    def process(self, work: Work) -> Iterator[ShardResult]:
        """The whole shard at once."""
        write = _writer(self._objects, self._settings.output)
        result = write_shard(work, self._settings.image, self._objects.read, write, self._pool)
        # Shown in Dataflow's console while the job runs.
        Metrics.counter("export", "shards").inc()
        Metrics.counter("export", "examples").inc(result.shard.examples)
        Metrics.counter("export", "rejected").inc(len(result.rejected))
        yield result


class Commit(beam.DoFn):
    """Any one element, with all results and the header as side inputs -> nothing."""

    def __init__(self, settings: ExportSettings, beam_flags: Sequence[str]):
        self._settings = settings
        self._beam_flags = beam_flags

    def process(
        self, _, results: Iterable[ShardResult], header: tuple[Manifest, Plan]
    ) -> Iterator[None]:
        """Write dataset.json, or raise ExportError."""
        write = _writer(Objects(self._beam_flags), self._settings.output)
        commit(self._settings, *header, results, write)
        yield from ()


def build(
    pipeline: beam.Pipeline, settings: ExportSettings, beam_flags: Sequence[str], sha256: str
) -> None:
    """Add the export's steps to a pipeline. sha256: of the manifest that was checked."""
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


def run(settings: ExportSettings, beam_flags: Sequence[str], sha256: str) -> bool:
    """Run the export. True: the dataset is committed. False: a service works on it from now on.

    Without --runner (or with DirectRunner) it runs in this process. Raises ExportError for what the
    pipeline found wrong with the input.
    """
    options = PipelineOptions(list(beam_flags))
    standard = options.view_as(StandardOptions)
    if standard.runner in _RUNNERS_TO_REPLACE:
        standard.runner = _LOCAL_RUNNER
    pipeline = beam.Pipeline(options=options)
    build_steps = tables.build if settings.is_table else build
    build_steps(pipeline, settings, beam_flags, sha256)
    beam_log = logging.getLogger("apache_beam.runners.common")
    beam_log.addFilter(_tells_no_export_error)
    try:
        result = pipeline.run()
        if standard.runner == _DATAFLOW_RUNNER:
            # A flex template's launcher must not wait: who started the template watches the job.
            return False
        result.wait_until_finish()
    except Exception as error:
        if message := _export_error_in(error):
            raise ExportError(message) from error
        raise
    finally:
        beam_log.removeFilter(_tells_no_export_error)
    return True


def unknown_flags(beam_flags: Sequence[str]) -> list[str]:
    """Names of the flags that Beam does not know either (it would only log a warning).

    None on Dataflow: its launcher adds flags of its own, and has checked ours by the template.
    """
    options = PipelineOptions(list(beam_flags))
    if options.view_as(StandardOptions).runner == _DATAFLOW_RUNNER:
        return []
    known = options.get_all_options()
    return sorted(set(options.get_all_options(retain_unknown_options=True)) - set(known))


def _tells_no_export_error(record: logging.LogRecord) -> bool:
    """Keep pages of traceback from hiding a refusal, which the caller reports."""
    return not (record.exc_info and isinstance(record.exc_info[1], ExportError))


def _export_error_in(error: Exception) -> str | None:
    """The message of the ExportError that ended a worker, if that is what happened.

    Runners raise a worker's exception again, or a RuntimeError with the text of its traceback; in
    both, Beam adds the name of the step.
    """
    text = str(error)
    if not isinstance(error, ExportError):
        _, found, text = text.rpartition(f"{ExportError.__module__}.{ExportError.__qualname__}: ")
        if not found:
            return None
    return text.partition(" [while running ")[0].strip()


def _writer(objects: Objects, folder: str):
    return lambda name, data: objects.write(storage.join(folder, name), data)
