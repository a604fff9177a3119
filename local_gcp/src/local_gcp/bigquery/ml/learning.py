"""Training code that all model types share: the problem, the iterations, the stop criterion."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .options import Options

SEED = 0
"""Seed of everything random: the same rows and options give the same model."""

TINY = 1e-15
"""Least distance of probabilities from 0 and 1 in a logarithm."""


@dataclass(frozen=True)
class Problem:
    """The training data. `labels`: class indices (int64) or values (float64).

    `classes`: number of classes; 0 for a regression. `eval_x`: no rows if none are held out.
    `weights`, `eval_weights`: of the rows, from class weights or INSTANCE_WEIGHT_COL.
    """

    x: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    eval_x: np.ndarray
    eval_labels: np.ndarray
    eval_weights: np.ndarray
    classes: int

    def losses(self, scores: np.ndarray, eval_scores: np.ndarray) -> dict[str, Any]:
        """Arguments of `Progress.add`: the losses to report, and the one that may stop training.

        ML.TRAINING_INFO has losses without weights, equal to log_loss of ML.EVALUATE. A training
        recorded with AUTO_CLASS_WEIGHTS stopped while those still fell by a quarter: what may stop
        it is the loss that it minimises, with weights.
        """
        judged = loss(self.eval_labels, eval_scores, self.eval_weights)
        if judged is None:
            judged = loss(self.labels, scores, self.weights)
        return {
            "loss": loss(self.labels, scores),
            "eval_loss": loss(self.eval_labels, eval_scores),
            "judged": judged,
        }


def with_a_column(x: np.ndarray) -> np.ndarray:
    """`x`; where no feature has a value, and so no column: one of zeros, as libraries want one."""
    return x if x.shape[1] else np.zeros((len(x), 1))


class Predictor(Protocol):
    """A fitted model."""

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Probabilities (rows, classes) or values (rows,)."""


@dataclass
class Iteration:
    """A row of ML.TRAINING_INFO. Losses are mean log loss, or mean squared error."""

    index: int
    loss: float
    eval_loss: float | None
    learn_rate: float | None
    duration_ms: int


@dataclass
class Progress:
    """The iterations so far, and whether training goes on.

    BigQuery ML stops after the first iteration that improves the loss by less than
    MIN_REL_PROGRESS of it; the loss is that of the evaluation rows, if there are any. `first` is
    the number of the first iteration.
    """

    options: Options
    report: Callable[[Iteration], None]
    first: int = 0
    iterations: list[Iteration] = field(default_factory=list)
    _last: float = field(default_factory=time.monotonic)
    _judged: float | None = None

    def add(
        self,
        loss: float,
        eval_loss: float | None = None,
        learn_rate: float | None = None,
        judged: float | None = None,
    ) -> bool:
        """Record an iteration; False if it is the last one.

        `judged`: the loss that may stop training, if it is neither of the reported ones.
        """
        now = time.monotonic()
        took, self._last = now - self._last, now
        index = len(self.iterations)
        done = Iteration(self.first + index, loss, eval_loss, learn_rate, round(took * 1000))
        self.iterations.append(done)
        self.report(done)
        if judged is None:
            judged = loss if eval_loss is None else eval_loss
        before, self._judged = self._judged, judged
        stalled = before is not None and (
            before - judged < self.options["min_rel_progress"] * abs(before)
        )
        return index + 1 < self.options["max_iterations"] and not (
            self.options["early_stop"] and stalled
        )


def loss(labels: np.ndarray, scores: np.ndarray, weights: np.ndarray | None = None) -> float | None:
    """Mean log loss of probabilities (rows, classes), mean squared error of values (rows,).

    None without rows. A label of -1 is a class unknown to the model.
    """
    if not len(labels):
        return None
    if scores.ndim == 1:
        each = (labels - scores) ** 2
    else:
        chosen = scores[np.arange(len(labels)), np.maximum(labels, 0)]
        each = -np.log(np.clip(np.where(labels < 0, 0.0, chosen), TINY, 1.0))
    return float(np.average(each, weights=weights))
