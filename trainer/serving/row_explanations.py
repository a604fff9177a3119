"""Explanations of a model of rows: sampled Shapley values of its features."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trainer.serving import shapley
from trainer.serving.columns import column
from trainer.serving.explanations import Signature, finite
from trainer.serving.limits import MAX_EXPLAINED_VALUES
from trainer.serving.parameters import Explain
from trainer.serving.rows import Field, Row
from trellis_contracts.dataset_features import SEQUENCE

# Rows in one call of the model: bounds its memory.
_ROWS = 256

# One value of a sequence counts as so many: benchmarks/explaining.py measured 9 times the time of a
# number in the recurrent model and 19 times in the transformer.
_SEQUENCE_VALUE = 16


class RowExplainer:
    """Explains a model of rows. serve: its signature; ordinary: the baseline, by input."""

    unit = "values"
    limit = MAX_EXPLAINED_VALUES
    effort = "paths"

    def __init__(
        self, serve: Signature, fields: Sequence[Field], ordinary: Mapping[str, np.ndarray]
    ):
        self._serve = serve
        self._fields = fields
        self._ordinary = [ordinary[field.input][0] for field in fields]

    def work(self, row: Row, how: Explain) -> int:
        """See Explainer."""
        values = sum(
            _SEQUENCE_VALUE * max(len(own), len(ordinary)) if field.kind == SEQUENCE else 1
            for field, own, ordinary in zip(self._fields, row.values, self._ordinary, strict=True)
        )
        return values * shapley.evaluations(len(self._fields), how.paths)

    def explain(self, row: Row, index: int | None, how: Explain) -> dict[str, Any]:
        """See Explainer."""
        # Each field's two values: the ordinary one, and its own.
        pairs = [
            column(field.kind, pair)
            for field, *pair in zip(self._fields, self._ordinary, row.values, strict=True)
        ]

        def score(own: np.ndarray) -> np.ndarray:
            found = []
            for start in range(0, len(own), _ROWS):
                part = own[start : start + _ROWS].astype(np.intp)
                rows = {
                    field.input: pair[part[:, place]]
                    for place, (field, pair) in enumerate(zip(self._fields, pairs, strict=True))
                }
                answer = self._serve(**rows)
                found.append(
                    answer["value"] if index is None else answer["probabilities"][:, index]
                )
            return finite(np.concatenate(found))

        shares = shapley.shares(score, len(self._fields), how.paths)
        kind = np.float64 if index is None else np.float32
        names = [field.name for field in self._fields]
        return {
            "score": kind(shares.score),
            "baseline_score": kind(shares.baseline_score),
            "attributions": dict(zip(names, shares.values.astype(kind), strict=True)),
            "approximation_error": kind(shares.error),
        }
