"""What others must know of the trainer without importing it: `python -m trainer.task --schema`.

The Airflow side keeps a copy, trainer_schema.json (a test compares the two), and checks every
experiment file against it, in full and without TensorFlow, before anything is spent. Version 1:

    {"version": 1,
     "image_tag": "0.1.0",                              tag of the job image with this trainer
     "image_rule": 2,                                   how image files become a dataset's records
     "commands": {"train": ["python", "-m", "trainer.task"], ...},
     "tasks":    {"multiclass_classification": {"description": "...", "metrics": ["accuracy", ...],
                                                "bounds": ["ece"]}, ...},
     "metrics":  {"accuracy": {"goal": "maximize", "description": "..."}, ...},
     "models":   {"dense": {"description": "...", "inputs": ["image"], "needs": "",
                            "hyperparameters": ["learning_rate", ...]}, ...},
     "own_model": {"inputs": ["image", "table"],         of a group's own file: kinds of dataset,
                   "hyperparameters": ["learning_rate", ...]},       and those of every model
     "hyperparameters": {"learning_rate": {JSON Schema; further words}}}

A task's metrics: any of them may be tuned for; the first is the default. bounds: further ones that
a gate may bound. inputs: kinds of dataset, "image" or "table". needs: a kind of feature without
which a model is refused, or "". A hyperparameter's further words: see trainer.hyperparameters.
"""

import json
from dataclasses import dataclass

from trainer import hyperparameters
from trainer.commands import COMMANDS
from trainer.dataset_description import IMAGE_RULE, MULTILABEL
from trainer.hyperparameters import Common
from trainer.label_sets import MOST_CLASSES
from trainer.model_file import KINDS
from trainer.models import MODELS

VERSION = 1
IMAGE_TAG = "0.1.0"


@dataclass(frozen=True)
class Metric:
    """goal: maximize or minimize."""

    goal: str
    description: str


@dataclass(frozen=True)
class Task:
    """min_classes, max_classes: how many classes a dataset for this task has, 0 for regression.

    metrics: the first is the default. bounds: further ones of the leaderboard, which a gate may
    bound, but by which nothing may be chosen.
    """

    description: str
    min_classes: int
    max_classes: int | None
    metrics: tuple[str, ...]
    bounds: tuple[str, ...] = ()


METRICS = {
    "accuracy": Metric(
        "maximize",
        "share of examples whose predicted class is the true one; multi-label: share of right "
        "decisions, over all examples and classes",
    ),
    "exact_match": Metric("maximize", "share of examples whose classes are all decided rightly"),
    "loss": Metric(
        "minimize",
        "classification: mean cross-entropy of the predicted probabilities, in nats, multi-label: "
        "of a class and its absence, averaged over the classes; regression: "
        "mean squared error in units of the label's variance on the train split, so that 1 is "
        "what predicting its mean costs",
    ),
    "balanced_accuracy": Metric(
        "maximize",
        "recall, averaged over the classes: rare classes count as much as frequent ones; "
        "multi-label: over each class and its absence",
    ),
    "f1": Metric(
        "maximize",
        "harmonic mean of precision and recall, averaged over the classes, also if there are only "
        "two; multi-label: not of their absence",
    ),
    "auc": Metric(
        "maximize",
        "area under the ROC curve: chance that an example of a class is given a higher probability "
        "of it than one of another class, ties counting half; averaged over the classes",
    ),
    "average_precision": Metric(
        "maximize",
        "area under the precision-recall curve by steps, one class against the rest, averaged over "
        "the classes, also if there are only two",
    ),
    "brier": Metric(
        "minimize",
        "mean squared distance of the predicted probabilities from the truth, 0 to 2; of two "
        "classes half of it; multi-label: of each class, averaged over them",
    ),
    "ece": Metric(
        "minimize",
        "expected calibration error: mean gap between confidence and accuracy over equal bins of "
        "confidence; only for the gate, as a model that always predicts the classes' shares has "
        "none",
    ),
    "rmse": Metric("minimize", "root of the mean squared error, in the label's unit"),
    "mae": Metric("minimize", "mean absolute error, in the label's unit"),
    "median_absolute_error": Metric("minimize", "median absolute error, in the label's unit"),
    "r2": Metric(
        "maximize",
        "coefficient of determination: share of the labels' variance on the split that is "
        "explained; 0 is as good as predicting their mean",
    ),
}

_OF_CLASSES = (
    "accuracy",
    "balanced_accuracy",
    "f1",
    "auc",
    "average_precision",
    "loss",
    "brier",
)

_OF_SETS = (*_OF_CLASSES[:-2], "exact_match", *_OF_CLASSES[-2:])

# In all classifications a model predicts one probability per class, so that all that comes after
# training (serving, comparison) knows one form of prediction.
TASKS = {
    "multiclass_classification": Task("one of several classes", 2, None, _OF_CLASSES, ("ece",)),
    "binary_classification": Task("one of two classes", 2, 2, _OF_CLASSES, ("ece",)),
    MULTILABEL: Task("any number of several classes", 2, MOST_CLASSES, _OF_SETS),
    "regression": Task("a number", 0, 0, ("rmse", "mae", "median_absolute_error", "r2", "loss")),
}


def document() -> dict:
    """The schema as plain values."""
    return {
        "version": VERSION,
        "image_tag": IMAGE_TAG,
        "image_rule": IMAGE_RULE,
        "commands": {
            name: ["python", "-m", command.module] for name, command in sorted(COMMANDS.items())
        },
        "tasks": {
            name: {
                "description": task.description,
                "metrics": list(task.metrics),
                "bounds": list(task.bounds),
                "max_classes": task.max_classes,
            }
            for name, task in TASKS.items()
        },
        "metrics": {
            name: {"goal": metric.goal, "description": metric.description}
            for name, metric in METRICS.items()
        },
        "models": {
            name: {
                "description": model.description,
                "inputs": list(model.inputs),
                "needs": model.needs,
                "hyperparameters": hyperparameters.of_model(name),
            }
            for name, model in MODELS.items()
        },
        "own_model": {
            "inputs": list(KINDS),
            "hyperparameters": list(hyperparameters.schema(Common)),
        },
        "hyperparameters": hyperparameters.schema(),
    }


def to_json() -> str:
    """The text that --schema prints."""
    return json.dumps(document(), indent=1) + "\n"
