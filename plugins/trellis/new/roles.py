"""Proposes the label, the key, a group, the features and the task, from names and counts alone."""

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trellis.new import labels, manifests, signs
from trellis.new.described import Column, DataError, Rows, listed
from trellis.new.labels.names import MOST_NUMBERS, task_of
from trellis.workflow.contracts import table
from trellis.workflow.spec.problems import GUIDE
from trellis_contracts.tasks import (
    MULTILABEL,
    NAMED,
    NUMBER_TYPES,
    NUMBERS,
    TASKS,
    classes_in,
)

_LEAST_GROUPS = 30
"""With fewer, a split by groups leaves validation and test too few of them."""

_TEXT = "text that hardly repeats"
_LEAST_WORDS = 3
"""With fewer on average, a text is a name."""
_FEATURE_TYPES = tuple(table.KINDS)


@dataclass(frozen=True)
class Roles:
    """Purposes of the columns.

    key: None where no column identifies a row. features: None for all that are left. left_out:
    columns that are no features, with the reason. texts: those of them whose words may tell
    something. free_texts: features whose words do, as there are no others. codes: whole numbers
    that may be codes of categories. moments: features that could split by time. repeating: features
    whose rows of one value may belong together, where no column is the group. images: features
    whose values are addresses of images. guessed: the label was not named. remark: why it has this
    task. event: of a time to an event, whose time is the label. splits: the column that names each
    row's split, and by split its values. warnings: what the author must know of the columns.
    occurred: the event's value, as `labels.form.Found` has it.
    """

    label: Column
    task: str
    guessed: bool
    remark: str
    key: str | None
    group: str | None
    features: tuple[str, ...] | None
    left_out: tuple[tuple[str, str], ...]
    texts: tuple[str, ...]
    codes: tuple[str, ...]
    moments: tuple[str, ...]
    repeating: tuple[Column, ...]
    sequences: bool
    images: tuple[str, ...] = ()
    splits: tuple[str, Mapping[str, list[str]]] | None = None
    warnings: tuple[str, ...] = field(default=())
    event: Column | None = None
    occurred: str | None = None
    free_texts: tuple[str, ...] = ()

    @property
    def classification(self) -> bool:
        return self.task in NAMED

    @property
    def cast(self) -> bool:
        """True if classes are stored as 0.0 and 1.0, and must become whole numbers."""
        return self.classification and self.label.type == "FLOAT64"


def propose(rows: Rows, label: str | None = None, task: str | None = None) -> Roles:
    """The roles of a table's columns. label, task: what the author said. Raises DataError."""
    recognised = labels.find(rows, label, task)
    found, chosen, event = recognised.label, recognised.task, recognised.event
    if chosen is None:
        raise DataError(
            f"{found.name} is {found.type} with {found.distinct:,} values in {rows.rows:,} rows, "
            f"which no task learns: name another column with --label ({GUIDE})"
        )
    _check_task(found, chosen)
    others = [c for c in rows.columns if c not in (found, event) and c.name != rows.partition]
    key = key_of(others, rows)
    column = next((c for c in others if len(signs.splits(c) or ()) == 3), None)
    splits = None if column is None else (column.name, signs.splits(column) or {})
    rest = [c for c in others if c.name != key and c is not column]
    group = None if splits else next((c.name for c in rest if _is_group(c, rows)), None)
    rest = [c for c in rest if c.name != group]
    left_out = [(c.name, why) for c in rest if (why := _no_feature(c, rows))]
    warnings = [*recognised.warnings]
    left_out += [(n, why) for n, why in recognised.left_out if n not in dict(left_out)]
    if key is not None and signs.is_row_number(rows.column(key) or found, rows):
        warnings.append(f"{key} numbers the rows: it is the key, and no feature")
    private = [c.name for c in rows.columns if signs.is_private(c)]
    if private:
        warnings.append(
            f"may identify a person: {', '.join(private)}; leave such columns out of what you "
            "upload unless you may store them"
        )
    coded = [f"{c.name} ({c.nines[0]} in {c.nines[1]:,} rows)" for c in rows.columns if c.nines]
    if coded:
        warnings.append(
            f"numbers far from all others: {listed(coded)}; if they stand for missing values, add "
            "--missing NUMBER"
        )
    infinite = [f"{c.name} ({c.infinite:,} rows)" for c in rows.columns if c.infinite]
    if infinite:
        warnings.append(
            f"infinite, or beyond float32: {listed(infinite)}; a run refuses such numbers: make "
            "them missing, or leave the column out of `features`"
        )
    if TASKS[chosen].of_pixels:
        picture = next((c for c in rest if c.addresses), None)
        why = "a mask is predicted from one image alone"
        left_out = [(c.name, why) for c in rest if c is not picture]
    names = {name for name, _ in left_out}
    features = [c for c in rest if c.name not in names]
    repeating = () if group or splits else tuple(c for c in features if signs.may_group(c, rows))
    if len(features) > table.MOST_FEATURES:
        warnings.append(
            f"{len(features):,} columns would be features, and a run takes {table.MOST_FEATURES:,}"
            " at most: name those that matter in `features`"
        )
    # A text is a feature where nothing else is.
    texts = set() if features else {name for name, why in left_out if why == _TEXT}
    free = tuple(c.name for c in rest if c.name in texts and c.words >= _LEAST_WORDS)
    features += [c for c in rest if c.name in free]
    left_out = [(name, why) for name, why in left_out if name not in free]
    if not features:
        reasons = listed([f"{name}: {why}" for name, why in left_out]) or "there is no other one"
        raise DataError(f"{rows.address} has no column that could be a feature ({reasons})")
    return Roles(
        found,
        chosen,
        label is None,
        recognised.remark,
        key,
        group,
        tuple(c.name for c in features) if left_out else None,
        tuple(left_out),
        tuple(name for name, why in left_out if why == _TEXT),
        tuple(c.name for c in features if c.type == "INT64" and 2 < c.distinct <= MOST_NUMBERS),
        tuple(c.name for c in features if c.type in table.PARTITION_TYPES),
        repeating,
        any(c.type.startswith("ARRAY") for c in features),
        tuple(c.name for c in features if c.addresses),
        splits,
        tuple(warnings),
        event,
        recognised.occurred,
        free,
    )


def with_sets(
    roles: Roles, counts: Mapping[str, int], task: str | None
) -> tuple[Roles, dict[str, int]]:
    """The roles and the rows by class, where the label's values may be sets of classes.

    counts: rows by the label's value. task: what the author said; None: a value with | between two
    names is a set.
    """
    several = roles.classification and any(re.search(r"[^|]\|[^|]", value) for value in counts)
    if task != MULTILABEL and (task is not None or not several):
        return roles, dict(counts)
    rows: Counter[str] = Counter()
    for value, count in counts.items():
        for name in set(classes_in(value, MULTILABEL)):
            rows[name] += count
    rarest_first = sorted(rows.items(), key=lambda item: (item[1], item[0]))
    return dataclasses.replace(roles, task=MULTILABEL), dict(rarest_first)


def task_of_labels(labels: Mapping[str, int], task: str | None = None) -> str:
    """The task that learns the labels of images. labels: images by label. task: what the author
    said. Raises DataError.
    """
    words = [label for label in labels if not manifests.is_number(label)]
    if words and task == "regression":
        raise DataError(f"a regression learns numbers, and '{words[0]}' is a label (--task)")
    if task is not None:
        return task
    if not words:
        whole = all(re.fullmatch(r"[+-]?\d+", label) for label in labels)
        column = Column("label", "INT64" if whole else "FLOAT64", 0, len(labels))
        if task_of(column, sum(labels.values())) == "regression":
            return "regression"
    return "binary_classification" if len(labels) == 2 else "multiclass_classification"


def _check_task(label: Column, task: str) -> None:
    """Raises DataError for a label that the task cannot learn."""
    is_, option = f"{label.name} is {label.type}", f"(--task {task})"
    if task == MULTILABEL and label.type != "STRING":
        raise DataError(
            f"{is_}: the label of {MULTILABEL} is STRING, the names of a "
            "row's classes with | between them"
        )
    if task in NUMBERS and label.type not in NUMBER_TYPES:
        raise DataError(f"{is_}: a {task} learns numbers {option}")
    one_class = task not in (*NUMBERS, MULTILABEL)
    if one_class and label.type not in ("STRING", "INT64", "BOOL") and not label.whole:
        raise DataError(
            f"{is_} with {label.distinct:,} values: a class is text, a whole number or a BOOL "
            f"{option}; make classes of the values in a query, or learn the number with --task "
            "regression"
        )
    if task == "binary_classification" and label.distinct != 2:
        raise DataError(
            f"{label.name} has {label.distinct:,} values, and {task} has two classes: "
            "--task multiclass_classification"
        )


def key_of(others: Sequence[Column], rows: Rows) -> str | None:
    """The column that identifies rows: one that is called so, else a text, else a row's number."""
    found = [c for c in others if signs.is_key(c, rows) and not c.addresses]
    found.sort(key=lambda c: (signs.is_private(c), not signs.has_name_of_key(c)))
    numbers = [c for c in others if signs.is_row_number(c, rows) and c.type == "INT64"]
    unique = [c for c in numbers if c.distinct == rows.rows and not c.nulls]
    return next((c.name for c in [*found, *unique]), None)


def _is_group(column: Column, rows: Rows) -> bool:
    # Two rows of one person are enough; other names may be those of categories.
    most = rows.rows - 1 if signs.is_person(column) else 0.8 * rows.rows
    named = signs.is_person(column) or signs.is_group(column)
    return named and _LEAST_GROUPS <= column.distinct <= most and not column.nulls


def _no_feature(column: Column, rows: Rows) -> str | None:
    """Return why a column is no feature; None if it is one."""
    if column.type == "TIME":
        return "a time of day; in a query, TIME_DIFF(column, '00:00:00', MINUTE) makes it a number"
    if column.type not in _FEATURE_TYPES:
        return f"{column.type}, which no model reads"
    return None if column.type.startswith("ARRAY") else _uninformative(column, rows)


def _uninformative(column: Column, rows: Rows) -> str | None:
    if column.addresses:
        return None
    if column.distinct <= 1:
        return "one value in all rows" if column.distinct else "no value in any row"
    if signs.is_person(column):
        return f"names persons or the like, {column.distinct:,} of them"
    if signs.is_private(column):
        return "identifies a person"
    if signs.splits(column) or signs.is_fold(column):
        return "says which part of the data a row is in: see `split: {column: ...}`"
    if signs.is_row_number(column, rows):
        return "it numbers the rows"
    filled = rows.rows - column.nulls
    if column.type == "STRING" and column.distinct > max(20, filled / 2):
        return (
            "an identifier"
            if column.distinct == rows.rows and signs.has_name_of_key(column)
            else _TEXT
        )
    if signs.is_key(column, rows):
        return "an identifier"
    return None
