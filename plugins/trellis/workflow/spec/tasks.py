"""Tasks whose labels are not one class for each example; the trainer's schema has all tasks."""

MULTILABEL = "multilabel_classification"
REGRESSION = "regression"


def classes_in(label: str, task: str) -> list[str]:
    """The classes of a row: of a multi-label task those with | between them."""
    if task != MULTILABEL:
        return [label]
    return [name for part in label.split("|") if (name := part.strip())]
