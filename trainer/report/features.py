"""The features of a table, with their statistics and importances."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.comparison.baselines import importances
from trainer.comparison.run_folder import Contender
from trainer.report.moments import day
from trainer.report.numbers import figure
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
    Feature,
    Statistics,
    TermStatistics,
)

_SHOWN = 40
_MORE = 200
_TERMS = 4
_IMPORTANCES = 15


@dataclass(frozen=True)
class Box:
    """A box plot that reaches from the 5% quantile to that of 95%: places of the 25%, 50% and 75%
    quantiles on it, from 0 to 1.
    """

    left: float
    middle: float
    right: float


@dataclass(frozen=True)
class FeatureRow:
    """One feature of the train split in words. missing: share of the rows."""

    name: str
    kind: str
    missing: float
    summary: str
    detail: str
    box: Box | None


@dataclass(frozen=True)
class FeatureSection:
    """The first features, those in a collapsed part, and the number of those left out."""

    kinds: Sequence[tuple[str, int]]
    label: FeatureRow | None
    rows: Sequence[FeatureRow]
    more: Sequence[FeatureRow]
    left_out: int


@dataclass(frozen=True)
class Importance:
    """Feature importances of a contender. rows: (feature, weight, share of the largest)."""

    name: str
    what: str
    rows: Sequence[tuple[str, float, float]]
    left_out: int


def feature_section(dataset: DatasetDescription) -> FeatureSection | None:
    """Lay out a dataset's features; None for images alone, of which there are no statistics."""
    if dataset.inputs == {IMAGE}:
        return None
    kinds = [feature.kind for feature in dataset.features]
    rows = [_row(feature) for feature in dataset.features[: _SHOWN + _MORE]]
    label = dataset.label
    return FeatureSection(
        kinds=[(kind, kinds.count(kind)) for kind in dict.fromkeys(kinds)],
        label=_numbers(label.column or label.name, "label", label.statistics)
        if label.statistics
        else None,
        rows=rows[:_SHOWN],
        more=rows[_SHOWN:],
        left_out=max(0, len(dataset.features) - _SHOWN - _MORE),
    )


def _row(feature: Feature) -> FeatureRow:
    if feature.kind == CATEGORICAL:
        return _terms(feature, feature.term_statistics)
    if feature.kind == IMAGE:
        size = " x ".join(map(str, feature.image_shape))
        bits = 8 if feature.scale is None else 16
        return FeatureRow(feature.name, IMAGE, 0.0, f"{size}, {bits} bits", "", None)
    return _numbers(feature.name, feature.kind, feature.number_statistics)


def _numbers(name: str, kind: str, found: Statistics) -> FeatureRow:
    missing = found.missing / (found.count + found.missing)
    if kind == BOOLEAN:
        return FeatureRow(name, kind, missing, f"{found.mean:.1%} true", "", None)
    if kind == TIMESTAMP:
        summary, detail = f"{day(found.min)} to {day(found.max)}", ""
    else:
        summary = f"{figure(found.mean)} ± {found.stddev:.3g}"
        detail = f"{figure(found.min)} to {figure(found.max)}"
    if kind == TEXT:
        summary += " characters"
    if kind == SEQUENCE:
        lengths = f"{found.min_length:,} to {found.max_length:,} long"
        detail += f"; {lengths}, {found.mean_length:.4g} on average"
    return FeatureRow(name, kind, missing, summary, detail, _box(found.quantiles))


def _terms(feature: Feature, found: TermStatistics) -> FeatureRow:
    rows = found.count + found.missing
    named = [
        f"{term} {frequency / rows:.0%}"
        for term, frequency in zip(feature.terms[:_TERMS], found.frequencies[:_TERMS], strict=True)
    ]
    more = len(feature.terms) - len(named)
    if more:
        named.append(f"{more:,} more")
    count = len(feature.terms)
    detail = f"another term in {found.other:,} rows" if found.other else ""
    return FeatureRow(
        feature.name,
        feature.kind,
        found.missing / rows,
        f"{count:,} term{'s' * (count > 1)}: {', '.join(named)}",
        detail,
        None,
    )


def _box(quantiles: Sequence[float]) -> Box | None:
    """A box plot on an axis from 5% to 95%, so that outliers do not compress it."""
    low, left, middle, right, high = (quantiles[i] for i in (1, 5, 10, 15, 19))
    if not high > low:
        return None
    return Box(*(round((value - low) / (high - low), 3) for value in (left, middle, right)))


def importance_section(contenders: Sequence[Contender]) -> list[Importance]:
    """Feature importances of the contenders whose services report them."""
    found = []
    for contender in contenders:
        ranked = importances(contender.baseline) if contender.baseline else []
        if ranked:
            largest = abs(ranked[0].weight) or 1.0
            found.append(
                Importance(
                    name=contender.name,
                    what=ranked[0].what,
                    rows=[
                        (one.feature, float(one.weight), abs(one.weight) / largest)
                        for one in ranked[:_IMPORTANCES]
                    ],
                    left_out=max(0, len(ranked) - _IMPORTANCES),
                )
            )
    return found
