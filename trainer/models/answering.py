"""The part of a model that answers: of several outputs the first one's, and of a model of patches
the one of whole images.
"""

from collections.abc import Mapping

import keras
import tensorflow as tf

from trainer.models.tiling import PatchModel


def of(model: keras.Model) -> keras.Model:
    """A model that shares the layers and has the answer, (b, ...), as its only output."""
    if isinstance(model, PatchModel):
        return model.tiled()
    if isinstance(model.output, keras.KerasTensor):
        return model
    return keras.Model(model.input, model.outputs[0], name=model.name)


class Traced:
    """What a model answers outside its training, as one graph for batches of any size.

    Keras calls each layer in Python, which takes longer than a small model computes; the graph does
    so once, and whatever calls it contains it once. model: as `of` returns it; names: its inputs.
    """

    def __init__(self, model: keras.Model):
        answers = self.model = of(model)
        specs = {
            tensor.name: tf.TensorSpec(tensor.shape, tensor.dtype, tensor.name)
            for tensor in answers.inputs
        }
        self.names = list(specs)
        self._run = tf.function(
            lambda inputs: answers(inputs, training=False), input_signature=[specs], autograph=False
        )

    def __call__(self, inputs: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """All of a row's inputs, of which the model may read some alone -> (b, ...)."""
        return self._run({name: inputs[name] for name in self.names})
