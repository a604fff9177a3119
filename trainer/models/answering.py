"""The part of a model that answers: of several outputs the first one's."""

import keras


def of(model: keras.Model) -> keras.Model:
    """A model that shares the layers and has the answer, (b, any), as its only output."""
    if isinstance(model.output, keras.KerasTensor):
        return model
    return keras.Model(model.input, model.outputs[0], name=model.name)
