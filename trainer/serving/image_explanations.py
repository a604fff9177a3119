"""Explanations of a model of images: integrated gradients of its pixels."""

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from trainer.serving import integrated_gradients
from trainer.serving.explanations import Signature, finite
from trainer.serving.images import EncodedImage
from trainer.serving.limits import MAX_EXPLAINED_PIXELS
from trainer.serving.parameters import BASELINES, Explain

# Images and pixels in one call of the model: bounds its memory.
_IMAGES = 64
_PIXELS = 1 << 19


class ImageExplainer:
    """Explains a model of images. pixels: turns an image file into the model's input, (height,
    width, channels); gradient: the model's signature; shape: of those pixels; white: their largest
    value.
    """

    unit = "pixels"
    limit = MAX_EXPLAINED_PIXELS
    effort = "steps"

    def __init__(
        self,
        pixels: Callable[[bytes], np.ndarray],
        gradient: Signature,
        shape: tuple[int, int, int],
        white: int = 255,
    ):
        self._pixels = pixels
        self._gradient = gradient
        self._size = shape[0] * shape[1]
        self._white = white

    def work(self, image: EncodedImage, how: Explain) -> int:
        """See Explainer."""
        return self._size * how.steps

    def explain(self, image: EncodedImage, index: int | None, how: Explain) -> dict[str, Any]:
        """See Explainer."""
        pixels = self._pixels(image.data).astype(np.float32)
        found = integrated_gradients.integrate(
            lambda images: self._ask(images, index),
            pixels,
            BASELINES[how.baseline] * self._white,
            how.steps,
        )
        png, scale = integrated_gradients.to_png(finite(found.attributions))
        read = integrated_gradients.from_png(png, scale).sum()
        kind = np.float64 if index is None else np.float32
        return {
            "score": kind(found.score),
            "baseline_score": kind(found.baseline_score),
            "attributions": {"b64": base64.b64encode(png).decode(), "scale": scale},
            "approximation_error": kind(abs(read - (found.score - found.baseline_score))),
        }

    def _ask(self, images: np.ndarray, index: int | None) -> tuple[np.ndarray, np.ndarray]:
        size = max(1, min(_IMAGES, _PIXELS // self._size))
        scores, gradients = [], []
        for start in range(0, len(images), size):
            part = images[start : start + size]
            answer = self._gradient(image=part, index=np.full(len(part), index or 0))
            scores.append(answer["score"])
            gradients.append(answer["gradient"])
        return np.concatenate(scores), np.concatenate(gradients)
