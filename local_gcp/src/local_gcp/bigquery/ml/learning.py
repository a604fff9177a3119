"""What all model types share in training: the problem, the iterations, the stop criterion."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

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
    """

    x: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    eval_x: np.ndarray
    eval_labels: np.ndarray
    classes: int


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
    MIN_REL_PROGRESS of it; the loss is that of the evaluation rows, if there are any.
    """

    options: Options
    report: Callable[[Iteration], None]
    iterations: list[Iteration] = field(default_factory=list)
    _last: float = field(default_factory=time.monotonic)

    def add(
        self,
        loss: float,
        eval_loss: float | None = None,
        learn_rate: float | None = None,
        seconds: float | None = None,
    ) -> bool:
        """Record an iteration; False if it is the last one."""
        now = time.monotonic()
        took = now - self._last if seconds is None else seconds
        self._last = now
        index = len(self.iterations)
        done = Iteration(index, loss, eval_loss, learn_rate, round(took * 1000))
        self.iterations.append(done)
        self.report(done)
        return index + 1 < self.options["max_iterations"] and not self._stalled()

    def _stalled(self) -> bool:
        if not self.options["early_stop"] or len(self.iterations) < 2:
            return False
        before, now = (i.loss if i.eval_loss is None else i.eval_loss for i in self.iterations[-2:])
        return before - now < self.options["min_rel_progress"] * abs(before)


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
