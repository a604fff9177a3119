"""Which column is the label, the key, a group, a feature, and which task learns the label: proposed
from names and counts alone.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from trellis.new.described import Column, DataError, Rows
from trellis.workflow.contracts import table
from trellis.workflow.lookups import image_manifest
from trellis.workflow.spec.problems import did_you_mean
from trellis_contracts.tasks import MULTILABEL, classes_in

_LABEL = re.compile(
    r"(label|target|class|y|outcome|response|diagnosis|species|category|survived|malignant|churn)s?"
    r"|.*_(label|target|class|outcome)"
)
_KEY = re.compile(r"(.*_)?(id|uid|uuid|key|nr|number|index|name|code|accession)")
_GROUP = re.compile(
    r".*_id|(patient|subject|participant|person|user|customer|donor|animal|family|device|sensor"
    r"|station|site|slide|plate|batch|group)(_?(id|nr|number|name|code))?"
)
_LEAST_GROUPS = 30
"""With fewer, a split by groups leaves validation and test too few of them."""

_MOST_CLASSES = 1000
_MOST_NUMBERS = 20
"""Whole numbers with more values than this are a quantity, not classes."""

_TEXT = "text that hardly repeats"
_FEATURE_TYPES = tuple(table.KINDS)
_KEY_TYPES = ("STRING", "INT64")


@dataclass(frozen=True)
class Roles:
    """What the columns are for.

    key: None where no column identifies a row. features: None for all that are left. left_out:
    columns that are no features, with the reason. texts: those of them whose words may tell
    something. codes: whole numbers that may be codes of categories. moments: features that could
    split by time. guessed: the label was not named.
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

    @property
    def classification(self) -> bool:
        return self.task != "regression"


def propose(rows: Rows, label: str | None = None, task: str | None = None) -> Roles:
    """The roles of a table's columns. label, task: what the author said. Raises DataError."""
    found = _named(rows, label) if label else _label(rows)
    if task == MULTILABEL and found.type != "STRING":
        raise DataError(
            f"{found.name} is {found.type}: the label of {MULTILABEL} is STRING, the names of a "
            "row's classes with | between them"
        )
    chosen = task or task_of(found, rows.rows)
    if chosen is None:
        raise DataError(
            f"{found.name} is {found.type} with {found.distinct:,} values in {rows.rows:,} rows, "
            "which no task learns: name another column with --label"
        )
    others = [c for c in rows.columns if c is not found and c.name != rows.partition]
    key = next((c.name for c in sorted(others, key=_key_rank) if _is_key(c, rows)), None)
    group = next((c.name for c in others if c.name != key and _is_group(c, rows)), None)
    rest = [c for c in others if c.name not in (key, group)]
    left_out = tuple((c.name, why) for c in rest if (why := _no_feature(c, rows)))
    names = {name for name, _ in left_out}
    features = [c for c in rest if c.name not in names]
    if not features:
        raise DataError(f"{rows.address} has no column that could be a feature")
    return Roles(
        found,
        chosen,
        label is None,
        key,
        group,
        tuple(c.name for c in features) if left_out else None,
        left_out,
        tuple(name for name, why in left_out if why == _TEXT),
        tuple(c.name for c in features if c.type == "INT64" and 2 < c.distinct <= _MOST_NUMBERS),
        tuple(c.name for c in features if c.type in table.PARTITION_TYPES),
        any(c.type.startswith("ARRAY") for c in features),
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


def task_of(column: Column, rows: int) -> str | None:
    """The task that learns the column; None if none does."""
    values, many = column.distinct, rows >= 5 * column.distinct
    if column.type == "BOOL" or (column.type in _KEY_TYPES and values == 2):
        return "binary_classification" if values == 2 else None
    if column.type == "STRING":
        classes = 2 < values <= _MOST_CLASSES and many
        return "multiclass_classification" if classes else None
    if column.type == "INT64" and 2 < values <= _MOST_NUMBERS and many:
        return "multiclass_classification"
    numbers = ("INT64", "FLOAT64", "NUMERIC", "BIGNUMERIC")
    return "regression" if column.type in numbers and values > 2 else None


def task_of_labels(labels: Mapping[str, int], task: str | None = None) -> str:
    """The task that learns the labels of images. labels: images by label. task: what the author
    said. Raises DataError.
    """
    words = [label for label in labels if not image_manifest.is_number(label)]
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


def _named(rows: Rows, name: str) -> Column:
    column = rows.column(name)
    if column is None:
        known = [each.name for each in rows.columns]
        raise DataError(
            f"{rows.address} has no column '{name}' (--label); {did_you_mean(name, known)}"
        )
    return column


def _label(rows: Rows) -> Column:
    """The column whose name says so, else the last one that can be a label."""
    usable = [c for c in rows.columns if task_of(c, rows.rows) and c.name != rows.partition]
    named = [c for c in usable if _LABEL.fullmatch(c.name.lower())]
    if not usable:
        raise DataError(f"{rows.address} has no column that could be a label; name it with --label")
    return named[0] if named else usable[-1]


def _is_key(column: Column, rows: Rows) -> bool:
    unique = column.distinct == rows.rows and not column.nulls and column.type in _KEY_TYPES
    # Whole numbers may all differ by chance.
    return unique and (column.type == "STRING" or bool(_KEY.fullmatch(column.name.lower())))


def _key_rank(column: Column) -> bool:
    return not _KEY.fullmatch(column.name.lower())


def _is_group(column: Column, rows: Rows) -> bool:
    repeats = _LEAST_GROUPS <= column.distinct <= 0.8 * rows.rows
    named = _GROUP.fullmatch(column.name.lower())
    return column.type in _KEY_TYPES and repeats and not column.nulls and bool(named)


def _no_feature(column: Column, rows: Rows) -> str | None:
    """Why a column is no feature; None if it is one."""
    if column.type not in _FEATURE_TYPES:
        return f"{column.type}, which no model reads"
    if column.type.startswith("ARRAY"):
        return None
    if column.distinct <= 1:
        return "one value in all rows"
    filled = rows.rows - column.nulls
    if column.type == "STRING" and column.distinct > max(20, filled / 2):
        return _TEXT
    if _is_key(column, rows):
        return "an identifier"
    return None
