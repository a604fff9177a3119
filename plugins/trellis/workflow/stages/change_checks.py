"""How far the train split of a dataset is from that of an earlier one: findings beyond limits.

The distances are those that TensorFlow Data Validation calls drift
(https://www.tensorflow.org/tfx/data_validation/get_started): the L-infinity distance of categories,
the largest difference of one category's share; and the Jensen-Shannon divergence of numbers, here
in bits and over the deciles of both datasets. Two samples of one population differ too: a
difference counts only if 99.9% of pairs of samples of these sizes are closer, by the normal and
chi-squared approximations for independent rows.
"""

import bisect
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trellis.workflow.spec.changes import Changes

_ERRORS = 3.29
"""Standard errors beyond which a difference is no chance: of 0.1%, on both sides."""

_QUANTILE = 3.09
"""The same on one side."""

_NAMED = 5


@dataclass(frozen=True)
class Change:
    """One finding. check: a key of `changes`, or "columns". feature: None of the whole dataset."""

    check: str
    feature: str | None
    text: str


def judge(before: Mapping[str, Any], now: Mapping[str, Any], limits: Changes) -> list[Change]:
    """What has changed beyond the limits. before, now: the content of two dataset.json."""
    return [
        *_examples(before, now, limits.examples),
        *_classes(before, now, limits.classes),
        *_columns(before, now),
        *_values(before, now, limits),
    ]


def _examples(before: Mapping[str, Any], now: Mapping[str, Any], limit: float) -> Iterator[Change]:
    old, new = _rows(before), _rows(now)
    ratio = max(old, new) / max(min(old, new), 1)
    if ratio > limit:
        more = "more" if new > old else "fewer"
        text = f"{old:,} train examples then, {new:,} now: {ratio:.1f} times {more}"
        yield Change("examples", None, f"{text}, and the limit is {limit:g}")


def _classes(before: Mapping[str, Any], now: Mapping[str, Any], limit: float) -> Iterator[Change]:
    label = now["label"].get("column", now["label"]["name"])
    if before["task"] != now["task"]:
        old_task, new_task = (d["task"] or "classification" for d in (before, now))
        text = f"the task was {old_task}, and is {new_task}"
        yield Change("classes", label, text)
        return
    old, new = (dict(dataset["counts"]["train"]["classes"]) for dataset in (before, now))
    if come := [name for name in new if name not in old]:
        yield Change("classes", label, f"label '{label}' has new classes: {_listed(come)}")
    if gone := [name for name in old if name not in new]:
        yield Change("classes", label, f"label '{label}' no longer has: {_listed(gone)}")
    both = [(name, old[name], new[name]) for name in old if name in new]
    if moved := _moved(both, sum(old.values()), sum(new.values()), limit):
        yield Change("classes", label, f"label '{label}': the share of class {moved}")


def _columns(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Change]:
    old, new = _features(before), _features(now)
    for name, feature in new.items():
        if name not in old:
            yield Change("columns", name, f"feature '{name}' is new")
        elif old[name]["kind"] != feature["kind"]:
            text = f"feature '{name}' was {old[name]['kind']}, and is {feature['kind']}"
            yield Change("columns", name, text)
    for name in old:
        if name not in new:
            yield Change("columns", name, f"feature '{name}' is no longer there")


def _values(before: Mapping[str, Any], now: Mapping[str, Any], limits: Changes) -> Iterator[Change]:
    old, rows = _features(before), (_rows(before), _rows(now))
    for name, feature in _features(now).items():
        earlier = old.get(name)
        if earlier is None or earlier["kind"] != feature["kind"] or feature["kind"] == "image":
            continue
        one, two = earlier["statistics"], feature["statistics"]
        title = f"feature '{name}'"
        yield from _missing(name, title, one, two, limits.missing)
        if feature["kind"] == "categorical":
            yield from _categories(name, title, earlier, feature, limits.categories)
        elif feature["kind"] == "boolean":
            counts = [("true", one["count"] * one["mean"], two["count"] * two["mean"])]
            if text := _moved(counts, one["count"], two["count"], limits.categories):
                yield Change("categories", name, f"{title}: the share of {text}")
        elif feature["kind"] != "timestamp":  # that moves with the calendar
            yield from _numbers(name, title, (one, two), rows, limits)
    label = now["label"]
    if "statistics" in label and "statistics" in before["label"]:
        name = label.get("column", label["name"])
        both = before["label"]["statistics"], label["statistics"]
        yield from _numbers(name, f"label '{name}'", both, rows, limits)


def _missing(
    name: str, title: str, one: Mapping[str, Any], two: Mapping[str, Any], limit: float
) -> Iterator[Change]:
    missing = [("missing values", one["missing"], two["missing"])]
    all_ = (one["count"] + one["missing"], two["count"] + two["missing"])
    if text := _moved(missing, *all_, limit):
        yield Change("missing", name, f"{title}: the share of {text}")


def _categories(
    name: str, title: str, before: Mapping[str, Any], now: Mapping[str, Any], limit: float
) -> Iterator[Change]:
    one, two = before["statistics"], now["statistics"]
    old, new = (
        dict(zip(f["vocabulary"], f["statistics"]["frequencies"], strict=True))
        for f in (before, now)
    )
    counts = []
    for term in {**old, **new}:
        known = old.get(term), new.get(term)
        # A term that a full vocabulary left out is at most as frequent as the rarest that it kept.
        first = min(min(old.values()), known[1] or 0) if one["other"] else 0
        second = min(min(new.values()), known[0] or 0) if two["other"] else 0
        counts.append(
            (
                f"'{term}'",
                first if known[0] is None else known[0],
                second if known[1] is None else known[1],
            )
        )
    if text := _moved(counts, one["count"], two["count"], limit):
        yield Change("categories", name, f"{title}: the share of {text}")


def _moved(
    counts: Sequence[tuple[str, float, float]], old: float, new: float, limit: float
) -> str | None:
    """The category whose share has changed most, if by more than the limit and chance allow."""
    found, most = None, limit
    for name, first, second in counts:
        if not old or not new:
            continue
        p, q = first / old, second / new
        both = (first + second) / (old + new)
        chance = _ERRORS * math.sqrt(both * (1 - both) * (1 / old + 1 / new))
        if abs(p - q) > max(most, chance):
            most = abs(p - q)
            found = f"{name} was {p:.1%}, and is {q:.1%}; the limit is {limit * 100:g} points"
    return found


def _numbers(
    name: str,
    title: str,
    both: tuple[Mapping[str, Any], Mapping[str, Any]],
    rows: tuple[int, int],
    limits: Changes,
) -> Iterator[Change]:
    one, two = both
    # Values of one sequence are not independent, its row is.
    n, m = min(one["count"], rows[0]), min(two["count"], rows[1])
    difference, spread = two["mean"] - one["mean"], one["stddev"]
    chance = _ERRORS * math.sqrt(one["stddev"] ** 2 / n + two["stddev"] ** 2 / m)
    if not spread and not math.isclose(two["mean"], one["mean"], rel_tol=1e-6):
        text = f"{title} was {one['mean']:g} everywhere, and is {two['mean']:g} on average"
        yield Change("mean", name, text)
    elif spread and abs(difference) > max(limits.mean * spread, chance):
        text = (
            f"{title} has a mean of {two['mean']:g}, {abs(difference) / spread:.2f} standard "
            f"deviations {'above' if difference > 0 else 'below'} the {one['mean']:g} of before; "
            f"the limit is {limits.mean:g}"
        )
        yield Change("mean", name, text)
    divergence, bins = _divergence(one["quantiles"], two["quantiles"])
    chance = _chi_squared(max(bins - 1, 1)) * (1 / n + 1 / m) / (8 * math.log(2))
    if divergence > max(limits.numbers, chance):
        text = (
            f"{title} has another distribution than before: Jensen-Shannon divergence "
            f"{divergence:.2f} bits, and the limit is {limits.numbers:g}"
        )
        yield Change("numbers", name, text)


def _divergence(one: Sequence[float], two: Sequence[float]) -> tuple[float, int]:
    """Jensen-Shannon divergence in bits, from two lists of quantiles at equal steps; and the number
    of bins, whose edges are the deciles of both.
    """
    step = max(1, (len(one) - 1) // 10)
    edges = sorted({*one[step:-1:step], *two[step:-1:step]})
    p, q = (_shares(quantiles, edges) for quantiles in (one, two))
    total = 0.0
    for a, b in zip(p, q, strict=True):
        middle = (a + b) / 2
        total += sum(share / 2 * math.log2(share / middle) for share in (a, b) if share > 0)
    return max(total, 0.0), sum(a + b > 0 for a, b in zip(p, q, strict=True))


def _shares(quantiles: Sequence[float], edges: Sequence[float]) -> list[float]:
    """Shares of the bins between the edges, each with its upper edge: linear between quantiles."""
    last = len(quantiles) - 1
    upto = []
    for edge in edges:
        # The last quantile at or below the edge: equal ones are a jump, which is the edge's.
        at = bisect.bisect_right(quantiles, edge) - 1
        if at < 0:
            upto.append(0.0)
        elif at == last:
            upto.append(1.0)
        else:
            gap = quantiles[at + 1] - quantiles[at]
            upto.append((at + (edge - quantiles[at]) / gap) / last)
    return [high - low for low, high in itertools.pairwise([0.0, *upto, 1.0])]


def _chi_squared(freedom: int) -> float:
    """Its 99.9% quantile, by Wilson and Hilferty (PNAS 17, 1931)."""
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + _QUANTILE * math.sqrt(part)) ** 3)


def _features(dataset: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {feature["name"]: feature for feature in dataset["features"]}


def _rows(dataset: Mapping[str, Any]) -> int:
    return int(dataset["counts"]["train"]["examples"])


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown
