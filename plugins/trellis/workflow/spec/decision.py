"""The section `decision` of an experiment file: how the threshold between two classes is chosen."""

from typing import Annotated, Literal

from trellis.workflow.spec.sections import OneOf, Section, Variant, key
from trellis_contracts.decision import Rule

KEYS = {"decide": "decision"}
"""Keys of the file for flags of the trainer that have another name."""


class Cost(Section):
    """Costs of the two errors, in any unit: their ratio counts."""

    missed: float = key(
        "cost of an example of the positive class that is decided as the other", ge=1e-6, le=1e6
    )
    false_alarm: float = key("cost of the reverse", ge=1e-6, le=1e6)


class _Decision(Variant):
    def rule(self) -> Rule:
        """The rule, as the trainer takes it."""
        return Rule.from_document(self.model_dump(mode="json"))


class ByCost(_Decision):
    """The threshold of least cost."""

    opening = ("cost",)
    title = "costs"

    cost: Cost = key("the threshold whose errors cost least on the validation split")


class BySensitivity(_Decision):
    """A threshold that misses few."""

    opening = ("sensitivity",)
    title = "sensitivities"

    sensitivity: float = key(
        "at least this share of the positive class is decided as such on the validation split, "
        "with the highest specificity",
        ge=0.01,
        le=0.999,
    )


class ByMetric(_Decision):
    """The threshold of the highest metric."""

    opening = ("maximize",)
    title = "metrics"

    maximize: Literal["accuracy", "balanced_accuracy", "f1"] = key(
        "the threshold with the highest value of this metric on the validation split"
    )


Decision = Annotated[
    ByCost | BySensitivity | ByMetric,
    OneOf(
        "one of `cost: {missed: A, false_alarm: B}`, `sensitivity: SHARE` and `maximize: METRIC`",
        "nothing to choose a threshold by",
    ),
]
