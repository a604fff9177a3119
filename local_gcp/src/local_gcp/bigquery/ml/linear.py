"""LOGISTIC_REG and LINEAR_REG: BigQuery ML's gradient descent, and the normal equation.

Own code, because scikit-learn's estimators give neither the loss nor the learning rate of an
iteration, which ML.TRAINING_INFO, EARLY_STOP and LS_INIT_LEARN_RATE need. The line search is the
one that Google describes: of 2, 1, 1/2 and 1/4 times the last rate the one with the least loss
(https://cloud.google.com/bigquery/docs/reference/standard-sql/bigqueryml-syntax-train). It
converges to the weights of scikit-learn's LogisticRegression and Ridge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, softmax

from .learning import Problem, Progress
from .options import Options

MOST_FEATURES = 10_000
"""The most features for which BigQuery ML solves a LINEAR_REG by the normal equation."""


@dataclass
class Linear:
    """weights: (features, outputs), intercept: (outputs,); one output unless multiclass."""

    weights: np.ndarray
    intercept: np.ndarray
    classes: int

    def scores(self, x: np.ndarray) -> np.ndarray:
        margin = x @ self.weights + self.intercept
        if not self.classes:
            return margin[:, 0]
        return softmax(_logits(margin), axis=1)


def fit(problem: Problem, options: Options, progress: Progress) -> Linear:
    """Train. `progress` gets every iteration."""
    if not problem.classes and _uses_normal_equation(problem, options):
        return _normal_equation(problem, options, progress)
    return _descend(problem, options, progress)


def _uses_normal_equation(problem: Problem, options: Options) -> bool:
    strategy, (rows, features) = options["optimize_strategy"], problem.x.shape
    if strategy == "AUTO_STRATEGY":
        few_rows = rows < 10 * features  # BigQuery ML's threshold for a risk of overfitting
        return options["l1_reg"] == 0 and features <= MOST_FEATURES and not few_rows
    return strategy == "NORMAL_EQUATION"


def _normal_equation(problem: Problem, options: Options, progress: Progress) -> Linear:
    x, y, l2 = problem.x, problem.labels, options["l2_reg"]
    mean = x.mean(axis=0) if options["fit_intercept"] else np.zeros(x.shape[1])
    offset = y.mean() if options["fit_intercept"] else 0.0
    weights = _least_norm(x - mean, y - offset, l2)
    intercept = np.atleast_1d(offset - mean @ weights) * options["fit_intercept"]
    fitted = Linear(weights[:, None], intercept, 0)
    progress.add(**problem.losses(fitted.scores(problem.x), fitted.scores(problem.eval_x)))
    return fitted


def _least_norm(x: np.ndarray, y: np.ndarray, l2: float) -> np.ndarray:
    """The weights that minimise |y - x W|^2 + l2 |W|^2; if not unique, those of least norm.

    Linearly dependent columns, such as one-hot ones, give singular values that are 0 except for
    rounding. The cutoff is relative to the largest, as in numpy.linalg.matrix_rank; an absolute one
    (1e-15 in scikit-learn's Ridge) keeps them, and divides by them.
    """
    u, values, v = np.linalg.svd(x, full_matrices=False)
    cutoff = values.max(initial=0.0) * max(x.shape) * np.finfo(float).eps
    kept = values > cutoff
    u, values, v = u[:, kept], values[kept], v[kept]
    return v.T @ (values / (values**2 + l2) * (u.T @ y))


def _descend(problem: Problem, options: Options, progress: Progress) -> Linear:
    objective = _Objective(problem, options)
    search = options["learn_rate_strategy"] == "LINE_SEARCH"
    rate = options["ls_init_learn_rate"] if search else options["learn_rate"]
    fitted = Linear(
        np.zeros((problem.x.shape[1], objective.outputs)),
        np.zeros(objective.outputs),
        problem.classes,
    )
    value = objective.value(fitted)
    more = True
    while more:
        gradient = objective.gradient(fitted)
        rates = [2 * rate, rate, rate / 2, rate / 4] if search else [rate]
        steps = [objective.step(fitted, gradient, r) for r in rates]
        values = [objective.value(step) for step in steps]
        best = int(np.argmin(values))
        rate = rates[best]
        if not search or values[best] <= value:
            fitted, value = steps[best], values[best]
        losses = problem.losses(fitted.scores(problem.x), fitted.scores(problem.eval_x))
        more = progress.add(**losses, learn_rate=rate)
    return fitted


class _Objective:
    """Mean weighted loss plus regularisation; see `options` for the scale of the latter."""

    def __init__(self, problem: Problem, options: Options):
        self.problem = problem
        self.outputs = problem.classes if problem.classes > 2 else 1
        self.intercept = options["fit_intercept"]
        rows = len(problem.labels)
        self.l1 = options["l1_reg"] / rows
        # The penalty's gradient is 2 * l2 * W: half of it for log loss, as in scikit-learn.
        self.l2 = options["l2_reg"] / rows / (2 if problem.classes else 1)
        if self.outputs > 1:
            self.targets = np.eye(problem.classes)[problem.labels]
        else:
            self.targets = problem.labels.astype(float)[:, None]

    def value(self, model: Linear) -> float:
        margin = self.problem.x @ model.weights + model.intercept
        if not self.problem.classes:
            each = ((self.targets - margin) ** 2)[:, 0]
        elif self.outputs > 1:
            each = -(self.targets * log_softmax(margin, axis=1)).sum(axis=1)
        else:
            each = (np.logaddexp(0, margin) - self.targets * margin)[:, 0]
        penalty = self.l1 * np.abs(model.weights).sum() + self.l2 * (model.weights**2).sum()
        return float((self.problem.weights * each).mean() + penalty)

    def gradient(self, model: Linear) -> tuple[np.ndarray, np.ndarray]:
        """Gradient without the l1 part, which `step` applies."""
        margin = self.problem.x @ model.weights + model.intercept
        if not self.problem.classes:
            residual = 2 * (margin - self.targets)
        elif self.outputs > 1:
            residual = softmax(margin, axis=1) - self.targets
        else:
            residual = softmax(_logits(margin), axis=1)[:, 1:] - self.targets
        residual = residual * (self.problem.weights / len(margin))[:, None]
        weights = self.problem.x.T @ residual + 2 * self.l2 * model.weights
        return weights, residual.sum(axis=0)

    def step(self, model: Linear, gradient: tuple[np.ndarray, np.ndarray], rate: float) -> Linear:
        weights = model.weights - rate * gradient[0]
        if self.l1:  # soft thresholding: the proximal step of |W|
            weights = np.sign(weights) * np.maximum(np.abs(weights) - rate * self.l1, 0)
        intercept = model.intercept - rate * gradient[1] * self.intercept
        return Linear(weights, intercept, model.classes)


def _logits(margin: np.ndarray) -> np.ndarray:
    """One margin, of the positive class, as two."""
    return np.hstack([np.zeros_like(margin), margin]) if margin.shape[1] == 1 else margin
