"""Proposes the label, the key, a group, the features and the task, from names and counts alone."""

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trellis.new import manifests, signs
from trellis.new.described import Column, DataError, Rows, listed
from trellis.new.masks import MASK_FOLDER
from trellis.workflow.contracts import table
from trellis.workflow.labels.time import TYPES
from trellis.workflow.spec.problems import GUIDE, did_you_mean
from trellis_contracts.tasks import (
    MULTILABEL,
    NAMED,
    NUMBERS,
    REGRESSION,
    SEGMENTATION,
    SURVIVAL,
    classes_in,
)

_LEAST_GROUPS = 30
"""With fewer, a split by groups leaves validation and test too few of them."""

_MOST_CLASSES = 1000
_MOST_NUMBERS = 20
"""Whole numbers with more values than this are a quantity, not classes."""

_TEXT = "text that hardly repeats"
_FEATURE_TYPES = tuple(table.KINDS)
_NUMBERS = ("INT64", "FLOAT64", "NUMERIC", "BIGNUMERIC")


@dataclass(frozen=True)
class Roles:
    """Purposes of the columns.

    key: None where no column identifies a row. features: None for all that are left. left_out:
    columns that are no features, with the reason. texts: those of them whose words may tell
    something. codes: whole numbers that may be codes of categories. moments: features that could
    split by time. images: features whose values are addresses of images. guessed: the label was not
    named. event: of a time to an event, whose time is the label. splits: the column that names each
    row's split, and by split its values. warnings: what the author must know of the columns.
    """

    label: Column
    task: str
    guessed: bool
    key: str | None
    group: str | None
    features: tuple[str, ...] | None
    left_out: tuple[tuple[str, str], ...]
    texts: tuple[str, ...]
    codes: tuple[str, ...]
    moments: tuple[str, ...]
    sequences: bool
    images: tuple[str, ...] = ()
    splits: tuple[str, Mapping[str, list[str]]] | None = None
    warnings: tuple[str, ...] = field(default=())
    event: Column | None = None

    @property
    def classification(self) -> bool:
        return self.task in NAMED

    @property
    def cast(self) -> bool:
        """True if classes are stored as 0.0 and 1.0, and must become whole numbers."""
        return self.classification and self.label.type == "FLOAT64"


def propose(rows: Rows, label: str | None = None, task: str | None = None) -> Roles:
    """The roles of a table's columns. label, task: what the author said. Raises DataError."""
    event: Column | None = None
    if task == SURVIVAL or (task is None and label is None and _is_survival(rows)):
        found, event = _time_and_event(rows, label)
        chosen: str | None = SURVIVAL
    elif mask := _mask(rows, label, task):
        found, chosen = mask, SEGMENTATION
    else:
        found = _named(rows, label) if label else _label(rows)
        chosen = task or task_of(found, rows.rows)
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
    warnings, partner = _censored(event) if event else _survival_of(rows, found)
    left_out += [(n, why) for n, why in partner if n not in dict(left_out)]
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
    if chosen == SEGMENTATION:
        picture = next((c for c in rest if c.addresses), None)
        why = "a mask is predicted from one image alone"
        left_out = [(c.name, why) for c in rest if c is not picture]
    names = {name for name, _ in left_out}
    features = [c for c in rest if c.name not in names]
    if not features:
        reasons = listed([f"{name}: {why}" for name, why in left_out]) or "there is no other one"
        raise DataError(f"{rows.address} has no column that could be a feature ({reasons})")
    return Roles(
        found,
        chosen,
        label is None,
        key,
        group,
        tuple(c.name for c in features) if left_out else None,
        tuple(left_out),
        tuple(name for name, why in left_out if why == _TEXT),
        tuple(c.name for c in features if c.type == "INT64" and 2 < c.distinct <= _MOST_NUMBERS),
        tuple(c.name for c in features if c.type in table.PARTITION_TYPES),
        any(c.type.startswith("ARRAY") for c in features),
        tuple(c.name for c in features if c.addresses),
        splits,
        tuple(warnings),
        event,
    )


def _mask(rows: Rows, label: str | None, task: str | None) -> Column | None:
    """The column of the masks' addresses; None if masks are not what is learned. Raises DataError
    for a segmentation without one.
    """
    if task not in (None, SEGMENTATION):
        return None
    addresses = [column for column in rows.columns if column.addresses]
    if label is not None:
        named = _named(rows, label)
        found = [named] if named in addresses and len(addresses) > 1 else []
    else:
        found = [column for column in addresses if MASK_FOLDER.fullmatch(column.name.lower())]
    if len(found) == 1 and len(addresses) > 1:
        return found[0]
    if task == SEGMENTATION:
        raise DataError(
            f"{rows.address} has no column of masks beside one of images: a {SEGMENTATION} learns "
            "from two columns of addresses, gs://BUCKET/OBJECT; name that of the masks with --label"
        )
    return None


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


def task_of(column: Column, rows: int) -> str | None:
    """The task that learns the column; None if none does."""
    values, many = column.distinct, rows >= 5 * column.distinct
    whole = column.type == "INT64" or column.whole
    if column.type == "BOOL" or ((column.type == "STRING" or whole) and values == 2):
        return "binary_classification" if values == 2 else None
    if column.type == "STRING":
        classes = 2 < values <= _MOST_CLASSES and many
        return "multiclass_classification" if classes else None
    if whole and 2 < values <= _MOST_NUMBERS and many:
        return "multiclass_classification"
    return REGRESSION if column.type in _NUMBERS and values > 2 else None


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
    if task in NUMBERS and label.type not in _NUMBERS:
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


def _named(rows: Rows, name: str) -> Column:
    column = rows.column(name)
    if column is None:
        known = [each.name for each in rows.columns]
        raise DataError(
            f"{rows.address} has no column '{name}' (--label); {did_you_mean(name, known)}"
        )
    return column


def _is_survival(rows: Rows) -> bool:
    """Return whether a time and an event are there, and no other column is called as a label is."""
    pair = signs.survival(rows.columns)
    usable = (c for c in rows.columns if task_of(c, rows.rows) and _may_be_label(c, rows))
    return pair is not None and not any(signs.is_label(c) and c not in pair for c in usable)


def _time_and_event(rows: Rows, label: str | None) -> tuple[Column, Column]:
    """The columns of a time to an event. label: the time's name; None: by their names. Raises
    DataError.
    """
    pair = signs.survival(rows.columns)
    events = [c for c in rows.columns if signs.is_event(c)]
    time = _named(rows, label) if label else (pair[0] if pair else None)
    event = next((c for c in events if c is not time), None)
    if time is None or event is None:
        what = "a time" if time is None else "an event"
        raise DataError(
            f"{rows.address} has no column that is called as {what} is: rename it in a query, as "
            f"in SELECT *, status = 'dead' AS died, or write the file by hand ({GUIDE})"
        )
    if event.type not in TYPES or event.distinct != 2:
        raise DataError(
            f"{rows.address}: {event.name} says how the time {time.name} ended, and is "
            f"{event.type} with {event.distinct} values; an event is BOOL, or 0 and 1: make it so "
            f"in a query, as in SELECT *, {event.name} = 'dead' AS died"
        )
    return time, event


def _censored(event: Column) -> tuple[list[str], list[tuple[str, str]]]:
    """Return a remark on an event whose name says the opposite; no column is left out."""
    if "censor" not in signs.words(event):
        return [], []
    remark = (
        f"{event.name} may say who was censored: 1 has to be the event. If it is not, write "
        f"1 - {event.name} in a query"
    )
    return [remark], []


def _label(rows: Rows) -> Column:
    """The column whose name says so, else the last one that can be a label."""
    pair = signs.survival(rows.columns)
    usable = [c for c in rows.columns if task_of(c, rows.rows) and _may_be_label(c, rows)]
    named = [c for c in usable if signs.is_label(c) and c not in (pair or ())]
    if not usable:
        raise DataError(
            f"{rows.address} has no column that could be a label; name it with --label ({GUIDE})"
        )
    return named[0] if named else usable[-1]


def _may_be_label(column: Column, rows: Rows) -> bool:
    """Return whether the column may be a label: nothing says that it is something else."""
    others = (signs.splits(column), signs.is_person(column), signs.is_fold(column))
    numbers = signs.is_row_number(column, rows) or signs.is_key(column, rows)
    taken = column.name == rows.partition or bool(column.addresses)
    return not taken and not any(others) and not numbers


def _survival_of(rows: Rows, label: Column) -> tuple[list[str], list[tuple[str, str]]]:
    """Return remarks on a label that is one half of a time and an event, and the other half, which
    is no feature: it is known as late as the label.
    """
    pair = signs.survival(rows.columns)
    if pair is None or label not in pair:
        return [], []
    (other,) = (c.name for c in pair if c is not label)
    remark = (
        f"{label.name} and {other} look like a time to an event, and censored rows are taken as "
        f"they stand: --task {SURVIVAL} learns both"
    )
    return [remark], [(other, f"known as late as {label.name}")]


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
