"""The parts of trainer.task: flags -> cluster -> input -> loop with checkpoints -> outputs.

`run` is the page to start with: it is the whole training, top to bottom. `flags`, `settings`,
`checks` and `rendezvous` do not import TensorFlow, so that what is wrong is said at once.
"""


class TrainingError(Exception):
    """A training that cannot be done as asked; the message says why and what to do."""
