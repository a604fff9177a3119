"""Loads and calls a SavedModel that trainer.training.saved_model wrote.

`load` imports TensorFlow, which takes seconds; importing this module does not.
"""

import math
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np

from trainer import images
from trainer.images import Scale
from trainer.serving.columns import column
from trainer.serving.errors import ModelFailureError
from trainer.serving.explanations import Explainer, Signature
from trainer.serving.image_explanations import ImageExplainer
from trainer.serving.row_explanations import RowExplainer
from trainer.serving.rows import Field, Row, RowReader
from trellis_contracts.dataset import CLASSIFICATION
from trellis_contracts.dataset_features import Resize
from trellis_contracts.tasks import MULTILABEL, REGRESSION

_SIGNATURE = "serving_default"
_PIXELS = "pixels"
_RESIZE = "resize"
_SCALE = "scale"
_CLASSES = "classes"
_FEATURES = "features"
_ORDINARY = "ordinary"
_THRESHOLD = "threshold"
_GRADIENT = "gradient"
_DECIDED = "decided"

_DIVERGED = "the model returns NaN: its training diverged"


class ModelError(Exception):
    """The folder has no model that this server can serve; the message says what it contains."""


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


class Model:
    """A classifier or regression model, of images (ImageModel) or of rows (RowModel).

    rows: reads requests for a model of rows; None for a model of images. explainer: None if the
    SavedModel has no signatures for it, as one trained before there were explanations. family: of
    its task, one of trellis_contracts.dataset.FAMILIES. threshold: by which it labels, as
    trainer.decision tells one; None: with the most probable class.
    """

    rows: RowReader | None = None
    explainer: Explainer | None = None
    _answers = _SIGNATURE

    def __init__(self, tensorflow: Any, loaded: Any):
        self._tf = tensorflow
        # Keeps the variables alive: a signature does not own them.
        self._loaded = loaded
        signature = loaded.signatures[self._answers]
        self._serve = Packed(tensorflow, signature)
        names = loaded.signatures[_CLASSES]() if _CLASSES in loaded.signatures else {}
        self.classes = [name.decode() for name in names[_CLASSES].numpy()] if names else []
        self.family = CLASSIFICATION if self.classes else REGRESSION
        if _DECIDED in signature.structured_outputs:
            self.family = MULTILABEL
        self.threshold = self._read_threshold()

    @classmethod
    def load(cls, directory: Path) -> "Model":
        """Import TensorFlow and read the SavedModel. Raises ModelError."""
        # TensorFlow's C++ log only repeats its exceptions (3: fatal errors only).
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        with _without_keras():
            import tensorflow as tf

        try:
            loaded = tf.saved_model.load(str(directory))
        except (OSError, tf.errors.OpError) as error:
            raise ModelError(f"{directory} holds no readable SavedModel: {error}") from error
        return cls.of(tf, loaded)

    @classmethod
    def of(cls, tensorflow: Any, loaded: Any) -> "Model":
        """The model that `tensorflow` has loaded. Raises ModelError."""
        signatures = loaded.signatures
        if _SIGNATURE in signatures and _FEATURES in signatures:
            return RowModel(tensorflow, loaded)
        if _PIXELS in signatures:
            return ImageModel(tensorflow, loaded)
        raise ModelError(
            f"the SavedModel has the signatures {', '.join(signatures) or 'none'}; expected "
            f"{_PIXELS}, or {_SIGNATURE} and {_FEATURES}, as trainer.task writes them. A model of "
            "another release is served by the image of that release"
        )

    def warm_up(self, batch: int) -> None:
        """Predict one example and one batch, since the first call of each shape is slow.

        Raises ModelError if the model fails.
        """
        example = self._placeholder()
        for size in (1, batch):
            for outcome in self.predict([example] * size):
                if isinstance(outcome, Exception):
                    raise ModelError(f"the model fails on a blank example: {outcome}") from outcome

    def pixels(self, data: bytes) -> np.ndarray:
        """Return the pixels of a file that a model of images sees. Raises ImageError."""
        raise NotImplementedError

    def predict(self, examples: Sequence[Any]) -> list[dict[str, Any] | Exception]:
        """One prediction or exception per example; trainer.serve describes a prediction."""
        raise NotImplementedError

    def _placeholder(self) -> Any:
        raise NotImplementedError

    def _read_threshold(self) -> dict[str, Any] | None:
        if _THRESHOLD not in self._loaded.signatures:
            return None
        values = {
            key: value.numpy() for key, value in self._loaded.signatures[_THRESHOLD]().items()
        }
        return {"class": values["class"].decode(), "above": float(values["above"])}

    def _signature(self, name: str) -> Signature:
        """A signature that takes and gives arrays."""
        return Packed(self._tf, self._loaded.signatures[name])

    def _predictions(self, **inputs: np.ndarray) -> list[dict[str, Any] | Exception]:
        outputs = self._serve(**inputs)
        if "value" in outputs:
            return [
                {"value": value} if math.isfinite(value) else ModelFailureError(_DIVERGED)
                for value in outputs["value"].tolist()
            ]
        rows = outputs["probabilities"]
        finite = np.isfinite(rows).all(axis=1)
        labels: list[dict[str, Any]]
        if self.family == MULTILABEL:
            labels = [
                {"labels": [name for name, in_it in zip(self.classes, row, strict=True) if in_it]}
                for row in outputs[_DECIDED].tolist()
            ]
        else:
            labels = [{"label": label.decode()} for label in outputs["label"]]
        return [
            {
                **label,
                # float32 scalars: as doubles they would print with nine spurious digits.
                "probabilities": dict(zip(self.classes, row, strict=True)),
            }
            if ok
            else ModelFailureError(_DIVERGED)
            for label, row, ok in zip(labels, rows, finite, strict=True)
        ]


class ImageModel(Model):
    """A model of images; its examples are pixels (height, width, channels) from `pixels`.

    shape: height, width, channels. resize: how a file of another shape becomes that size. scale:
    how a file's values become 16 bits; None: pixels are uint8.
    """

    _answers = _PIXELS

    def __init__(self, tensorflow: Any, loaded: Any):
        super().__init__(tensorflow, loaded)
        _, inputs = loaded.signatures[_PIXELS].structured_input_signature
        self.shape: tuple[int, int, int] = tuple(inputs[_PIXELS].shape[1:])
        self._type = np.dtype(inputs[_PIXELS].dtype.as_numpy_dtype)
        # A model without the constant stretches.
        self.resize = cast(Resize, self._read_constant(_RESIZE) or "stretch")
        scale = self._read_constant(_SCALE)
        self.scale = Scale.parse(scale) if scale else None
        if _GRADIENT in loaded.signatures:
            white = int(np.iinfo(self._type).max)
            gradient = self._signature(_GRADIENT)
            self.explainer = ImageExplainer(self.pixels, gradient, self.shape, white)

    def _read_constant(self, name: str) -> str:
        """Return the constant of the signature with this name; "" if there is none."""
        signatures = self._loaded.signatures
        return signatures[name]()[name].numpy().decode() if name in signatures else ""

    def pixels(self, data: bytes) -> np.ndarray:
        """See Model."""
        return images.pixels(data, self.shape, self.resize, self.scale)

    def stored(self, data: bytes) -> np.ndarray:
        """Pixels of an image as a dataset of such images stores it: it is scaled already."""
        return images.pixels(data, self.shape, scale=None if self.scale is None else Scale("full"))

    def predict(self, examples: Sequence[np.ndarray]) -> list[dict[str, Any] | Exception]:
        """See Model."""
        return self._predictions(pixels=np.stack(examples))

    def _placeholder(self) -> np.ndarray:
        return np.zeros(self.shape, self._type)


class RowModel(Model):
    """A model of rows; its examples are Rows."""

    rows: RowReader

    def __init__(self, tensorflow: Any, loaded: Any):
        super().__init__(tensorflow, loaded)
        arrays = {name: value.numpy() for name, value in loaded.signatures[_FEATURES]().items()}
        # A model saved before there were names has its columns' alone.
        arrays.setdefault("name", arrays["column"])
        column, kind, input_, name = (
            [text.decode() for text in arrays[each]] for each in ("column", "kind", "input", "name")
        )
        limits = arrays["limit"].tolist()
        self._fields = [
            Field(*each) for each in zip(column, kind, input_, limits, name, strict=True)
        ]
        self.rows = RowReader(self._fields)
        if _ORDINARY in loaded.signatures:
            self.explainer = RowExplainer(
                self._signature(_SIGNATURE), self._fields, self._signature(_ORDINARY)()
            )

    def predict(self, rows: Sequence[Row]) -> list[dict[str, Any] | Exception]:
        """See Model."""
        return self._predictions(**self.columns(rows))

    def columns(self, rows: Sequence[Row]) -> dict[str, np.ndarray]:
        """The inputs of the model's signature, (n, ...) each, of n rows."""
        columns = zip(*(row.values for row in rows), strict=True)
        return {
            field.input: column(field.kind, values)
            for field, values in zip(self._fields, columns, strict=True)
        }

    def answers(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the signature on the inputs: probabilities (n, classes) and label, or value (n,)."""
        return self._serve(**columns)

    def _placeholder(self) -> Row:
        return self.rows.nulls()


@contextmanager
def _without_keras() -> Iterator[None]:
    """Import TensorFlow without Keras, which a SavedModel does not need: Keras imports pandas and
    scikit-learn, a third of the time and a quarter of the memory.

    Meanwhile TensorFlow finds Keras not installed. A later import of Keras works.
    """
    if "keras" in sys.modules:
        yield
        return
    modules: dict[str, Any] = sys.modules
    modules["keras"] = None
    try:
        yield
    finally:
        del modules["keras"]
