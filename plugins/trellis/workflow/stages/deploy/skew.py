"""Whether what is served says what was predicted offline: the check for train/serve skew.

The offline predictions are those that the leaderboard was made from. The server reads the same
SavedModel, so what differs is the way to it: decoding, column order, vocabulary, the wrong model.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

TOLERANCE = 1e-4
"""Absolute for probabilities; for a regression's value relative to max(1, |value|)."""

MISS_PROBABILITY = 1e-9
"""Of a smoke test that fails though all is well, as the challenger was never the one to answer."""


@dataclass(frozen=True)
class Difference:
    """One field of one example. size: how far apart, infinite where no number says it."""

    key: str
    field: str
    offline: Any
    served: Any
    size: float

    def __str__(self) -> str:
        return f"example {self.key}: {self.field} is {self.served!r}, offline {self.offline!r}"


def compare(key: str, offline: dict[str, Any], served: Any) -> list[Difference]:
    """Every field of a prediction with how far it is off, within the tolerance or not.

    A prediction is {"label", "probabilities": {class: number}} or {"value"}. Labels may differ
    where their offline probabilities tie within what both may be off. What is served beside these
    fields counts as a difference too: the contract is exact.
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
    if not _same_label(offline, served["label"]):
        label = Difference(key, "label", offline["label"], served["label"], math.inf)
        differences.append(label)
    return differences


def largest(differences: Iterable[Difference]) -> Difference | None:
    return max(differences, key=lambda difference: difference.size, default=None)


def skew(differences: list[Difference]) -> str | None:
    """What is wrong, for a person; None if everything agrees within the tolerance."""
    wrong = [difference for difference in differences if difference.size > TOLERANCE]
    if not wrong:
        return None
    # A field that is a number says more than a label that follows from it.
    worst = largest([d for d in wrong if math.isfinite(d.size)] or wrong)
    off = f" ({worst.size:.2g} apart, {TOLERANCE:g} is allowed)" if worst.size < math.inf else ""
    examples = len({difference.key for difference in differences})
    affected = len({difference.key for difference in wrong})
    return (
        f"Train/serve skew: the endpoint does not answer what the same model predicted offline, "
        f"for {affected} of {examples} examples. The worst, {worst}{off}. Requests reach the model "
        "in another way than test examples did (decoding, columns, vocabulary), or another model "
        "is served."
    )


def tries(share: int, examples: int) -> int:
    """Requests for one example until it is all but certain that the challenger got one of them.

    share: percent of the requests that it gets, above 0. With so many, all `examples` together miss
    it with a probability below MISS_PROBABILITY.
    """
    if share >= 100:
        return 1
    return math.ceil(math.log(MISS_PROBABILITY / examples) / math.log1p(-share / 100))


def _number(key: str, field: str, offline: float, served: Any, scale: float = 1.0) -> Difference:
    number = isinstance(served, int | float) and not isinstance(served, bool)
    size = abs(served - offline) / scale if number else math.inf
    # NaN is further off than any number.
    return Difference(key, field, offline, served, math.inf if math.isnan(size) else size)


def _same_label(offline: dict[str, Any], label: Any) -> bool:
    if label == offline["label"]:
        return True
    probabilities = offline["probabilities"]
    if label not in probabilities:
        return False
    gap = abs(probabilities[label] - probabilities[offline["label"]])
    return gap <= 2 * TOLERANCE
