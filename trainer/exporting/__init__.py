"""The parts of trainer.export: images/ and tables/, over the same objects, splits and TFRecords.

Only the modules `run`, `pipeline` and `objects` know Beam and Google's clients; the rest are
functions of plain values. Nothing here imports TensorFlow, which would cost each worker nine
seconds.
"""


class ExportError(Exception):
    """The export cannot run as configured; the message says why and what to do."""
