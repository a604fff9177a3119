"""The tasks: what an example's label is, and how many classes a dataset for a task has."""

import re
from dataclasses import dataclass

BINARY = "binary_classification"
MULTICLASS = "multiclass_classification"
MULTILABEL = "multilabel_classification"
REGRESSION = "regression"
SURVIVAL = "time_to_event"

MULTILABEL_MAX_CLASSES = 63
"""Classes of a multi-label task: a set of them is one int64, of which one bit is the sign."""

SEPARATOR = "|"
"""Between the names of the classes in a table's label of a multi-label task."""

_DIGITS = re.compile(r"([0-9]+)")


@dataclass(frozen=True)
class Task:
    """min_classes, max_classes: of a dataset for this task, 0 where the label is a number; None: no
    limit.
    """

    description: str
    min_classes: int
    max_classes: int | None


# In all classifications a model predicts one probability per class, so that all that comes after
# training (serving, comparison) knows one form of prediction.
TASKS = {
    MULTICLASS: Task("one of several classes", 2, None),
    BINARY: Task("one of two classes", 2, 2),
    MULTILABEL: Task("any number of several classes", 2, MULTILABEL_MAX_CLASSES),
    REGRESSION: Task("a number", 0, 0),
    SURVIVAL: Task("the time to an event, which may not have happened yet", 0, 0),
}

ALL = tuple(TASKS)
NUMBERS = (REGRESSION, SURVIVAL)
"""Tasks whose label is a number, and no class."""

ONE_CLASS = (MULTICLASS, BINARY)
"""Tasks in which each example has one class."""


def classes_in(label: str, task: str | None) -> list[str]:
    """The names of the classes in a label's text: of a multi-label task those between separators,
    each once, in their order. task: None for images of one class each.
    """
    if task != MULTILABEL:
        return [label]
    return list(dict.fromkeys(filter(None, map(str.strip, label.split(SEPARATOR)))))


def natural_order(name: str) -> tuple[list[int | str], str]:
    """Sort key that compares runs of digits as numbers: "9" before "10", "a2" before "a10"."""
    parts = _DIGITS.split(name)
    # Text and numbers alternate in `parts`, so positions never compare a string with a number.
    numbers: list[int | str] = [int(part) if i % 2 else part for i, part in enumerate(parts)]
    return (numbers, name)  # "1" and "01" have equal parts: the name decides
