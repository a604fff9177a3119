"""Explanations of a model: sampled Shapley values of its columns, and the pixels of images.

An image is one of the features that take turns. What its pixels do is explained beside all else of
the row, which keeps its own values.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trainer.serving import shapley
from trainer.serving.answers import explained
from trainer.serving.columns import column
from trainer.serving.explanations import Signature, finite
from trainer.serving.image_explanations import PIXELS_AT_ONCE, PixelExplainer, plain
from trainer.serving.limits import MAX_EXPLAINED_PIXELS, MAX_EXPLAINED_VALUES
from trainer.serving.parameters import Explain
from trainer.serving.rows import Row, RowReader
from trellis_contracts.dataset_features import SEQUENCE

# Rows in one call of the model: bounds its memory.
_ROWS = 256

# One value of a sequence counts as so many: benchmarks/explaining.py measured 9 times the time of a
# number in the recurrent model and 19 times in the transformer.
_SEQUENCE_VALUE = 16

# So many values take as long as a pixel and its gradient. A pixel alone counts as one value.
_GRADIENT = MAX_EXPLAINED_VALUES // MAX_EXPLAINED_PIXELS


class RowExplainer:
    """Explains a model's predictions. serve: its signature; ordinary: the baseline, by input, and
    as an attribute a value for each field; pixels: explain its images, in the order of rows.images.
    effort: the options that the work grows with.
    """

    def __init__(
        self,
        serve: Signature,
        rows: RowReader,
        ordinary: Mapping[str, np.ndarray | Sequence[Any]],
        pixels: Sequence[PixelExplainer] = (),
    ):
        self._serve = serve
        self._rows = rows
        self._fields = rows.fields
        self.ordinary = [ordinary[field.input][0] for field in self._fields]
        self.pixels = pixels
        efforts = ["paths"] * (len(self._fields) > 1) + ["steps"] * bool(pixels)
        self.effort = " or ".join(efforts) or "paths"

    def work(self, row: Row, how: Explain) -> int:
        """Values that the model has to read for an explanation."""
        values = 0
        for field, own, ordinary in zip(self._fields, row.values, self.ordinary, strict=True):
            if field.image is not None:
                values += field.image.size
            elif field.kind == SEQUENCE:
                values += _SEQUENCE_VALUE * max(len(own), len(ordinary))
            else:
                values += 1
        gradients = _GRADIENT * sum(image.work(how) for image in self.pixels)
        return values * shapley.evaluations(len(self._fields), how.paths) + gradients

    def explain(self, row: Row, index: int | None, how: Explain) -> dict[str, Any]:
        """The fields in trainer.serving.explanations but "class". index: of the class; None: of a
        regression.
        """
        own = self._rows.decoded(row).values
        baseline = self._baseline(how)
        shares = self._shares(own, baseline, index, how)
        kind = np.float64 if index is None else np.float32
        names = [field.name for field in self._fields]
        found = {
            "score": kind(shares.score),
            "baseline_score": kind(shares.baseline_score),
            "attributions": dict(zip(names, shares.values.astype(kind), strict=True)),
            "approximation_error": kind(shares.error),
        }
        if self.pixels:
            found["pixels"] = self._of_pixels(own, baseline, index, how)
        return found

    def _baseline(self, how: Explain) -> list[Any]:
        """A value for each field."""
        found = list(self.ordinary)
        if how.baseline is not None:
            for place in self._rows.images:
                image = self._fields[place].image
                assert image is not None
                found[place] = plain(image, how.baseline).astype(image.type)
        return found

    def _shares(
        self, own: Sequence[Any], baseline: Sequence[Any], index: int | None, how: Explain
    ) -> shapley.Shares:
        pairs = [
            column(field.kind, pair)
            for field, *pair in zip(self._fields, baseline, own, strict=True)
        ]
        pixels = sum(field.image.size for field in self._fields if field.image is not None)
        size = max(1, min(_ROWS, PIXELS_AT_ONCE // pixels)) if pixels else _ROWS

        def score(taken: np.ndarray) -> np.ndarray:
            found = []
            for start in range(0, len(taken), size):
                part = taken[start : start + size].astype(np.intp)
                rows = {
                    field.input: pair[part[:, place]]
                    for place, (field, pair) in enumerate(zip(self._fields, pairs, strict=True))
                }
                found.append(explained(self._serve(**rows), index))
            return finite(np.concatenate(found))

        return shapley.shares(score, len(self._fields), how.paths)

    def _of_pixels(
        self, own: Sequence[Any], baseline: Sequence[Any], index: int | None, how: Explain
    ) -> dict[str, Any]:
        inputs = {
            field.input: column(field.kind, [value])
            for field, value in zip(self._fields, own, strict=True)
        }
        places = zip(self._rows.images, self.pixels, strict=True)
        # The gradient's images are floats.
        inputs |= {
            self._fields[place].input: own[place][np.newaxis].astype(np.float32)
            for place in self._rows.images
        }
        found = {}
        for place, explainer in places:
            others = {n: v for n, v in inputs.items() if n != self._fields[place].input}
            found[explainer.name] = explainer.explain(
                own[place], baseline[place], others, index, how
            )
        return found
