"""Explanations of predictions: how much of a score comes from each feature, and from each pixel.

    {"class": "7",                   whose probability is explained; not of a regression
     "score": 0.9731,                its probability, or the value
     "baseline_score": 0.0912,       that of the baseline: a row of ordinary values
     "attributions": {COLUMN: number, ...},
     "approximation_error": 0.0004}

"attributions" are sampled Shapley values (trainer.serving.shapley). They add up to score -
baseline_score but for rounding; "approximation_error" is the largest standard error of one of them,
since only some orders of the features are drawn.

An image is one of those columns, and the explanation has besides

    {"pixels": {COLUMN: {"score", "baseline_score", "attributions", "approximation_error"}, ...}}

for each column of images of a Keras model. Its baseline is the same row with another picture in
that column, the ordinary one or the one that was asked for; "attributions" is {"b64": ..., "scale":
number}, integrated gradients (trainer.serving.integrated_gradients) as a 16-bit grey PNG of the
size that the model sees. A pixel's attribution is (value - 32768) / 32767 * scale.
"approximation_error" is by how much their sum differs from score - baseline_score.
"""

from collections.abc import Callable, Mapping

import numpy as np

from trainer.serving.errors import ModelFailureError

# Function of a SavedModel: arrays by the names of its inputs -> arrays by those of its outputs.
Signature = Callable[..., Mapping[str, np.ndarray]]


def finite(numbers: np.ndarray) -> np.ndarray:
    """The numbers; raises ModelFailureError if one of them is none."""
    if not np.isfinite(numbers).all():
        raise ModelFailureError(
            "the model returns NaN between the baseline and the example: it cannot be explained"
        )
    return numbers
