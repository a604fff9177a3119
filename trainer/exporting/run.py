"""Runs the pipeline of images or of a table, in this process or on Dataflow."""

import logging
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions

from trainer.exporting import ExportError
from trainer.exporting.images import pipeline as images
from trainer.exporting.settings import ExportSettings, ImageExportSettings
from trainer.exporting.tables import pipeline as tables

# Runs in this process. "DirectRunner" would first try to download Beam's Prism runner.
_LOCAL_RUNNER = "FnApiRunner"
_RUNNERS_TO_REPLACE = (None, "DirectRunner", "SwitchingDirectRunner")

_DATAFLOW_RUNNER = "DataflowRunner"


def run_export(settings: ExportSettings, beam_flags: Sequence[str], sha256: str) -> bool:
    """Run the export. True: the dataset is committed. False: Dataflow has accepted the job.

    Without --runner (or with DirectRunner) it runs in this process. Raises ExportError if the
    pipeline refuses its input.
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
            # A flex template's launcher must not wait for the job; the template's caller does.
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
    """Names of the flags that Beam does not know; it would only log a warning.

    Empty on Dataflow: its launcher adds flags, and has checked ours against the template.
    """
    options = PipelineOptions(list(beam_flags))
    if options.view_as(StandardOptions).runner == _DATAFLOW_RUNNER:
        return []
    known = options.get_all_options()
    return sorted(set(options.get_all_options(retain_unknown_options=True)) - set(known))


def _tells_no_export_error(record: logging.LogRecord) -> bool:
    """A log filter: drops tracebacks of an ExportError, which the caller reports."""
    return not (record.exc_info and isinstance(record.exc_info[1], ExportError))


def _export_error_in(error: Exception) -> str | None:
    """The message of the ExportError that a worker raised; None for another error.

    Runners raise a worker's exception again, or a RuntimeError with the text of its traceback; Beam
    adds the name of the step to both.
    """
    text = str(error)
    if not isinstance(error, ExportError):
        _, found, text = text.rpartition(f"{ExportError.__module__}.{ExportError.__qualname__}: ")
        if not found:
            return None
    return text.partition(" [while running ")[0].strip()
