"""The metrics by which models are tuned, stopped, gated and compared: name, goal, tasks, words.

A family of tasks has a module of its name, in whose order its metrics are listed; `loss`, which a
task's entry describes, is of several families. The trainer computes them (trainer.metrics); code
that lists, checks or explains a metric reads this table. A gate may bound a metric in one of the
parts over which it is averaged: METRIC@PART, as in horizon_auc@365 or dice@cell.
"""

import importlib

from trellis_contracts.metrics.metric import Goal as Goal
from trellis_contracts.metrics.metric import Metric
from trellis_contracts.tasks import FAMILIES, TASKS

_LOSSES = {name: task.loss for name, task in TASKS.items() if task.loss}

METRICS: dict[str, Metric] = {
    name: metric
    for family in FAMILIES
    for name, metric in importlib.import_module(f"{__name__}.{family}").METRICS.items()
}
METRICS["loss"] = Metric(
    "minimize",
    tuple(_LOSSES),
    "; ".join(
        f"{', '.join(name for name in _LOSSES if _LOSSES[name] == loss)}: {loss}"
        for loss in dict.fromkeys(_LOSSES.values())
    ),
)
"""In the order in which a task lists them: the first that a task has is its default."""

UNSERVED = tuple(name for name, metric in METRICS.items() if not metric.served)

BY_DECISION = tuple(name for name, metric in METRICS.items() if metric.by_decision)


def parted(name: str) -> tuple[str, str | None]:
    """A metric's name and its part, of what a gate names: METRIC, or METRIC@PART."""
    metric, at, part = name.partition("@")
    return metric, part if at else None


def of_task(task: str) -> list[str]:
    """Names of the metrics by which a task can be tuned; the first is the default."""
    return [n for n, m in METRICS.items() if task in m.tasks and not m.gate_only]


def gate_only(task: str) -> list[str]:
    """Names of the further metrics of a task, which only a gate may bound."""
    return [n for n, m in METRICS.items() if task in m.tasks and m.gate_only]


IN_TRAINING = tuple(name for name, metric in METRICS.items() if not metric.gate_only)
"""Names of the metrics that trainings report; the others are the comparison's alone."""
