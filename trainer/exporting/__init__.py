"""The parts of trainer.export: manifest -> plan -> shards -> commit, and the pipeline over them.

That is the way of images; tables/ has that of rows, over the same objects, splits and TFRecords.
Only the modules `pipeline` and `objects` know Beam and Google's clients; the rest are functions of
plain values. TensorFlow is imported nowhere here: workers would spend nine seconds on it for
nothing.
"""


class ExportError(Exception):
    """An export that cannot be done as asked; the message says why and what to do."""
