"""Signs of leakage in a snapshot, found before anything is trained: warned of, or refused.

Each feature is tried by itself: how well a lookup of its value in the train split, or its order,
predicts the labels of the other rows. Of a regression, numbers are also tried together, as a linear
sum. Nothing is known of columns that are no features, nor of what else several features predict
together.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from trellis.workflow.contracts.table import Feature, Table
from trellis.workflow.stages import linear_checks
from trellis_contracts.finding import Finding

MOST_CELLS = 5_000_000
"""Values that the checks look at: of more, a sample of the rows. Of 1,000 features that is 5,000
rows, which tell an area under the ROC curve within 0.02."""

_SUFFICIENT = 0.99
"""Share of the asked rows whose label a lookup of one value tells: more is too good to be true."""

_ORDERED = 0.995
"""Area under the ROC curve of one number, which is too good in the same way."""

_CORRELATED = 0.999
"""Limit of a regression: correlation of one number with the label, or of several together."""

_NEIGHBOURS = 0.8
"""Share of the rows with a rarer label than the most frequent one that an identifier's order tells:
rows that were numbered class by class. An identifier should tell nothing."""

_NEIGHBOURS_CORRELATED = 0.9
"""Limit of a regression: correlation of the label with that of the row before."""

_BY_CHANCE = 10
"""Rows that the most frequent label gets wrong, of a regression all rows: of fewer, an order may
predict the labels by chance."""

FEW_VALUES = 20
"""Up to so many values are a category; rows that share one of more values may belong together."""

_CONSTANT = 0.999
"""Share of the rows with one value above which a feature tells next to nothing."""

_MOVED = 1.0
"""Difference of the means of test and train, in standard deviations: a shift."""

_COPIED = 0.01
"""Share of the validation and test rows that equal a row of train in every feature."""

_LEAST = 40
"""Rows of the other splits below which nothing is said."""

_REFUSABLE = ("label", "group", "identifier", "copies")


def judge(row: Mapping[str, Any], table: Table) -> list[Finding]:
    """The signs. `row`: the result of checks.sql."""
    features = table.of_baselines()
    alone = row.get("features_alone") or ()
    common = _common(row["classes"])
    found = [
        finding
        for entry in alone
        for finding in _of_feature(features[entry["feature"]], entry, common)
    ]
    if together := row.get("together"):
        sufficient = {finding.feature for finding in found if finding.check in ("label", "group")}
        found += _together(together, table, sufficient)
    copies = row.get("copies") or {}
    held_out, copied = copies.get("held_out") or 0, copies.get("copied") or 0
    # Features with a few values each make equal rows likely.
    varied = any(entry["distinct_values"] > 5 * FEW_VALUES for entry in alone)
    if varied and held_out >= _LEAST and copied > _COPIED * held_out:
        text = (
            f"{copied:,} of the {held_out:,} rows of validation and test equal a row of train in "
            "every feature: remove copies in a query, or keep them together (split.by)"
        )
        found.append(Finding("copies", None, text))
    return found


def divided(findings: Sequence[Finding], choice: str) -> tuple[list[str], list[str]]:
    """Problems, and warnings. choice: the file's `data_checks`."""
    refused = [f for f in findings if choice == "refuse" and f.check in _REFUSABLE]
    return [f.text for f in refused], [f.text for f in findings if f not in refused]


def _of_feature(feature: Feature, entry: Mapping[str, Any], common: float) -> Iterator[Finding]:
    title, rows = f"feature '{feature.name}'", entry["examples"]
    values, held_out, known = entry["distinct_values"], entry["held_out"], entry["known"]
    identifies = _identifies(feature, entry)
    order = _predicted_by_order(entry, common) if identifies else None
    if held_out < _LEAST and not order:
        return
    if order:
        text = (
            f"{title} has {values:,} values in {rows:,} rows: it identifies rows, and its order "
            f"gives the label away ({order}): the rows were sorted or collected by it; leave it "
            "out of source.features"
        )
        yield Finding("label", feature.name, text)
    elif known >= held_out / 2 and 1 - entry["recognized"] / known <= (1 - _SUFFICIENT) * min(
        1, 10 * (1 - common)
    ):
        share = f"{entry['recognized'] / known:.1%}"
        if values > FEW_VALUES and rows >= 2 * values:
            text = (
                f"{title} has {values:,} values, each in {rows / values:.0f} rows or so, and the "
                f"value alone predicts the label of {share} of the validation and test rows: do "
                f"rows of one value belong together? Then write `split: {{by: {feature.name}}}`, "
                "or name the column that keeps them together"
            )
            yield Finding("group", feature.name, text)
        else:
            text = (
                f"{title} alone predicts the label of {share} of the validation and test rows: is "
                "it known before the label? If not, leave it out of source.features"
            )
            yield Finding("label", feature.name, text)
    elif entry["classes"] == 2 and (entry["auc"] or 0) >= _ORDERED:
        text = (
            f"{title} alone orders the classes with an AUC of {entry['auc']:.4f}: is it known "
            "before the label? If not, leave it out of source.features"
        )
        yield Finding("label", feature.name, text)
    elif abs(entry["correlation"] or 0) >= _CORRELATED:
        text = (
            f"{title} has a correlation of {entry['correlation']:.4f} with the label: is it known "
            "before the label? If not, leave it out of source.features"
        )
        yield Finding("label", feature.name, text)
    elif identifies:
        text = (
            f"{title} has {values:,} values in {rows:,} rows: it identifies rows, and says "
            "nothing about others; leave it out of source.features"
        )
        yield Finding("identifier", feature.name, text)
    if values > 1 and entry["most"] >= _CONSTANT * rows:
        text = f"{title} has one value in {entry['most']:,} of {rows:,} rows: it has no information"
        yield Finding("constant", feature.name, text)
    yield from _shift(feature, entry)


def _identifies(feature: Feature, entry: Mapping[str, Any]) -> bool:
    """Return whether each row has a value of its own: of text, and of whole numbers of any type."""
    values, rows = entry["distinct_values"], entry["examples"]
    if feature.type == "STRING":
        return bool(values >= 0.95 * rows)
    return bool(values == rows and feature.kind == "numeric" and entry["whole"])


def _predicted_by_order(entry: Mapping[str, Any], common: float) -> str | None:
    """Measure what the row before, in an identifier's order, says about the other splits; None if
    little.
    """
    held_out, correlation = entry["neighbours"] or 0, entry["neighbours_correlation"]
    if correlation is not None:
        if held_out >= _BY_CHANCE and correlation >= _NEIGHBOURS_CORRELATED:
            return f"in train, the label of the row before has a correlation of {correlation:.3f}"
        return None
    wrong = held_out - (entry["neighbours_equal"] or 0)
    by_chance = held_out * (1 - common) if common else 0
    if by_chance >= _BY_CHANCE and wrong <= (1 - _NEIGHBOURS) * by_chance:
        return f"in train, the row before has that of {1 - wrong / held_out:.1%} of the others"
    return None


def _together(
    together: Mapping[str, Any], table: Table, sufficient: Collection[str | None]
) -> Iterator[Finding]:
    """Find numbers that together give a regression's label. sufficient: those that do so alone."""
    if together["examples"] < _LEAST:
        return
    numbers = linear_checks.numbers(table)
    known = [n for n, feature in enumerate(numbers) if feature.name in sufficient]
    several, correlation = linear_checks.sufficient(together, known, _CORRELATED)
    if several:
        names = ", ".join(f"'{numbers[n].name}'" for n in several)
        text = (
            f"features {names} predict the label together: a linear sum of them has a correlation "
            f"of {correlation:.4f} with it in the train split; are they known before the label? "
            "If not, leave them out of source.features"
        )
        yield Finding("label", None, text)


def _shift(feature: Feature, entry: Mapping[str, Any]) -> Iterator[Finding]:
    train, test, spread = (entry[n] for n in ("train_mean", "test_mean", "train_stddev"))
    if train is None or test is None or not spread:
        return
    distance = (test - train) / spread
    if abs(distance) >= _MOVED:
        text = (
            f"feature '{feature.name}' is {abs(distance):.1f} standard deviations "
            f"{'higher' if distance > 0 else 'lower'} in the test split than in train, on average"
        )
        yield Finding("shift", feature.name, text)


def _common(classes: Sequence[Mapping[str, Any]]) -> float:
    """Share of the most frequent label: the accuracy of always answering it."""
    counts: dict[Any, int] = {}
    for entry in classes:
        counts[entry["label"]] = counts.get(entry["label"], 0) + entry["examples"]
    return (
        max(counts.values(), default=0) / max(sum(counts.values()), 1) if len(counts) > 1 else 0.0
    )
