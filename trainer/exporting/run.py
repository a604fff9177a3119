"""How an export runs: the pipeline of images or that of a table, in this process or on Dataflow."""

import logging
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions

from trainer.exporting import ExportError
from trainer.exporting.images import pipeline as images
from trainer.exporting.settings import ExportSettings, ImageExportSettings
from trainer.exporting.tables import pipeline as tables

# In this process, and named: what "DirectRunner" stands for first tries to download Beam's Prism.
_LOCAL_RUNNER = "FnApiRunner"
_RUNNERS_TO_REPLACE = (None, "DirectRunner", "SwitchingDirectRunner")

_DATAFLOW_RUNNER = "DataflowRunner"


def run_export(settings: ExportSettings, beam_flags: Sequence[str], sha256: str) -> bool:
    """Run the export. True: the dataset is committed. False: a service works on it from now on.

    Without --runner (or with DirectRunner) it runs in this process. Raises ExportError for what the
    pipeline found wrong with the input.
    """
    options = PipelineOptions(list(beam_flags))
    standard = options.view_as(StandardOptions)
    if standard.runner in _RUNNERS_TO_REPLACE:
        standard.runner = _LOCAL_RUNNER
    pipeline = beam.Pipeline(options=options)
    if isinstance(settings, ImageExportSettings):
        images.build(pipeline, settings, beam_flags, sha256)
    else:
        tables.build(pipeline, settings, beam_flags, sha256)
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
    """Silence tracebacks that would hide the error that the caller reports."""
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
