"""The tasks: what an example's label is, and how many classes a dataset for a task has."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

BINARY = "binary_classification"
MULTICLASS = "multiclass_classification"
MULTILABEL = "multilabel_classification"
REGRESSION = "regression"
SURVIVAL = "time_to_event"
SEGMENTATION = "segmentation"

MULTILABEL_MAX_CLASSES = 63
"""Classes of a multi-label task: a set of them is one int64, of which one bit is the sign."""

SEPARATOR = "|"
"""Between the names of the classes in a table's label of a multi-label task."""

_DIGITS = re.compile(r"([0-9]+)")


CLASS_TYPES = ("STRING", "INT64", "BOOL")
NUMBER_TYPES = ("INT64", "FLOAT64", "NUMERIC", "BIGNUMERIC")
"""BigQuery's types of columns that hold classes, or numbers."""


@dataclass(frozen=True)
class Task:
    """What is peculiar to a task, for those that know tasks by this entry alone.

    min_classes, max_classes: of a dataset for this task, 0 where the label is a number; None: no
    limit. types: BigQuery's, of the label's column. why: these, for messages. metric: to tune for,
    and bound: of a first gate, as `trellis new` proposes them. form: of the label, names, sets,
    number, time or mask: a module of trainer.exporting.tables.labels. label_keys: of
    columns.json, what the label has beside its column. rows: BigQuery's types of its columns beside
    `label` in the frozen rows. predictions: Arrow's types of columns of predictions.parquet beside
    `key`, and metadata: what the file has to say of them. loss: what `loss` is of it; "": it has
    none by which models compare. unfit: keys of an experiment file that do not go with it, and why.
    no_program: why no program in an image that is not ours learns it; "": one does.
    """

    description: str
    min_classes: int
    max_classes: int | None
    types: tuple[str, ...]
    why: str
    metric: str
    bound: float
    form: str = "names"
    label_keys: tuple[str, ...] = ()
    labels: str = "classes"
    outputs: str = "a logit for each class"
    answers: tuple[str, ...] = ("probabilities",)
    rows: Mapping[str, str] = field(default_factory=dict)
    predictions: Mapping[str, str] = field(
        default_factory=lambda: {"label": "int32", "probabilities": "list<float>"}
    )
    metadata: tuple[str, ...] = ("classes",)
    of_pixels: bool = False
    loss: str = ""
    unfit: Mapping[str, str] = field(default_factory=dict)
    no_program: str = ""


_OF_A_CLASS = CLASS_TYPES, "a class is text, a whole number or a BOOL"
_CROSS_ENTROPY = "mean cross-entropy of the predicted probabilities, in nats"


# In all classifications a model predicts one probability per class, so that all that comes after
# training (serving, comparison) knows one form of prediction.
TASKS = {
    MULTICLASS: Task(
        "one of several classes", 2, None, *_OF_A_CLASS, "accuracy", 0.8, loss=_CROSS_ENTROPY
    ),
    BINARY: Task("one of two classes", 2, 2, *_OF_A_CLASS, "auc", 0.8, loss=_CROSS_ENTROPY),
    MULTILABEL: Task(
        "any number of several classes",
        2,
        MULTILABEL_MAX_CLASSES,
        ("STRING",),
        "several classes are one text, with | between their names",
        "auc",
        0.8,
        "sets",
        labels="sets of classes",
        predictions={"label": "int64", "probabilities": "list<float>"},
        loss="mean cross-entropy of a class and its absence, in nats, averaged over the classes",
        unfit={
            "baselines.bqml": "BigQuery ML learns one class of each row, not several: leave it out",
            "baselines.automl": "is trained on one class of each example, not several: leave it "
            "out",
        },
        no_program="the contract with one has no form for sets of classes; a Python file with "
        "`build` or `fit` learns them",
    ),
    REGRESSION: Task(
        "a number",
        0,
        0,
        NUMBER_TYPES,
        "what a regression learns is a number",
        "rmse",
        1.0,
        "number",
        labels="values",
        outputs="the standardized label, with mean 0 and deviation 1",
        answers=("value",),
        predictions={"label": "double", "value": "double"},
        metadata=(),
        loss="mean squared error in units of the label's variance on the train split, so that 1 is "
        "what predicting its mean costs",
        unfit={"deploy.gate.recall": "a regression has no classes: leave it out"},
    ),
    SURVIVAL: Task(
        "the time to an event, which may not have happened yet",
        0,
        0,
        NUMBER_TYPES,
        "a time is a number, such as of days",
        "concordance",
        0.6,
        "time",
        ("event",),
        "times to an event",
        "a logit for each interval of time, or one log-risk (objective: cox)",
        ("risk", "survival"),
        {"label_event": "INT64"},
        {"label": "double", "event": "bool", "risk": "double", "survival": "list<double>"},
        ("times",),
        unfit={
            "baselines.bqml": "BigQuery ML has no model of censored times, and a regression takes "
            "the time of a row without an event for one with it: leave it out. "
            "dags/experiments/survival.yaml has baselines of scikit-survival among its "
            "`other_models`",
            "baselines.automl": "AutoML has no model of censored times: leave it out",
            "train.folds": "the risks of the folds' models have no common scale, so that a "
            f"{SURVIVAL} of one fold cannot be ordered beside one of another: leave it out",
            "deploy.gate.recall": f"a {SURVIVAL} has no classes: leave it out",
        },
    ),
    SEGMENTATION: Task(
        "a class for each pixel of an image",
        2,
        255,
        ("STRING",),
        "a mask is named by its address, gs://BUCKET/OBJECT",
        "dice",
        0.8,
        "mask",
        ("masks",),
        "masks",
        "a logit for each pixel and class",
        ("mask",),
        predictions={
            **dict.fromkeys(("truth", "predicted", "both"), "list<int64>"),
            "distance": "list<double>",
        },
        of_pixels=True,
        loss="mean cross-entropy of the pixels, in nats",
        unfit={
            "baselines.bqml": "BigQuery ML has no model of masks: leave it out. "
            "dags/experiments/cells.yaml has Otsu's threshold among its `other_models`",
            "baselines.automl": "AutoML learns classes of images, no masks: leave it out",
            "baselines.files": "a file of predictions has a class or a number for each example, no "
            "masks: leave it out",
            "train.ensemble": "masks have no mean: leave it out",
            "train.folds": "masks of several folds' models are not brought together: leave it out",
            "deploy.gate.recall": "is of examples; that of a class's pixels is bounded as in "
            "`require: {mask_recall@cell: 0.8}`: leave it out",
            "predict.truth": "a mask's label is a file, which a query does not have: masks are "
            "not scored on later labels; leave it out",
        },
        no_program="the contract with one has no form for masks, which are files beside "
        "predictions.parquet; a Python file with `build` or `fit` learns them",
    ),
}

ALL = tuple(TASKS)
LABEL_KEYS = tuple(key for task in TASKS.values() for key in task.label_keys)

NUMBERS = tuple(name for name, task in TASKS.items() if not task.min_classes)
"""Tasks whose label is a number, and no class."""

ONE_CLASS = (MULTICLASS, BINARY)
"""Tasks in which each example has one class."""

OF_EXAMPLES = tuple(name for name, task in TASKS.items() if not task.of_pixels)
"""Tasks with one answer for each example, and none for each pixel."""

OF_PIXELS = tuple(name for name, task in TASKS.items() if task.of_pixels)
"""Tasks with an answer for each pixel of an image."""

OF_CLASSES = tuple(name for name, task in TASKS.items() if task.min_classes)
"""Tasks whose answers are classes, of examples or of pixels."""

BY_PROGRAMS = tuple(name for name, task in TASKS.items() if not task.no_program)
"""Tasks that a program in an image that is not ours may learn."""

OF_TIMES = tuple(name for name, task in TASKS.items() if task.form == "time")
"""Tasks whose label is a time to an event."""

NAMED = (*ONE_CLASS, MULTILABEL)
"""Tasks whose label is text: the names of an example's classes."""

CLASSIFICATION = "classification"
FAMILIES = (CLASSIFICATION, *(task for task in TASKS if task not in ONE_CLASS))
"""Families of tasks: those in which an example has one class are one family, each other its own."""


def family_of(task: str | None) -> str:
    """The family of a task, one of FAMILIES. task: None of images of one class each."""
    return CLASSIFICATION if task is None or task in ONE_CLASS else task


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
