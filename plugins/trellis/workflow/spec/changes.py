"""How far a new dataset may be from the last one trained on (`source.changes`), and the rows of a
prediction from what its model learned from (`predict.changes`).

The distances are those of TensorFlow Data Validation (L-infinity of categories, Jensen-Shannon
divergence of numbers): https://www.tensorflow.org/tfx/data_validation/get_started
"""

from typing import Literal

from trellis.workflow.spec.sections import Section, key
from trellis_contracts.drift import LIMITS


class Limits(Section):
    """Limits of the drift of features and classes."""

    missing: float = key(
        "difference of a feature's share of missing values", LIMITS["missing"], ge=0, le=1
    )
    mean: float = key(
        "shift of a number's mean, in standard deviations of the earlier values",
        LIMITS["mean"],
        ge=0,
    )
    numbers: float = key(
        "Jensen-Shannon divergence of a number's two distributions, in bits",
        LIMITS["numbers"],
        ge=0,
        le=1,
    )
    categories: float = key(
        "largest difference of the share of one of a feature's categories",
        LIMITS["categories"],
        ge=0,
        le=1,
    )
    classes: float = key(
        "largest difference of the share of one class", LIMITS["classes"], ge=0, le=1
    )


class Changes(Limits):
    """Limits between the train splits of two datasets of one experiment."""

    beyond: Literal["warn", "refuse"] = key(
        "action on a run whose dataset has changed by more than a limit since the last dataset "
        "that a run trained on, or has other columns: before anything is trained",
        "warn",
    )
    examples: float = key(
        "ratio of the numbers of examples, in either direction", LIMITS["examples"], ge=1
    )


class PredictionChanges(Limits):
    """Limits between the rows of a prediction and the train split that its model learned from, and
    between its answers and those of the test split.
    """

    beyond: Literal["warn", "refuse"] = key(
        "action on a run whose rows are further than a limit from those that the model learned "
        "from: before the prediction is paid for. Of its answers, which come after, always a "
        "warning",
        "warn",
    )
