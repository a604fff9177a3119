"""Checks that a model begins with the inputs of trainer.models.inputs."""

from collections.abc import Iterable, Mapping

import keras

from trainer.models.image_inputs import image_input, scaling
from trainer.models.inputs import table
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE

Taken = Mapping[str, tuple[tuple, str]]
"""Shapes and types of inputs by their names."""


def unfit(model: keras.Model, dataset: DatasetDescription) -> str | None:
    """Return why a model's inputs are not those of `table`; None if they are.

    Of examples with images, a model may read some of the inputs alone.
    """
    wanted = _taken(table(dataset, embedding=1).inputs.values())
    found = _taken(model.inputs)
    fits = found.items() <= wanted.items() if IMAGE in dataset.inputs else found == wanted
    named = {layer.name for layer in model.layers}
    scaled = {scaling(f) for f in dataset.features_of(IMAGE) if image_input(f) in found}
    if fits and scaled <= named:
        return None
    return (
        f"a model with the inputs {', '.join(sorted(found))} ({_shapes(found)}); expected "
        f"{', '.join(sorted(wanted))} ({_shapes(wanted)}), as trainer.models.inputs makes them: "
        "begin with row = inputs.table(dataset, embedding); keras.Model(row.inputs, ...)"
    )


def _taken(inputs: Iterable[keras.KerasTensor]) -> dict[str, tuple[tuple, str]]:
    return {tensor.name: (tensor.shape, tensor.dtype) for tensor in inputs}


def _shapes(inputs: Taken) -> str:
    return ", ".join(f"{dtype} {shape}" for _, (shape, dtype) in sorted(inputs.items()))
