"""Describes the features of a table, vocabularies and statistics, from the summary of all rows.

Runs in one place; the summary is small, whatever the number of rows. Refuses features and labels
from which no model could learn.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from trainer.exporting import ExportError
from trainer.exporting.number_statistics import Numbers
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables import labels
from trainer.exporting.tables.columns import SnapshotColumns
from trainer.exporting.tables.findings import listed, values
from trainer.exporting.tables.summaries import Lengths, RangeSummary, Summary, Terms
from trainer.exporting.tables.survey import Survey
from trellis_contracts.columns import Columns, TableFeature
from trellis_contracts.dataset_features import (
    BOOLEAN,
    CATEGORICAL,
    IMAGE,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
    Feature,
    Label,
    Statistics,
    TermStatistics,
    Weight,
)
from trellis_contracts.withheld import quoted

_CONSTANT = "{} is {} wherever it is not NULL in the train split"

_VECTOR_OF = {NUMERIC: NUMERIC, BOOLEAN: NUMERIC, TIMESTAMP: TIMESTAMP, CATEGORICAL: CATEGORICAL}
_DTYPES = {CATEGORICAL: "int64", TIMESTAMP: "int64", TEXT: "string"}


@dataclass(frozen=True)
class TablePlan:
    """The content of dataset.json except the files' sizes, and the files to write."""

    columns: SnapshotColumns
    survey: Survey
    features: tuple[Feature, ...]
    label: Label
    weight: Weight | None
    warnings: tuple[str, ...]


def make_plan(
    settings: ExportSettings, columns: SnapshotColumns, surveyed: Survey, summary: RangeSummary
) -> TablePlan:
    """Describe the features.

    Raises ExportError for repeated keys, a feature without a value, a constant numeric label, or
    weights that are all 0.
    """
    summary.findings.refuse(settings.source)
    places = dict.fromkeys(_VECTOR_OF.values(), 0)
    features: list[Feature] = []
    empty: list[TableFeature] = []
    warnings = [finding.text for finding in columns.findings]
    for feature in columns.features:
        if feature.kind == IMAGE:
            features.append(feature.described())
            continue
        index = None
        if vector := _VECTOR_OF.get(feature.kind):
            index = places[vector]
            places[vector] += 1
        if feature.kind in (CATEGORICAL, SEQUENCE, TEXT):
            found = summary.train[f"{feature.kind}/{feature.column}"]
        else:
            found = summary.train[f"{vector}/{index}"]
        if _is_empty(found):
            empty.append(feature)
            continue
        features.append(_describe(feature, index, found, columns))
        warnings += _feature_warnings(feature, features[-1], surveyed, summary)
    if empty:
        raise ExportError(
            f"{len(empty)} of {len(columns.features)} features are always NULL in the train split: "
            f"{listed([feature.name for feature in empty])}; leave them out"
        )
    name = None if columns.of_manifest else columns.label
    label = labels.of(columns).described(features, summary.train, name)
    weight = _weight(columns, surveyed, summary)
    return TablePlan(columns, surveyed, tuple(features), label, weight, tuple(warnings))


def _weight(columns: Columns, surveyed: Survey, summary: RangeSummary) -> Weight | None:
    found = summary.train.get("weight")
    if columns.weight is None or not isinstance(found, Numbers):
        return None
    if not found.max:
        raise ExportError(
            f"the weight ({columns.weight}) is 0 in every row of the train split: there is nothing "
            "to learn from"
        )
    names = surveyed.classes if columns.has_names else ()
    of_class = {name: summary.weights.get(name, 0.0) for name in names}
    return Weight(columns.weight, found.statistics(), of_class)


def _is_empty(found: Summary) -> bool:
    if isinstance(found, Terms):
        return found.missing == found.rows
    numbers = found.elements if isinstance(found, Lengths) else found
    return not numbers.count


def _describe(
    feature: TableFeature, index: int | None, found: Summary, columns: Columns
) -> Feature:
    vocabulary = None
    statistics: Statistics | TermStatistics
    if isinstance(found, Terms):
        kept = found.most_frequent(columns.vocabulary)
        vocabulary = tuple(term for term, _ in kept)
        frequencies = tuple(count for _, count in kept)
        count = found.rows - found.missing
        statistics = TermStatistics(count, found.missing, count - sum(frequencies), frequencies)
    else:
        statistics = found.statistics()
    return Feature(
        name=feature.name,
        kind=feature.kind,
        dtype=_DTYPES.get(feature.kind, "float32"),
        shape=(None,) if feature.kind == SEQUENCE else (),
        column=feature.column,
        index=index,
        vocabulary=vocabulary,
        statistics=statistics,
    )


def _feature_warnings(
    feature: TableFeature, described: Feature, surveyed: Survey, summary: RangeSummary
) -> Iterable[str]:
    """Warnings about a feature that can be used."""
    if count := surveyed.nans.get(feature.column):
        what = "element" if feature.kind == SEQUENCE else "row"
        yield f"{feature.title} has NaN, which counts as NULL, in {count} {what}{'s' * (count > 1)}"
    statistics = described.statistics
    if isinstance(statistics, Statistics):
        # Texts of equal length may still differ.
        if statistics.min == statistics.max and feature.kind != TEXT:
            yield _CONSTANT.format(feature.title, quoted(f"{statistics.min:g}", "the same"))
        return
    train = summary.train[f"{CATEGORICAL}/{feature.column}"]
    if not isinstance(train, Terms):
        return
    if len(train.counts) == 1:
        yield _CONSTANT.format(feature.title, quoted(repr(described.terms[0]), "the same"))
    elsewhere = summary.elsewhere[f"{CATEGORICAL}/{feature.column}"]
    if train.forgotten:
        yield (
            f"{feature.title} has so many distinct terms that the rare ones were not counted: "
            f"its frequencies may be up to {train.forgotten} too low. Is it an identifier?"
        )
    elif new := sorted(set(elsewhere.counts) - set(train.counts)):
        rows = sum(elsewhere.counts[term] for term in new)
        yield (
            f"{feature.title} has terms in the validation and test split that the train split does "
            f"not have: {values(new)}; the model treats these {rows} rows as out of vocabulary"
        )
