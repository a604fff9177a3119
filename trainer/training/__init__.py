"""The parts of trainer.task: flags -> cluster -> input -> loop with checkpoints -> outputs.

trainer.estimators.run is a whole training, top to bottom. `flags`, `settings`, `checks` and
`rendezvous` do not import TensorFlow, so that errors are reported at once.
"""

from trellis_contracts.withheld import RowsError


class TrainingError(RowsError):
    """The training cannot run as configured; the message says why and what to do."""
