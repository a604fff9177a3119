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
from trainer.metric_descriptions import METRICS
from trainer.models import MODELS
from trellis_contracts.model_file import KINDS

VERSION = 1
IMAGE_TAG = "0.1.0"


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
