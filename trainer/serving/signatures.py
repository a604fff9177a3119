"""Reads the signatures of a SavedModel, as trainer.training.saved_model writes them."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from trainer.images import Scale
from trainer.serving.images import ImageInput
from trainer.serving.rows import Field, RowReader
from trellis_contracts.dataset_features import IMAGE, Resize

SERVING_DEFAULT = "serving_default"
PIXELS = "pixels"
ORDINARY = "ordinary"
_FEATURES = "features"
_IMAGES = "images"
EXPECTED = (SERVING_DEFAULT, _FEATURES, ORDINARY)
"""Signatures that every model has."""


class Packed:
    """A signature that takes and gives arrays, its columns of one type as one tensor.

    TensorFlow takes as long for each argument of a call as for a row's thirty numbers.
    """

    def __init__(self, tensorflow: Any, signature: Any):
        _, specs = signature.structured_input_signature
        columns: dict[Any, list[str]] = defaultdict(list)
        for name, spec in specs.items():
            if spec.shape.rank == 1:
                columns[spec.dtype].append(name)
        self._columns = list(columns.values())
        # Images, and sequences, which may have different lengths.
        self._others = [name for name, spec in specs.items() if spec.shape.rank != 1]

        def call(*tensors):
            inputs = dict(zip(self._others, tensors[len(self._columns) :], strict=True))
            for names, tensor in zip(self._columns, tensors, strict=False):
                inputs.update(zip(names, tensorflow.unstack(tensor), strict=True))
            return signature(**inputs)

        # Not tf.function: at each call it compares the arguments with its signature.
        self._call = tensorflow.compat.v1.wrap_function(
            call,
            [tensorflow.TensorSpec([len(names), None], type_) for type_, names in columns.items()]
            + [specs[name] for name in self._others],
        )

    def __call__(self, **inputs: np.ndarray) -> dict[str, np.ndarray]:
        packed = [
            np.concatenate([inputs[name] for name in names]).reshape(len(names), -1)
            for names in self._columns
        ]
        found = self._call(*packed, *(inputs[name] for name in self._others))
        return {name: value.numpy() for name, value in found.items()}


def reader(signatures: Mapping[str, Any]) -> RowReader | None:
    """The reader of requests for a model with these signatures; None: they are none of ours."""
    return RowReader(_fields(signatures)) if {*EXPECTED} <= {*signatures} else None


def _fields(signatures: Mapping[str, Any]) -> list[Field]:
    arrays = _constants(signatures, _FEATURES)
    names = ("column", "kind", "input", "name")
    column, kind, input_, name = (_texts(arrays[each]) for each in names)
    limits = arrays["limit"].tolist()
    forms: dict[str, ImageInput] = {}
    if IMAGE in kind:
        arrays = _constants(signatures, _IMAGES)
        each_image = zip(
            *(_texts(arrays[x]) for x in ("input", "resize", "scale", "pages")), strict=True
        )
        forms = {image: _form(signatures, image, *how) for image, *how in each_image}
    return [
        Field(*each, image=forms.get(each[2]))
        for each in zip(column, kind, input_, limits, name, strict=True)
    ]


def _form(
    signatures: Mapping[str, Any], input_: str, resize: str, scale: str, pages: str
) -> ImageInput:
    _, inputs = signatures[PIXELS].structured_input_signature
    shape: tuple[int, int, int] = tuple(inputs[input_].shape[1:])
    how = cast(Resize, resize)
    return ImageInput(shape, how, Scale.parse(scale) if scale else None, pages or None)


def _constants(signatures: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value.numpy() for key, value in signatures[name]().items()}


def _texts(array: np.ndarray) -> list[str]:
    return [text.decode() for text in array]
