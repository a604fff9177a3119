"""What the signatures of models of images and of rows share."""

from collections.abc import Callable, Mapping

import keras
import tensorflow as tf

from trellis_contracts.dataset import DatasetDescription

Predict = Callable[..., dict[str, tf.Tensor]]
"""Function of a model: inputs -> answers, as serving_default has them."""


def add_constants(archive: keras.export.ExportArchive, name: str, values: Mapping) -> None:
    """Add an endpoint without inputs that returns these values."""
    constants = {key: tf.constant(value) for key, value in values.items()}

    @tf.function(autograph=False, input_signature=[])
    def tell():
        return {key: tf.identity(value) for key, value in constants.items()}

    archive.add_endpoint(name, tell)


def score(
    dataset: DatasetDescription, answers: Mapping[str, tf.Tensor], index: tf.Tensor
) -> tf.Tensor:
    """The score (n,) that an explanation is of: a regression's value, or the probability of the
    class with this index (n,).
    """
    if dataset.is_regression:
        return answers["value"]
    return tf.gather(answers["probabilities"], index, batch_dims=1)
