"""Loads and calls a SavedModel that trainer.training.saved_model wrote.

`load` imports TensorFlow, which takes seconds; importing this module does not.
"""

import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from trainer.serving import signatures
from trainer.serving.columns import column
from trainer.serving.errors import ModelFailureError
from trainer.serving.explanations import Explainer, Signature
from trainer.serving.image_explanations import ImageExplainer, PixelExplainer
from trainer.serving.row_explanations import RowExplainer
from trainer.serving.rows import Row, RowReader
from trainer.serving.signatures import FEATURES, PIXELS, SERVING_DEFAULT, Packed
from trellis_contracts.dataset import CLASSIFICATION
from trellis_contracts.tasks import MULTILABEL, REGRESSION

_CLASSES = "classes"
_ORDINARY = "ordinary"
_THRESHOLD = "threshold"
_GRADIENT = "gradient"
_DECIDED = "decided"

_DIVERGED = "the model returns NaN: its training diverged"


class ModelError(Exception):
    """The folder has no model that this server can serve; the message says what it contains."""


class Model:
    """A classifier or regression model; its examples are Rows, with images decoded.

    rows: reads requests. explainer: None if the SavedModel has no signatures for it, as one trained
    before there were explanations. family: of its task, one of trellis_contracts.dataset.FAMILIES.
    threshold: by which it labels (trainer.metrics.decision); None: with the most probable class.
    """

    def __init__(self, tensorflow: Any, loaded: Any, rows: RowReader):
        self._tf = tensorflow
        # Keeps the variables alive: a signature does not own them.
        self._loaded = loaded
        self.rows = rows
        signature = loaded.signatures[PIXELS if rows.images else SERVING_DEFAULT]
        self._serve = Packed(tensorflow, signature)
        names = loaded.signatures[_CLASSES]() if _CLASSES in loaded.signatures else {}
        self.classes = [name.decode() for name in names[_CLASSES].numpy()] if names else []
        self.family = CLASSIFICATION if self.classes else REGRESSION
        if _DECIDED in signature.structured_outputs:
            self.family = MULTILABEL
        self.threshold = self._read_threshold()
        self.explainer = self._explainer()

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
        reader = signatures.reader(loaded.signatures)
        if reader is not None:
            return cls(tensorflow, loaded, reader)
        raise ModelError(
            f"the SavedModel has the signatures {', '.join(loaded.signatures) or 'none'}; expected "
            f"{PIXELS}, or {SERVING_DEFAULT} and {FEATURES}, as trainer.task writes them. A model "
            "of another release is served by the image of that release"
        )

    def warm_up(self, batch: int) -> None:
        """Predict one example and one batch, since the first call of each shape is slow.

        Raises ModelError if the model fails.
        """
        example = self.rows.nulls()
        for size in (1, batch):
            for outcome in self.predict([example] * size):
                if isinstance(outcome, Exception):
                    raise ModelError(f"the model fails on a blank example: {outcome}") from outcome

    def predict(self, rows: Sequence[Row]) -> list[dict[str, Any] | Exception]:
        """One prediction or exception per row; trainer.serve describes a prediction."""
        return self._predictions(**self.columns(rows))

    def columns(self, rows: Sequence[Row]) -> dict[str, np.ndarray]:
        """The inputs of the model's signature, (n, ...) each, of n rows."""
        columns = zip(*(row.values for row in rows), strict=True)
        return {
            field.input: column(field.kind, values)
            for field, values in zip(self.rows.fields, columns, strict=True)
        }

    def answers(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the signature on the inputs: probabilities (n, classes) and label, or value (n,)."""
        return self._serve(**columns)

    def _explainer(self) -> Explainer | None:
        known = self._loaded.signatures
        pixels = []
        if self.rows.images:
            if _GRADIENT not in known:
                return None
            gradient = self._signature(_GRADIENT)
            if FEATURES not in known:
                return ImageExplainer(self.rows, gradient)
            fields = [self.rows.fields[place] for place in self.rows.images]
            pixels = [
                PixelExplainer(gradient, field, field.input, f"{_GRADIENT}/{field.input}")
                for field in fields
            ]
        if _ORDINARY not in known:
            return None
        ordinary = {name: value.numpy() for name, value in known[_ORDINARY]().items()}
        return RowExplainer(self._serve, self.rows, ordinary, pixels)

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
