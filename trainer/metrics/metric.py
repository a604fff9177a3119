"""The definition of a metric: as a column of the leaderboard, and in a training's validation.

A module of a task (classification, multilabel, regression, survival, segmentation) has all of it:
METRICS, the columns; TALLIES and ORDER, what a training's validation adds up or gathers; `exact`,
what the exported model scores on the test split.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from trellis_contracts.metrics import Goal


@dataclass(frozen=True)
class Metric:
    """One column of the leaderboard.

    title: its name in a sentence, which says what is averaged. average: what it is an average over:
    "examples", each counted once; classes, each counted once ("macro"); decisions over all examples
    and classes ("micro"); "pairs" of examples; "horizons" of a time to an event; or it is that of
    the "positive class" alone.
    goal: "maximize" or "minimize".
    point: outcome -> value, NaN if undefined.
    resampled: (outcome, weights (n, b)) -> (b,) values, NaN where undefined in a resample.
    interval, difference_interval: methods, keys of `intervals.METHODS` and `DIFFERENCE_METHODS`;
    `intervals.method` has that of an outcome.
    chance: outcome -> the score of an answer that does not look at the example, from the labels
    alone: trainer.metrics.chance; None if there is no such score.
    share: outcome -> two (n,) bool, hits and the examples among which the value is their share;
    None if it is no share. The intervals of shares need it.
    terms: outcome -> (n,) terms, of which the value is the mean or the root of the mean, or, of a
    metric to maximize, what it lacks to the highest value; NaN of an example that is left out; None
    if it is no such mean. The interval "studentized bootstrap" needs them.
    of_label: whether its values have the unit of the label, so that the number of meaningful
    decimals depends on the labels. lowest: the smallest value that it may have.

    The outcome is that of the metric's family of tasks (trainer.families).
    """

    name: str
    title: str
    average: str
    goal: Goal
    description: str
    point: Callable[[Any], float]
    resampled: Callable[[Any, np.ndarray], np.ndarray]
    interval: str = "bootstrap"
    difference_interval: str = "paired bootstrap"
    chance: Callable[[Any], float] | None = None
    share: Callable[[Any], tuple[np.ndarray, np.ndarray]] | None = None
    terms: Callable[[Any], np.ndarray] | None = None
    of_label: bool = False
    lowest: float = 0.0

    @property
    def highest(self) -> float:
        """The largest value that it may have."""
        return 1.0 if self.goal == "maximize" else math.inf

    @property
    def pseudo_errors(self) -> bool:
        """True if its intervals need the resamples of `pseudo_error`."""
        return "pseudo-error" in self.difference_interval

    @property
    def sign(self) -> int:
        """1 if larger is better, -1 if smaller is."""
        return 1 if self.goal == "maximize" else -1


@dataclass(frozen=True)
class Tally:
    """Sums over the examples of a split, which a training adds over its batches and replicas, and
    the metrics that follow from them.

    task: the objective (trainer.training.objectives), which has `classes`, of a regression `scale`,
    and `targets(labels)`.
    size: task -> how many sums.
    sums: (task, labels, outputs, weights) -> tensors with `size` numbers in all; labels, outputs of
    a batch, weights (b,): 1, or 0 of an example that only fills the batch. TensorFlow is imported
    there, since the comparison does without.
    metrics: (task, (size,) sums, means, examples) -> values by name, without undefined ones. means:
    the loss and the task's other means.
    """

    size: Callable[[Any], int]
    sums: Callable[..., Any]
    metrics: Callable[..., dict[str, float]]


@dataclass(frozen=True)
class Order:
    """Metrics of the order of all examples, which a training gathers from its replicas.

    columns: task -> how many numbers are gathered for each example; 0: nothing is.
    ranked: (task, labels, outputs) -> (b, columns) float32.
    metrics: (task, (n, columns)) -> values by name, without undefined ones.
    """

    columns: Callable[[Any], int]
    ranked: Callable[..., Any]
    metrics: Callable[..., dict[str, float]]
