"""Explanations by pixels: integrated gradients of an image, all else of its example unchanged."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from trainer.serving import integrated_gradients
from trainer.serving.explanations import Signature, finite
from trainer.serving.images import ImageInput
from trainer.serving.parameters import BASELINES, Explain
from trainer.serving.rows import Field

# Images and pixels in one call of the model: bounds its memory.
_IMAGES = 64
PIXELS_AT_ONCE = 1 << 19


class PixelExplainer:
    """Explains one image of an example by its pixels.

    gradient: the model's signature. field: the image.
    """

    def __init__(self, gradient: Signature, field: Field):
        assert field.image is not None
        self.name = field.name
        self.image: ImageInput = field.image
        self.gradient = gradient
        self._input = field.input

    def work(self, how: Explain) -> int:
        """Number of pixels by which gradients are taken."""
        return self.image.size * how.steps

    def explain(
        self,
        pixels: np.ndarray,
        baseline: np.ndarray,
        others: Mapping[str, np.ndarray],
        index: int | None,
        how: Explain,
    ) -> dict[str, Any]:
        """The fields of an image's explanation, see trainer.serving.explanations.

        pixels, baseline: the image and where it begins, (height, width, channels). others: the
        signature's other inputs, (1, ...) each. index: see RowExplainer.
        """
        found = integrated_gradients.integrate(
            lambda images: self._ask(images, others, index),
            pixels.astype(np.float32),
            baseline.astype(np.float32),
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

    def _ask(
        self, images: np.ndarray, others: Mapping[str, np.ndarray], index: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        size = max(1, min(_IMAGES, PIXELS_AT_ONCE // self.image.size))
        scores, gradients = [], []
        for start in range(0, len(images), size):
            part = images[start : start + size]
            inputs = {name: np.repeat(value, len(part), 0) for name, value in others.items()}
            inputs |= {self._input: part, "index": np.full(len(part), index or 0)}
            answer = self.gradient(**inputs)
            scores.append(answer["score"])
            gradients.append(answer[f"gradient/{self._input}"])
        return np.concatenate(scores), np.concatenate(gradients)


def plain(image: ImageInput, baseline: str) -> np.ndarray:
    """A picture of one of BASELINES, (height, width, channels) float32."""
    return np.full(image.shape, BASELINES[baseline] * image.white, np.float32)
