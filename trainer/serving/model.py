"""A SavedModel of trainer.training.saved_model, as the server calls it.

TensorFlow is imported by `load`, which takes seconds, so that importing this module does not.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from trainer.serving.errors import ModelFailureError
from trainer.serving.images import EncodedImage, ImageError, inspect

_SIGNATURE = "serving_default"
_CLASSES = "classes"


class ModelError(Exception):
    """A folder that holds no model this server can serve; the message says what it holds."""


class Model:
    """An image classifier."""

    def __init__(self, tensorflow: Any, loaded: Any, classes: list[str]):
        self._tf = tensorflow
        # Only the object owns the variables, a signature alone would lose them.
        self._loaded = loaded
        self._serve = loaded.signatures[_SIGNATURE]
        self.classes = classes

    @classmethod
    def load(cls, directory: Path) -> "Model":
        """Import TensorFlow and read the SavedModel. Raises ModelError."""
        # Its C++ log says nothing that its exceptions do not (3: only what ends it).
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import tensorflow as tf

        try:
            loaded = tf.saved_model.load(str(directory))
        except (OSError, tf.errors.OpError) as error:
            raise ModelError(f"{directory} holds no readable SavedModel: {error}") from error
        signatures = loaded.signatures
        if _SIGNATURE not in signatures or _CLASSES not in signatures:
            raise ModelError(
                f"the SavedModel has the signatures {', '.join(signatures) or 'none'}; a model of "
                f"this project has {_SIGNATURE} and {_CLASSES}"
            )
        _, inputs = signatures[_SIGNATURE].structured_input_signature
        if set(inputs) != {"image_bytes"}:
            raise ModelError(
                f"the SavedModel takes {', '.join(inputs) or 'nothing'}; only models that take "
                "image_bytes are served"
            )
        names = signatures[_CLASSES]()["classes"].numpy()
        return cls(tf, loaded, [name.decode() for name in names])

    def warm_up(self, batch: int) -> None:
        """Predict once for a lone image and once for a batch: the first call builds things."""
        _, png = cv2.imencode(".png", np.zeros((8, 8, 3), np.uint8))
        image = inspect(png.tobytes())
        for size in (1, batch):
            for outcome in self.predict([image] * size):
                if isinstance(outcome, Exception):
                    raise ModelError(f"the model fails on a black image: {outcome}") from outcome

    def predict(self, images: Sequence[EncodedImage]) -> list[dict[str, Any] | Exception]:
        """One prediction per image, as trainer.serve describes it. The images are plain.

        A damaged image gets an ImageError in its place, and leaves the others theirs.
        """
        try:
            return self._predict(images)
        except self._tf.errors.InvalidArgumentError as error:
            if len(images) == 1:
                return [ImageError(f"the image cannot be decoded: {_reason(error)}")]
        # The error does not say which image it was. Rare: every image has passed a look at its
        # header.
        return [self.predict([image])[0] for image in images]

    def _predict(self, images: Sequence[EncodedImage]) -> list[dict[str, Any] | Exception]:
        outputs = self._serve(image_bytes=self._tf.constant([image.data for image in images]))
        rows = outputs["probabilities"].numpy()
        labels = outputs["label"].numpy()
        finite = np.isfinite(rows).all(axis=1)
        return [
            {
                "label": label.decode(),
                # float32 scalars: as doubles they would be printed with nine false digits.
                "probabilities": dict(zip(self.classes, row, strict=True)),
            }
            if ok
            else ModelFailureError("the model answers NaN: it has diverged in training")
            for label, row, ok in zip(labels, rows, finite, strict=True)
        ]


def _reason(error: Exception) -> str:
    """The line of TensorFlow's report that tells of the image."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [
        line for line in lines if line and not line.startswith(("[[", "<", "Detected", "Graph"))
    ]
    return told[0] if told else "it is damaged"
