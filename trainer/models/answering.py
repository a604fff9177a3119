"""The part of a model that answers: of several outputs the first one's, and of a model of patches
the one of whole images.
"""

import keras

from trainer.models.tiling import PatchModel


def of(model: keras.Model) -> keras.Model:
    """A model that shares the layers and has the answer, (b, ...), as its only output."""
    if isinstance(model, PatchModel):
        return model.tiled()
    if isinstance(model.output, keras.KerasTensor):
        return model
    return keras.Model(model.input, model.outputs[0], name=model.name)
