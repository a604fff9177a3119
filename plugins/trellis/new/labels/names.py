"""Labels that are names of classes, or numbers: any column of few enough values."""

from trellis.new import signs
from trellis.new.described import Column, DataError, Rows
from trellis.new.labels.form import Found, named
from trellis.workflow.spec.problems import GUIDE
from trellis_contracts.tasks import BINARY, MULTICLASS, NUMBER_TYPES, REGRESSION

MOST_NUMBERS = 20
"""Whole numbers with more values than this are a quantity, not classes."""

_MOST_CLASSES = 1000


def find(rows: Rows, label: str | None, task: str | None) -> Found:
    """The label. label, task: what the author said. Raises DataError."""
    found = named(rows, label) if label else _label(rows)
    remark = f"the label has {found.distinct:,} values and is {found.type}"
    return Found(found, task or task_of(found, rows.rows), remark)


def usable(rows: Rows) -> list[Column]:
    """The columns that could be a label."""
    return [c for c in rows.columns if task_of(c, rows.rows) and _may_be_label(c, rows)]


def task_of(column: Column, rows: int) -> str | None:
    """The task that learns the column; None if none does."""
    values, many = column.distinct, rows >= 5 * column.distinct
    whole = column.type == "INT64" or column.whole
    if column.type == "BOOL" or ((column.type == "STRING" or whole) and values == 2):
        return BINARY if values == 2 else None
    if column.type == "STRING":
        classes = 2 < values <= _MOST_CLASSES and many
        return MULTICLASS if classes else None
    if whole and 2 < values <= MOST_NUMBERS and many:
        return MULTICLASS
    return REGRESSION if column.type in NUMBER_TYPES and values > 2 else None


def _label(rows: Rows) -> Column:
    """The column whose name says so, else the last one that can be a label."""
    pair = signs.time_and_event(rows.columns)
    found = usable(rows)
    called = [c for c in found if signs.is_label(c) and c not in (pair or ())]
    if not found:
        raise DataError(
            f"{rows.address} has no column that could be a label; name it with --label ({GUIDE})"
        )
    return called[0] if called else found[-1]


def _may_be_label(column: Column, rows: Rows) -> bool:
    """Return whether the column may be a label: nothing says that it is something else."""
    others = (signs.splits(column), signs.is_person(column), signs.is_fold(column))
    numbers = signs.is_row_number(column, rows) or signs.is_key(column, rows)
    taken = column.name == rows.partition or bool(column.addresses)
    return not taken and not any(others) and not numbers
