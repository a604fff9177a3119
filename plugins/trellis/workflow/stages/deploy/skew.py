"""The check for train/serve skew: whether served predictions equal the offline ones.

The offline predictions are those behind the leaderboard. The server reads the same SavedModel, so
differences come from the input path (decoding, column order, vocabulary) or from a wrong model.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trellis_contracts.decision import NamedThreshold
from trellis_contracts.withheld import quoted

TOLERANCE = 1e-4
"""Absolute for probabilities; for a regression's value relative to max(1, |value|)."""

MISS_PROBABILITY = 1e-9
"""Probability of a smoke test that fails only because an example never reached the challenger."""


@dataclass(frozen=True)
class Difference:
    """One field of one example. size: the difference; infinite for values that are not numbers."""

    key: str
    field: str
    offline: Any
    served: Any
    size: float

    def __str__(self) -> str:
        whole = f"example {self.key}: {self.field} is {self.served!r}, offline {self.offline!r}"
        return quoted(whole, "of an example")


def compare(
    key: str, offline: Mapping[str, Any], served: Any, threshold: NamedThreshold | None = None
) -> list[Difference]:
    """Every field of a prediction with its difference, within the tolerance or not.

    A prediction is {"label", "probabilities": {class: number}} or {"value"}; of a multi-label task
    it has "labels". threshold: by which the model labels; None: the most probable class. Labels
    may differ if the offline probability is within the tolerance of the threshold, or, without one,
    if their two tie within twice the tolerance; a class may be in one of two "labels" alone if its
    offline probability is within the tolerance of a half. Extra fields in the served prediction
    count as differences: the contract is exact.
    """
    if not isinstance(served, dict) or served.keys() != offline.keys():
        return [Difference(key, "the prediction", offline, served, math.inf)]
    if "value" in offline:
        scale = max(1.0, abs(offline["value"]))
        return [_number(key, "value", offline["value"], served["value"], scale)]
    expected, found = offline["probabilities"], served["probabilities"]
    if not isinstance(found, dict) or found.keys() != expected.keys():
        return [Difference(key, "probabilities", expected, found, math.inf)]
    differences = [_number(key, f"probabilities.{c}", expected[c], found[c]) for c in expected]
    if "labels" in offline:
        if not _same_labels(offline, served["labels"]):
            field = "labels"
            differences.append(Difference(key, field, offline[field], served[field], math.inf))
    elif not _same_label(offline, served["label"], threshold):
        label = Difference(key, "label", offline["label"], served["label"], math.inf)
        differences.append(label)
    return differences


def largest(differences: Iterable[Difference]) -> Difference | None:
    """The largest difference; None if there is none."""
    return max(differences, key=_size, default=None)


def _size(difference: Difference) -> float:
    return difference.size


def skew(differences: list[Difference]) -> str | None:
    """The error message; None if everything agrees within the tolerance."""
    wrong = [difference for difference in differences if difference.size > TOLERANCE]
    if not wrong:
        return None
    # A differing number tells more than a label derived from it.
    worst = max([d for d in wrong if math.isfinite(d.size)] or wrong, key=_size)
    off = f" ({worst.size:.2g} apart, {TOLERANCE:g} is allowed)" if worst.size < math.inf else ""
    examples = len({difference.key for difference in differences})
    affected = len({difference.key for difference in wrong})
    return (
        "Train/serve skew: the endpoint's predictions differ from the same model's offline ones "
        f"for {affected} of {examples} examples. The worst, {worst}{off}. Requests are processed "
        "differently from test examples (decoding, columns, vocabulary), or another model "
        "is served."
    )


def tries(share: int, examples: int) -> int:
    """Number of requests for one example that make it almost certain that the challenger got one.

    share: percent of the requests that it gets, above 0. With this number, the probability that any
    of `examples` misses it is below MISS_PROBABILITY.
    """
    if share >= 100:
        return 1
    return math.ceil(math.log(MISS_PROBABILITY / examples) / math.log1p(-share / 100))


def _number(key: str, field: str, offline: float, served: Any, scale: float = 1.0) -> Difference:
    number = isinstance(served, int | float) and not isinstance(served, bool)
    size = abs(served - offline) / scale if number else math.inf
    # NaN counts as the largest difference.
    return Difference(key, field, offline, served, math.inf if math.isnan(size) else size)


def _same_labels(offline: Mapping[str, Any], labels: Any) -> bool:
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        return False
    differing = set(labels) ^ set(offline["labels"])
    shares = offline["probabilities"]
    return all(name in shares and abs(shares[name] - 0.5) <= TOLERANCE for name in differing)


def _same_label(offline: Mapping[str, Any], label: Any, threshold: NamedThreshold | None) -> bool:
    if label == offline["label"]:
        return True
    probabilities = offline["probabilities"]
    if label not in probabilities:
        return False
    if threshold is not None:
        return abs(probabilities[threshold.name] - threshold.above) <= TOLERANCE
    gap = abs(probabilities[label] - probabilities[offline["label"]])
    return gap <= 2 * TOLERANCE
