"""By which of a classifier's two probabilities it labels: the threshold that files have, and the
rule by which an experiment has it chosen.

trainer.metrics.decision chooses one and decides by it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from trellis_contracts.files import Part, optional
from trellis_contracts.withheld import some_of

LEAST = 10
"""Examples of each class in the validation split without which no threshold is chosen."""


@dataclass(frozen=True)
class NamedThreshold:
    """A threshold of two classes: `name` is decided if its probability is greater than `above`,
    from 0 to 1; else the other. It names the class, so that another order of the classes changes
    nothing.
    """

    name: str
    above: float

    def to_document(self) -> dict[str, Any]:
        """The form in files."""
        return {"class": self.name, "above": self.above}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """From a part of a file that fits its schema."""
        return cls(document["class"], document["above"])


@dataclass(frozen=True)
class Cost(Part):
    """What errors cost, both above 0, in any unit. missed: an example of the positive class that is
    decided as the other; false_alarm: the reverse.
    """

    missed: float
    false_alarm: float

    @property
    def weight(self) -> float:
        """False alarms that cost as much as one missed example is worth: of net benefit."""
        return self.false_alarm / self.missed

    @property
    def above(self) -> float:
        """The threshold that costs least if the probabilities are right."""
        return self.false_alarm / (self.missed + self.false_alarm)


@dataclass(frozen=True)
class Rule(Part):
    """How a threshold is chosen on the validation split: one of least cost; the one of highest
    specificity whose sensitivity is at least so large; the one with the highest metric.
    """

    cost: Cost | None = optional()
    sensitivity: float | None = optional()
    maximize: str | None = optional()

    def too_small(self, classes: Mapping[str, int], positive: str) -> str | None:
        """Return why a validation split does not suffice; None if it does.

        classes: how many of its examples have each of the two. positive: one of them.
        """
        if few := [name for name, count in classes.items() if count < LEAST]:
            return (
                f"a threshold is chosen among at least {LEAST} examples of each class in the "
                f"validation split, which has fewer of {some_of(few, 'class', 'classes')}"
            )
        if self.sensitivity is None:
            return None
        # One that is missed has to be allowed, or the least of all probabilities is the threshold.
        needed = math.ceil(1 / (1 - self.sensitivity) - 1e-9)
        found = classes.get(positive, 0)
        if found >= needed:
            return None
        return (
            f"a sensitivity of {self.sensitivity:g} is a share of at least {needed} examples of "
            f"the positive class in the validation split, which has {found}"
        )
