"""Decides the class from a classifier's probabilities: argmax or, of two classes, a threshold.

A file holds a threshold as {"class": "malignant", "above": 0.23}: that class is decided if its
probability is greater, else the other. It names the class, so that a dataset with the classes in
another order changes nothing, and is a float32, as probabilities are, so that TensorFlow and NumPy
decide alike to the last bit. Where there is none, the most probable class is decided, of equals the
first: of two classes, the threshold 0.5.

`choose` chooses one on examples that the model was not trained on, as scikit-learn's
TunedThresholdClassifierCV does by cross-validation:
https://scikit-learn.org/stable/modules/classification_threshold.html
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainer.metrics.formulas import balanced_accuracy, macro_f1
from trellis_contracts.decision import NamedThreshold, Rule

DEFAULT = 0.5
_ROUNDING = 1e-9

# Functions of counts by class, (2, thresholds): recognized, true, and taken for the class.
_Scored = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
_METRICS: Mapping[str, _Scored] = {
    "accuracy": lambda hits, true, taken: hits.sum(axis=0) / true.sum(axis=0),
    "balanced_accuracy": lambda hits, true, taken: balanced_accuracy(hits, true),
    "f1": macro_f1,
}


@dataclass(frozen=True)
class Threshold:
    """above: from 0 to 1, a float32. positive: index of the class whose probability is compared."""

    above: float
    positive: int = 1

    def to_json(self, classes: Sequence[str]) -> dict[str, Any]:
        """Return the threshold in the form of the files."""
        return self.named(classes).to_document()

    def named(self, classes: Sequence[str]) -> NamedThreshold:
        """Name the class; classes: in the order of the probabilities."""
        return NamedThreshold(classes[self.positive], self.above)

    def text(self, classes: Sequence[str]) -> str:
        """Format the threshold for a reader: `malignant above 0.23`."""
        return f"{classes[self.positive]} above {self.above:.3g}"

    @classmethod
    def of(cls, value: Mapping[str, Any], classes: Sequence[str]) -> "Threshold":
        """Read a threshold from a file; classes: in the order of the probabilities. Raises
        ValueError if the class is not one of two, or the number not from 0 to 1.
        """
        if len(classes) != 2 or value["class"] not in classes or not 0 <= value["above"] <= 1:
            raise ValueError(
                f"a threshold of {value['above']} for {value['class']!r}; expected 0 to 1, for one "
                f"of two classes, and the classes are {', '.join(map(repr, classes))}"
            )
        return cls(value["above"], list(classes).index(value["class"]))


def decide(probabilities: np.ndarray, threshold: Threshold | None) -> np.ndarray:
    """(n,) class indices of (n, classes) probabilities. threshold: only of two classes."""
    if threshold is None:
        return probabilities.argmax(axis=1)
    over = probabilities[:, threshold.positive] > threshold.above
    return np.where(over, threshold.positive, 1 - threshold.positive)


def choose(rule: Rule, labels: np.ndarray, probabilities: np.ndarray) -> Threshold:
    """The best threshold by a rule; of equals the nearest to a half, or to what would cost least if
    the probabilities were right.

    labels: (n,) 0 or 1. probabilities: (n, 2) float32. Between two neighbouring probabilities all
    thresholds decide alike: their middle stands for them, or 0.5 if it lies between them.
    """
    scores = probabilities[:, 1].astype(np.float32)
    nearest = DEFAULT if rule.cost is None else rule.cost.above
    candidates = _candidates(scores, nearest)
    values = _values(rule, *_counts(labels, scores, candidates))
    order = np.lexsort((candidates, np.abs(candidates - nearest), -values))
    return Threshold(float(candidates[order[0]]))


def _values(rule: Rule, hits: np.ndarray, true: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """What the rule maximizes, of counts by class as _counts has them."""
    if rule.maximize is not None:
        found: np.ndarray = _METRICS[rule.maximize](hits, true, taken)
        return found
    false_alarms, missed = true - hits
    if rule.cost is not None:
        return -(rule.cost.missed * missed + rule.cost.false_alarm * false_alarms)
    assert rule.sensitivity is not None
    reached = hits[1] >= rule.sensitivity * true[1] * (1 - _ROUNDING)
    # Of equal specificities the higher sensitivity, which is less than one example in weight. A
    # probability of 0 is above no threshold: if none reaches it, the most sensitive one.
    share = hits[1] / (true[1] + 1)
    return np.where(reached, hits[0] + share, share - 1)


def _candidates(scores: np.ndarray, preferred: float) -> np.ndarray:
    """(m,) float32 in [0, 1], the preferred one among them."""
    levels = np.unique(np.concatenate([scores, np.array([0, 1], np.float32)]))
    low, high = levels[:-1], levels[1:]
    middles = ((low.astype(np.float64) + high) / 2).astype(np.float32)
    # Between neighbours of float32 there is no middle: the lower one separates them.
    middles = np.where(middles >= high, low, middles)
    # 1: always the first class, also where its probability is 0.
    return np.unique(np.append(middles, np.array([preferred, 1], np.float32)))


def _counts(
    labels: np.ndarray, scores: np.ndarray, thresholds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Examples of each class that are recognized, true, and taken for it, each (2, m)."""
    of_class = [np.sort(scores[labels == c]) for c in (0, 1)]
    # Not greater than the threshold, of each true class: decided as the first class.
    first = np.array([np.searchsorted(found, thresholds, side="right") for found in of_class])
    true = np.broadcast_to([[len(found)] for found in of_class], first.shape)
    hits = np.array([first[0], true[1] - first[1]])
    taken = np.array([first.sum(axis=0), (true - first).sum(axis=0)])
    return hits, true, taken
