"""Explanations by pixels: integrated gradients of an image, all else of its example unchanged."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from trainer.serving import integrated_gradients
from trainer.serving.explanations import Signature, finite
from trainer.serving.images import ImageInput
from trainer.serving.limits import MAX_EXPLAINED_PIXELS
from trainer.serving.parameters import BASELINES, Explain
from trainer.serving.rows import Field, Row, RowReader

# Images and pixels in one call of the model: bounds its memory.
_IMAGES = 64
PIXELS_AT_ONCE = 1 << 19


class PixelExplainer:
    """Explains one image of an example by its pixels.

    gradient: the model's signature; input_, output: the image, and the score's gradient by it, in
    that signature.
    """

    def __init__(self, gradient: Signature, field: Field, input_: str, output: str):
        assert field.image is not None
        self.name = field.name
        self.image: ImageInput = field.image
        self._gradient = gradient
        self._input = input_
        self._output = output

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
        signature's other inputs, (1, ...) each. index: see Explainer.
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
            answer = self._gradient(**inputs)
            scores.append(answer["score"])
            gradients.append(answer[self._output])
        return np.concatenate(scores), np.concatenate(gradients)


class ImageExplainer:
    """Explains a model of a single image. gradient: its signature."""

    unit = "pixels"
    limit = MAX_EXPLAINED_PIXELS
    effort = "steps"

    def __init__(self, rows: RowReader, gradient: Signature):
        (field,) = rows.fields
        self._rows = rows
        self._pixels = PixelExplainer(gradient, field, "image", "gradient")

    def work(self, row: Row, how: Explain) -> int:
        """See Explainer."""
        return self._pixels.work(how)

    def explain(self, row: Row, index: int | None, how: Explain) -> dict[str, Any]:
        """See Explainer."""
        (pixels,) = self._rows.decoded(row).values
        baseline = plain(self._pixels.image, how.baseline or "black")
        return self._pixels.explain(pixels, baseline, {}, index, how)


def plain(image: ImageInput, baseline: str) -> np.ndarray:
    """A picture of one of BASELINES, (height, width, channels) float32."""
    return np.full(image.shape, BASELINES[baseline] * image.white, np.float32)
