"""The objective of a segmentation: a class for each pixel.

Labels are masks (b, height, width) of class indices, outputs logits (b, height, width, classes). An
example's loss is one number, whatever the size of its image.
"""

import tensorflow as tf

from trainer.metrics import segmentation
from trainer.training import mask_answers
from trainer.training.objectives.objective import Objective
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Common

# As MONAI's DiceLoss has by default: a class that is neither there nor predicted costs nothing.
_SMOOTH = 1e-5


class Segmentation(Objective):
    """See Objective. loss: cross_entropy and focal are means over the pixels; dice is 1 minus the
    Dice coefficient of the probabilities (Milletari et al., https://arxiv.org/abs/1606.04797),
    averaged over the classes but the background.
    """

    metrics = ("loss",)
    tallied_metrics, order = segmentation.TALLIES, segmentation.ORDER

    def __init__(self, dataset: DatasetDescription, h: Common, metric: str | None = None):
        self.metric = metric
        self.classes = len(dataset.classes)
        self._terms = h.loss.split("+")
        self._gamma = h.focal_gamma

    def targets(self, labels):
        """Class indices."""
        return tf.cast(labels, tf.int32)

    def counts(self, labels):
        """All the same."""
        return tf.ones_like(labels[:, 0, 0], tf.float32)

    def task_losses(self, targets, outputs):
        """The sum of the losses that `loss` names, cross-entropies in nats."""
        of_name = {"cross_entropy": _entropy, "focal": self._focal, "dice": self._dice}
        return tf.add_n([of_name[name](targets, outputs) for name in self._terms])

    def _focal(self, targets: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        entropies = _entropies(targets, outputs)
        # The power has no gradient at 0.
        others = tf.maximum(1 - tf.exp(-entropies), 1e-7)
        return tf.reduce_mean(others**self._gamma * entropies, [1, 2])

    def _dice(self, targets: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        true = tf.one_hot(targets, self.classes)[..., 1:]
        found = tf.nn.softmax(outputs)[..., 1:]
        both, every = (tf.reduce_sum(part, [1, 2]) for part in (true * found, true + found))
        return 1 - tf.reduce_mean((2 * both + _SMOOTH) / (every + _SMOOTH), 1)

    def measures(self, labels, outputs):
        """Cross-entropy averaged over the pixels, and nothing else."""
        losses = _entropy(self.targets(labels), outputs)
        return losses, tf.zeros_like(losses)

    def means(self, sums, examples):
        """loss in nats."""
        return {"loss": sums[0] / examples}

    @staticmethod
    def answers(outputs):
        """The mask and its shares."""
        return mask_answers.of(outputs)


def _entropies(targets: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, outputs)


def _entropy(targets: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(_entropies(targets, outputs), [1, 2])


build = Segmentation
