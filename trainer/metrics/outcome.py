"""A contender's predictions for the test examples, with what the metrics derive from them.

- The predicted class is the one with the largest probability, of equals the first, or what the
  contender's threshold decides (trainer.metrics.decision). Calibration is about the most probable
  class, whatever is decided.
- For log loss and Brier score, probabilities are floored at float32's epsilon and rows scaled to
  sum to 1, so that a confident mistake costs at most 16 nats, whatever precision a contender wrote.
"""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar, Self, TypeVar

import numpy as np
from scipy import sparse

from trainer.metrics.constancy import HALF_DECIBAN, Constancy, log_odds
from trainer.metrics.decision import Threshold, decide
from trainer.metrics.formulas import brier_terms
from trainer.metrics.groups import Groups
from trainer.metrics.ranks import Ranking, placements
from trellis_contracts.tasks import CLASSIFICATION

FLOOR = float(np.finfo(np.float32).eps)


class AnyOutcome(abc.ABC):
    """Interface that the outcomes of classes and of values share.

    family: of the task, one of tasks.FAMILIES. labels: (n,) true classes, sets of
    them or values. groups: of examples that are not independent; None if all are.
    """

    family: ClassVar[str]
    labels: np.ndarray
    groups: Groups | None

    @property
    @abc.abstractmethod
    def misses(self) -> np.ndarray:
        """(n,) size of each prediction's error, 0 if it is right."""

    def constancy(self, classes: Sequence[str]) -> Constancy | None:
        """What of the predictions would be constant if nothing was learned; None of those that are
        judged by their score alone. classes: of the dataset.
        """
        return None

    @property
    def disorder(self) -> str | None:
        """Why the order of the predictions is that of chance, with a comma, where no metric of the
        family tells an order; "" of predictions without an order, None if it is better.
        """
        return ""

    @property
    def of_few(self) -> str:
        """What a note on a small split adds to the number of examples."""
        return ""

    def subset(self, rows: np.ndarray) -> Self:
        """The predictions of some of the examples. rows: (n,) bool or (m,) indices."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        for name, part in parts.items():
            if isinstance(part, np.ndarray):
                parts[name] = part[rows]
            elif isinstance(part, Groups):
                parts[name] = part.subset(rows)
        return replace(self, **parts)  # type: ignore[type-var]

    def beats(self, other: "AnyOutcome") -> np.ndarray:
        """(n,) bool: this prediction has a smaller error than the other's."""
        return self.misses < other.misses


OutcomeKind = TypeVar("OutcomeKind", bound=AnyOutcome)


def of_kind(outcomes: Mapping[str, AnyOutcome], kind: type[OutcomeKind]) -> dict[str, OutcomeKind]:
    """The outcomes of this kind, by contender's name: all outcomes of a run, or none."""
    return {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, kind)}


class ClassOutcome(AnyOutcome):
    """Interface that the outcomes of one class (Outcome) and of any number of classes share.

    probabilities: (n, c).
    """

    probabilities: np.ndarray

    @property
    def class_count(self) -> int:
        """Number of classes, c."""
        return self.probabilities.shape[1]

    @property
    @abc.abstractmethod
    def ranked_classes(self) -> Sequence[int]:
        """Classes that AUC and average precision compare with the rest."""

    @abc.abstractmethod
    def examples_of(self, index: int) -> np.ndarray:
        """(n,) bool: which examples have this class."""

    @abc.abstractmethod
    def decided_as(self, index: int) -> np.ndarray:
        """(n,) bool: for which examples this class is decided."""

    @abc.abstractmethod
    def extended(self, wrong: bool) -> "ClassOutcome":
        """Append the pseudo-examples of `pseudo_error`, predicted wrongly or rightly."""

    def constancy(self, classes: Sequence[str]) -> Constancy:
        """See AnyOutcome."""
        odds = log_odds(self.probabilities)
        parts = [
            (odds[:, c], HALF_DECIBAN, self.examples_of(c).astype(float))
            for c in range(self.class_count)
        ]
        of = classes[-1] if classes else "the last class"
        return Constancy(parts, self.probabilities[:, -1], f"the probability of {of} is from")

    @cached_property
    def class_totals(self) -> np.ndarray:
        """(c,) examples that have each class."""
        return np.array([np.count_nonzero(self.examples_of(c)) for c in range(self.class_count)])

    def recalls(self, least: int) -> dict[int, tuple[int, int]]:
        """Count, for each class with at least so many examples, the recognized examples and all of
        them.

        By class index; the worst recall first.
        """
        total = self.class_totals
        frequent = [c for c in range(self.class_count) if total[c] >= max(1, least)]
        found = {c: np.count_nonzero(self.examples_of(c) & self.decided_as(c)) for c in frequent}
        frequent.sort(key=lambda c: found[c] / total[c])
        return {c: (int(found[c]), int(total[c])) for c in frequent}


@dataclass(frozen=True)
class Outcome(ClassOutcome):
    """A contender's predictions for n test examples over c classes.

    labels: (n,) true class indices. probabilities: (n, c). threshold: of the decision between two
    classes; None: the most probable one. Derived arrays are computed once: the resampled metrics
    use them for every chunk of resamples.
    """

    family = CLASSIFICATION

    labels: np.ndarray
    probabilities: np.ndarray
    groups: Groups | None = None
    threshold: Threshold | None = None

    def __post_init__(self):
        object.__setattr__(self, "probabilities", np.asarray(self.probabilities, np.float64))

    def examples_of(self, index: int) -> np.ndarray:
        """See ClassOutcome."""
        return self.labels == index

    def decided_as(self, index: int) -> np.ndarray:
        """See ClassOutcome."""
        return self.predicted == index

    def extended(self, wrong: bool) -> "Outcome":
        """See ClassOutcome: one of each class.

        Predicted as the class, or as the other one to which its examples are given the most
        probability: with the mean probabilities of that class's examples, or 1 where another class
        would be decided on these.
        """
        rows, classes = [], np.unique(self.labels)
        for label in classes:
            predicted = label
            if wrong:
                resemblance = self.probabilities[self.labels == label].mean(axis=0)
                resemblance[label] = -1
                predicted = resemblance.argmax()
            row = np.eye(self.class_count)[predicted]
            if (members := self.labels == predicted).any():
                mean = self.probabilities[members].mean(axis=0)
                row = mean if decide(mean[None], self.threshold)[0] == predicted else row
            rows.append(row)
        return Outcome(
            np.concatenate([self.labels, classes]),
            np.vstack([self.probabilities, *rows]),
            threshold=self.threshold,
        )

    @cached_property
    def predicted(self) -> np.ndarray:
        """(n,) predicted class indices."""
        return decide(self.probabilities, self.threshold)

    @cached_property
    def correct(self) -> np.ndarray:
        """(n,) bool: the predicted class is the true one."""
        return self.predicted == self.labels

    @cached_property
    def misses(self) -> np.ndarray:
        """(n,) bool: the predicted class is not the true one."""
        return ~self.correct

    @cached_property
    def confidence(self) -> np.ndarray:
        """(n,) probability of the most probable class."""
        return self.probabilities.max(axis=1)

    @cached_property
    def expected(self) -> np.ndarray:
        """(n,) bool: the most probable class is the true one."""
        return self.probabilities.argmax(axis=1) == self.labels

    @cached_property
    def conviction(self) -> np.ndarray:
        """(n,) probability of the predicted class."""
        return self.probabilities[np.arange(len(self.labels)), self.predicted]

    @cached_property
    def floored(self) -> np.ndarray:
        """(n, c) probabilities for the log loss: none below the floor, rows summing to 1."""
        floored = np.maximum(self.probabilities, FLOOR)
        return floored / floored.sum(axis=1, keepdims=True)

    @cached_property
    def surprise(self) -> np.ndarray:
        """(n,) negative log probability of the true class, in nats."""
        return -np.log(self.floored[np.arange(len(self.labels)), self.labels])

    @cached_property
    def brier(self) -> np.ndarray:
        """(n,) terms of the Brier score, of the rows that sum to 1."""
        return brier_terms(self.labels, self.floored)

    @cached_property
    def true_class(self) -> sparse.csr_array:
        """(c, n) indicator of the true class; times (n, b) weights, it counts each class."""
        return indicator(self.labels, self.class_count)

    @cached_property
    def predicted_class(self) -> sparse.csr_array:
        """(c, n) indicator of the predicted class."""
        return indicator(self.predicted, self.class_count)

    @cached_property
    def hits(self) -> sparse.csr_array:
        """(c, n) indicator of the true class, for correctly classified examples only."""
        return indicator(self.labels, self.class_count, self.correct)

    @property
    def ranked_classes(self) -> range:
        """See ClassOutcome: all, or only the second of two, the positive one."""
        return range(1, 2) if self.class_count == 2 else range(self.class_count)

    @cached_property
    def rankings(self) -> list[Ranking]:
        """The ranking of the examples for each ranked class."""
        return [Ranking.of(self.probabilities[:, c], self.labels == c) for c in self.ranked_classes]

    @cached_property
    def placements(self) -> np.ndarray:
        """(ranked classes, n) DeLong's placements."""
        return np.array(
            [placements(self.probabilities[:, c], self.labels == c) for c in self.ranked_classes]
        )

    @cached_property
    def positives(self) -> sparse.csr_array:
        """(ranked classes, n) indicator of each ranked class's examples."""
        return self.true_class[list(self.ranked_classes)]

    @cached_property
    def positive_placements(self) -> sparse.csr_array:
        """(ranked classes, n) placements of each ranked class's examples only."""
        return self.positives.multiply(self.placements).tocsr()


def indicator(rows: np.ndarray, count: int, values: np.ndarray | None = None) -> sparse.csr_array:
    """(count, n) matrix with values[i], or 1, at row rows[i] of column i, and 0 elsewhere.

    Times (n, b) weights, it sums per row: counts by class, gaps by bin.
    """
    n = len(rows)
    data = np.ones(n) if values is None else values.astype(np.float64)
    return sparse.csr_array((data, (rows, np.arange(n))), shape=(count, n))
