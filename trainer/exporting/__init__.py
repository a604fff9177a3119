"""The parts of trainer.export: images/, tables/, and what both share.

Only the modules `run`, `pipeline` and `objects` depend on Beam and Google's clients; the rest are
functions of plain values. Nothing here imports TensorFlow, which would take nine seconds on each
worker.
"""

from trellis_contracts.withheld import RowsError


class ExportError(RowsError):
    """The export cannot run as configured; the message says why and what to do."""
