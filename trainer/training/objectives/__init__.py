"""Objectives: of each family of tasks, in the module of its name, the loss to minimize, and the
metrics to report.

Metrics come from sums over examples, added over all replicas. Those that order the examples (AUC,
average precision, the median error) are exact as well: what orders them is gathered. Of more than
two classes, of a multi-label task and of a regression, that is a number for each example and class,
so it is done where such a metric decides.
"""

import importlib
from collections.abc import Callable

import tensorflow as tf

from trainer.models.own import OwnMetrics
from trainer.training import TrainingError
from trainer.training.objectives.objective import Loss, Objective
from trainer.training.objectives.own_metrics import tally as own_tally
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Common
from trellis_contracts.tasks import MULTILABEL


def build(
    dataset: DatasetDescription,
    h: Common,
    own_loss: Loss | None = None,
    metric: str | None = None,
    own_metrics: OwnMetrics | None = None,
    *,
    own_step: bool = False,
) -> Objective:
    """The objective for a dataset's label. metric: the one that decides, computed in any case.
    own_loss, own_metrics: of a model's own file. own_step: whether the file has a training step.

    Raises TrainingError if class_weights names a class that the dataset does not have, or is beside
    losses of a file's own of a multi-label task.
    """
    if (own_loss or own_step) and dataset.family == MULTILABEL and h.class_weights != "none":
        raise TrainingError(
            "class_weights: of a multi-label task they weigh each class within the loss, and the "
            "model's file has losses of its own: leave them out, and weigh there"
        )
    objective = _of(dataset, h, metric)
    objective.own = own_loss
    if own_metrics:
        objective.tallied_metrics = (*objective.tallied_metrics, own_tally(own_metrics))
    return objective


def answers_of(dataset: DatasetDescription) -> Callable[[tf.Tensor], dict[str, tf.Tensor]]:
    """What a model of the dataset answers, of its outputs: of a time to an event as of hazards."""
    return _of(dataset, Common(), None).answers


def _of(dataset: DatasetDescription, h: Common, metric: str | None) -> Objective:
    """What the module of the family's name builds."""
    module = importlib.import_module(f"trainer.training.objectives.{dataset.family}")
    objective: Objective = module.build(dataset, h, metric)
    return objective
