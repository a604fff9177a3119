"""The check for train/serve skew: whether served predictions equal the offline ones.

The offline predictions are those behind the leaderboard. The server reads the same SavedModel, so
differences come from the input path (decoding, column order, vocabulary) or from a wrong model.
"""

import base64
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from trellis_contracts.challenger import LARGEST, Edges
from trellis_contracts.decision import NamedThreshold
from trellis_contracts.withheld import quoted

TOLERANCE = 1e-4
"""Absolute for probabilities; for a value or risk relative to max(1, |value|); of a mask a share of
its pixels, at least one.
"""

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
    key: str, offline: Mapping[str, Any], served: Any, edges: Edges = LARGEST
) -> list[Difference]:
    """Every field of a prediction with its difference, within the tolerance or not.

    A prediction is {"label", "probabilities": {class: number}}, {"value"}, {"risk", "survival":
    {horizon: number}}, or {"mask", "shares": {class: number}}; of a multi-label task it has
    "labels". edges: what the model decides by.
    Labels may differ if the offline probability is within the tolerance of the threshold, or,
    without one, if their two tie within twice the tolerance; a class may be in one of two "labels"
    or sets alone, and an example be abstained of once, if the offline probability is within the
    tolerance of what decides it. Extra fields in the served prediction count as differences: the
    contract is exact.
    """
    if not isinstance(served, dict) or served.keys() != offline.keys():
        return [Difference(key, "the prediction", offline, served, math.inf)]
    if "mask" in offline:
        return list(_masks(key, offline, served))
    if "probabilities" not in offline:
        return list(_numbers(key, offline, served))
    differences = list(_by_name(key, "probabilities", offline, served))
    if differences[0].field == "probabilities":  # those of other classes
        return differences
    if "labels" in offline:
        if not _same_labels(offline, served["labels"]):
            field = "labels"
            differences.append(Difference(key, field, offline[field], served[field], math.inf))
        return differences
    same = {
        "label": _same_label(offline, served["label"], edges.threshold),
        "abstained": _same_abstention(offline, served.get("abstained"), edges),
        "set": _same_set(offline, served.get("set"), edges),
    }
    differing = [field for field, agrees in same.items() if not agrees]
    return differences + [
        Difference(key, field, offline[field], served[field], math.inf) for field in differing
    ]


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


def _by_name(
    key: str,
    field: str,
    offline: Mapping[str, Any],
    served: Mapping[str, Any],
    scale: float = 1.0,
) -> Iterator[Difference]:
    """Numbers by the name of a class or a horizon."""
    expected, found = offline[field], served[field]
    if not isinstance(found, dict) or found.keys() != expected.keys():
        yield Difference(key, field, expected, found, math.inf)
        return
    for name in expected:
        yield _number(key, f"{field}.{name}", expected[name], found[name], scale)


def _numbers(
    key: str, offline: Mapping[str, Any], served: Mapping[str, Any]
) -> Iterator[Difference]:
    """A number, such as a regression's value or a risk, the ends of its interval, and what it has
    by name.
    """
    (answer,) = (field for field, part in offline.items() if not isinstance(part, list | dict))
    scale = max(1.0, abs(offline[answer]))
    yield _number(key, answer, offline[answer], served[answer], scale)
    for field, expected in offline.items():
        if isinstance(expected, dict):
            yield from _by_name(key, field, offline, served)
        elif isinstance(expected, list):
            yield from _interval(key, expected, served[field], scale)


def _interval(
    key: str, expected: Sequence[float], found: Any, scale: float
) -> Iterator[Difference]:
    if not isinstance(found, list) or len(found) != len(expected):
        yield Difference(key, "interval", expected, found, math.inf)
        return
    for end, one, other in zip(("low", "high"), expected, found, strict=True):
        yield _number(key, f"interval.{end}", one, other, scale)


def _masks(key: str, offline: Mapping[str, Any], served: Mapping[str, Any]) -> Iterator[Difference]:
    """The pixels and the shares. Where two classes tie in a pixel, rounding decides: one pixel may
    differ in masks that are smaller than a pixel's share in TOLERANCE.
    """
    expected, found = (_mask(answer["mask"]) for answer in (offline, served))
    if expected is None or found is None or expected.shape != found.shape:
        one, other = (None if mask is None else mask.shape for mask in (expected, found))
        yield Difference(key, "the mask's shape", one, other, math.inf)
        return
    scale = max(1.0, 1 / (TOLERANCE * expected.size))
    differing = float(np.mean(expected != found))
    field = "share of the mask's pixels with another class"
    yield Difference(key, field, 0.0, differing, differing / scale)
    yield from _by_name(key, "shares", offline, served, scale)


def _mask(answer: Any) -> np.ndarray | None:
    """The indices of classes (height, width); None if it is no file of them."""
    try:
        with Image.open(io.BytesIO(base64.b64decode(answer["b64"])), formats=["PNG"]) as picture:
            return np.asarray(picture) if picture.mode == "L" else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _same_abstention(offline: Mapping[str, Any], abstained: Any, edges: Edges) -> bool:
    if abstained is offline.get("abstained"):
        return True
    if not isinstance(abstained, bool) or edges.abstain_below is None:
        return False
    shares, threshold = offline["probabilities"], edges.threshold
    certainty = abs(shares[threshold.name] - threshold.above) if threshold else max(shares.values())
    return abs(certainty - edges.abstain_below) <= TOLERANCE


def _same_set(offline: Mapping[str, Any], found: Any, edges: Edges) -> bool:
    expected = offline.get("set")
    if found == expected:
        return True
    if not isinstance(found, list) or edges.set_above is None:
        return False
    shares = offline["probabilities"]
    limits = (edges.set_above, max(shares.values()))
    return all(
        name in shares and any(abs(shares[name] - limit) <= 2 * TOLERANCE for limit in limits)
        for name in {*map(str, found)} ^ set(expected or ())
    )


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
