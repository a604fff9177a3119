"""A contender's predictions where an example has any number of the classes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trainer import label_sets
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import FLOOR, ClassOutcome, Outcome
from trellis_contracts.predictions import DECIDED_ABOVE
from trellis_contracts.tasks import MULTILABEL


@dataclass(frozen=True)
class SetOutcome(ClassOutcome):
    """A contender's predictions for n test examples with any number of c classes.

    labels: (n,) sets of the true classes (trainer.label_sets). probabilities: (n, c).
    """

    family = MULTILABEL

    labels: np.ndarray
    probabilities: np.ndarray
    groups: Groups | None = None

    def __post_init__(self):
        object.__setattr__(self, "probabilities", np.asarray(self.probabilities, np.float64))

    @cached_property
    def true(self) -> np.ndarray:
        """(n, c) bool: the classes that each example has."""
        return label_sets.members(self.labels, self.class_count)

    @cached_property
    def decided(self) -> np.ndarray:
        """(n, c) bool: the classes that are decided."""
        return self.probabilities > DECIDED_ABOVE

    @cached_property
    def misses(self) -> np.ndarray:
        """(n,) number of classes that are decided wrongly."""
        return (self.true != self.decided).sum(axis=1)

    @cached_property
    def correct(self) -> np.ndarray:
        """(n,) bool: all classes are decided rightly."""
        return self.misses == 0

    @cached_property
    def mixed_classes(self) -> np.ndarray:
        """Indices of the classes that some but not all examples have."""
        count = self.true.sum(axis=0)
        return np.flatnonzero((count > 0) & (count < len(self.labels)))

    @cached_property
    def parts(self) -> list[Outcome]:
        """A classification of two classes, absent or present, for each mixed class."""
        return [
            Outcome(
                self.true[:, c].astype(np.int64),
                np.stack([1 - self.probabilities[:, c], self.probabilities[:, c]], axis=1),
                self.groups,
            )
            for c in self.mixed_classes
        ]

    @cached_property
    def surprise(self) -> np.ndarray:
        """(n,) negative log probability, in nats, of a class's presence or absence, averaged over
        the classes.
        """
        likelihood = np.where(self.true, self.probabilities, 1 - self.probabilities)
        return -np.log(np.maximum(likelihood, FLOOR)).mean(axis=1)

    @cached_property
    def brier(self) -> np.ndarray:
        """(n,) squared errors of the probabilities, averaged over the classes."""
        return np.square(self.probabilities - self.true).mean(axis=1)

    @property
    def ranked_classes(self) -> list[int]:
        """See ClassOutcome."""
        return self.mixed_classes.tolist()

    def examples_of(self, index: int) -> np.ndarray:
        """See ClassOutcome."""
        return self.true[:, index]

    def decided_as(self, index: int) -> np.ndarray:
        """See ClassOutcome."""
        return self.decided[:, index]

    def extended(self, wrong: bool) -> "SetOutcome":
        """See ClassOutcome: one pseudo-example with none of the mixed classes, and one with all."""
        rows = np.tile(self.probabilities.mean(axis=0), (2, 1))
        for c, part in zip(self.mixed_classes, self.parts, strict=True):
            rows[:, c] = part.extended(wrong).probabilities[-2:, 1]
        in_all = label_sets.of(np.flatnonzero(self.true.all(axis=0)).tolist())
        added = [in_all, in_all | label_sets.of(self.mixed_classes.tolist())]
        return SetOutcome(
            np.concatenate([self.labels, added]), np.vstack([self.probabilities, rows])
        )
