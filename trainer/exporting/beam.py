"""Runs the Beam pipeline of an export, on Dataflow or another of Beam's runners."""

import logging
from collections.abc import Sequence
from functools import partial

import apache_beam as beam
from apache_beam.io.gcp.gcsio import create_storage_client
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions

from trainer.exporting import ExportError
from trainer.exporting.objects import Objects
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables import pipeline as tables

_DATAFLOW_RUNNER = "DataflowRunner"


class Beam:
    """A trainer.exporting.run.Place: wherever Beam's --runner says.

    flags: of the pipeline. Raises ExportError if Beam does not know one; it would only log a
    warning.
    """

    def __init__(self, flags: Sequence[str]):
        self._flags = tuple(flags)
        self._options = PipelineOptions(list(flags))
        standard = self._options.view_as(StandardOptions)
        self._on_dataflow = standard.runner == _DATAFLOW_RUNNER
        # Dataflow's launcher adds flags, and has checked ours against the template.
        if not self._on_dataflow and (unknown := self._unknown()):
            raise ExportError(f"unknown to this program and to Beam: --{', --'.join(unknown)}")

    def objects(self) -> Objects:
        """Return the objects with Beam's credentials and options, of which some name an account to
        impersonate.
        """
        return _objects(self._flags)

    def run(self, settings: ExportSettings, sha256: str) -> bool:
        """Run the export. True: the dataset is committed. False: Dataflow has accepted the job.

        Raises ExportError if the pipeline refuses its input.
        """
        pipeline = beam.Pipeline(options=self._options)
        # Each worker makes its own. Beam repeats the step of a client that gives up.
        objects = partial(_objects, self._flags)
        tables.build(pipeline, settings, objects, sha256)
        beam_log = logging.getLogger("apache_beam.runners.common")
        beam_log.addFilter(_tells_no_export_error)
        try:
            result = pipeline.run()
            if self._on_dataflow:
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

    def _unknown(self) -> list[str]:
        known = self._options.get_all_options()
        return sorted(set(self._options.get_all_options(retain_unknown_options=True)) - set(known))


def _objects(flags: Sequence[str]) -> Objects:
    return Objects(partial(create_storage_client, PipelineOptions(list(flags))))


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
