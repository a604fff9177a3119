"""What all rows amount to: first who they are (survey), then what their features are (make_plan).

Each is decided in one place from what many workers report, and refuses what no model could be
trained on. Both are small, whatever the number of rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from trainer.dataset_description import (
    BOOLEAN,
    CATEGORICAL,
    NUMERIC,
    SEQUENCE,
    SPLITS,
    TIMESTAMP,
    Counts,
    Feature,
    Label,
    Statistics,
    TermStatistics,
)
from trainer.exporting import ExportError
from trainer.exporting.plan import natural_order
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables.columns import Columns, TableFeature
from trainer.exporting.tables.findings import Findings
from trainer.exporting.tables.layout import Layout, ShardWork, SortedFile, cut
from trainer.exporting.tables.parquet import Report, check_number_of_classes
from trainer.exporting.tables.summaries import RangeSummary, Terms
from trainer.exporting.warnings import absent_classes

_NAMES_SHOWN = 10

_CONSTANT = "{} is {} wherever it is not NULL in the train split"

_VECTOR_OF = {NUMERIC: NUMERIC, BOOLEAN: NUMERIC, TIMESTAMP: TIMESTAMP, CATEGORICAL: CATEGORICAL}
_DTYPES = {CATEGORICAL: "int64", TIMESTAMP: "int64"}


@dataclass(frozen=True)
class Survey:
    """Who the rows are. classes: () for regression. nans: values that were NaN, by column."""

    layout: Layout
    classes: tuple[str, ...]
    counts: dict[str, Counts]
    work: tuple[ShardWork, ...]
    nans: dict[str, int]


@dataclass(frozen=True)
class TablePlan:
    """All that dataset.json says but the files' sizes, and the files to write."""

    columns: Columns
    survey: Survey
    features: tuple[Feature, ...]
    label: Label
    warnings: tuple[str, ...]


def survey(settings: ExportSettings, columns: Columns, reports: Iterable[Report]) -> Survey:
    """Put together what was found in all rows.

    Raises ExportError if a row is unusable, a split is empty, or the classes are not ones to learn.
    """
    files: list[SortedFile] = []
    findings, nans, labels = Findings(), {}, {}
    for report in reports:
        files += report.files
        findings.merge(report.findings)
        for column, count in report.nans.items():
            nans[column] = nans.get(column, 0) + count
        for name, by_split in report.labels.items():
            labels[name] = labels.get(name, 0) + by_split
    findings.refuse(settings.source)
    layout = Layout(tuple(sorted(files, key=lambda file: file.name)))
    rows = {name: int(layout.rows(index).sum()) for index, name in enumerate(SPLITS)}
    for name in SPLITS:
        if not rows[name]:
            raise ExportError(
                f"the {name} split has no row ({rows}); the table is too small for its share of "
                f"{dict(columns.split_ranges)}: take more rows, or give that split a larger share"
            )
    classes = tuple(sorted(labels, key=natural_order))
    if not columns.is_regression:
        _check_classes(classes, labels, columns)
    counts = {
        name: Counts(rows[name], {c: int(labels[c][index]) for c in classes})
        for index, name in enumerate(SPLITS)
    }
    return Survey(layout, classes, counts, tuple(cut(rows, settings.shards)), nans)


def _check_classes(
    classes: tuple[str, ...], labels: dict[str, np.ndarray], columns: Columns
) -> None:
    title = f"the label ({columns.label})"
    check_number_of_classes(classes, columns)
    if len(classes) < 2:
        raise ExportError(
            f"{title} is {classes[0]!r} in every row; a classifier needs at least two classes"
        )
    if columns.task == "binary_classification" and len(classes) > 2:
        raise ExportError(
            f"{title} has {len(classes)} classes ({_shown(classes)}), but the task is "
            "binary_classification; choose multiclass_classification"
        )
    if absent := [name for name in classes if not labels[name][0]]:
        raise ExportError(
            f"no row of the train split has {len(absent)} of {len(classes)} classes of {title}: "
            f"{_shown(absent)}; add rows of them or leave theirs out"
        )


def make_plan(
    settings: ExportSettings, columns: Columns, surveyed: Survey, summary: RangeSummary
) -> TablePlan:
    """Describe the features. Raises ExportError for repeated keys and a feature without a value."""
    summary.findings.refuse(settings.source)
    places = dict.fromkeys(_VECTOR_OF.values(), 0)
    features, empty, warnings = [], [], []
    for feature in columns.features:
        index = None
        if vector := _VECTOR_OF.get(feature.kind):
            index = places[vector]
            places[vector] += 1
        if feature.kind in (CATEGORICAL, SEQUENCE):
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
            f"{len(empty)} of {len(columns.features)} features have no value in the train split, "
            f"only NULL: {_shown([feature.name for feature in empty])}; leave them out"
        )
    statistics = summary.train["label"].statistics() if columns.is_regression else None
    if statistics and statistics.min == statistics.max:
        raise ExportError(
            f"the label ({columns.label}) is {statistics.min} in every row of the train split; "
            "there is nothing to learn"
        )
    label = Label("label", "float32" if columns.is_regression else "int64", columns.label)
    if statistics:
        label = Label(label.name, label.dtype, label.column, statistics)
    warnings += absent_classes(surveyed.counts)
    return TablePlan(columns, surveyed, tuple(features), label, tuple(warnings))


def _is_empty(found) -> bool:
    if isinstance(found, Terms):
        return found.missing == found.rows
    return not getattr(found, "elements", found).count


def _describe(feature: TableFeature, index: int | None, found, columns: Columns) -> Feature:
    vocabulary = None
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
    """What a researcher should know of a feature that can be used."""
    if count := surveyed.nans.get(feature.column):
        what = "elements" if feature.kind == SEQUENCE else "rows, which counts as NULL"
        yield f"{feature.title} is NaN in {count} {what}"
    statistics = described.statistics
    if isinstance(statistics, Statistics):
        if statistics.min == statistics.max:
            yield _CONSTANT.format(feature.title, f"{statistics.min:g}")
        return
    train = summary.train[f"{CATEGORICAL}/{feature.column}"]
    if len(train.counts) == 1:
        yield _CONSTANT.format(feature.title, repr(described.vocabulary[0]))
    elsewhere = summary.elsewhere[f"{CATEGORICAL}/{feature.column}"]
    if train.forgotten:
        yield (
            f"{feature.title} has so many distinct terms that the rare ones were not counted: "
            f"its frequencies may be up to {train.forgotten} too low. Is it an identifier?"
        )
    elif new := sorted(set(elsewhere.counts) - set(train.counts)):
        rows = sum(elsewhere.counts[term] for term in new)
        yield (
            f"{feature.title} has {len(new)} terms that the train split does not have "
            f"({_shown(new)}) in {rows} rows of the validation and test split; they count as out "
            "of vocabulary"
        )


def _shown(names: Iterable[str]) -> str:
    names = list(names)
    more = f", and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(repr(name[:100]) for name in names[:_NAMES_SHOWN]) + more
