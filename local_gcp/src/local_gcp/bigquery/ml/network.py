"""DNN_CLASSIFIER and DNN_REGRESSOR on scikit-learn's multilayer perceptron.

One iteration is one pass over the training rows. A regression's label is standardised while the
network learns; its losses and predictions are in the label's own unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

from .learning import SEED, Problem, Progress, with_a_column
from .options import Options

_ACTIVATION = {"RELU": "relu", "SIGMOID": "logistic", "TANH": "tanh"}
_BATCH = 32
_MOST_UNITS = 128


@dataclass
class Network:
    """A fitted network; `mean` and `scale` are those of a regression's label."""

    estimator: Any
    classes: int
    mean: float = 0.0
    scale: float = 1.0

    def scores(self, x: np.ndarray) -> np.ndarray:
        if not len(x):
            return np.zeros((0, self.classes)) if self.classes else np.zeros(0)
        x = with_a_column(x)
        if self.classes:
            return self.estimator.predict_proba(x)
        return self.estimator.predict(x) * self.scale + self.mean


def fit(problem: Problem, options: Options, progress: Progress) -> Network:
    """Train. `progress` gets every iteration."""
    rows = len(problem.x)
    kind = MLPClassifier if problem.classes else MLPRegressor
    estimator = kind(
        hidden_layer_sizes=tuple(options["hidden_units"] or default_units(problem)),
        activation=_ACTIVATION[options["activation_fn"]],
        solver=options["optimizer"].lower(),
        alpha=options["l2_reg"],
        batch_size=min(rows, options["batch_size"] or _BATCH),
        learning_rate_init=options["learn_rate"],
        momentum=0.0,  # BigQuery ML's SGD is plain gradient descent
        nesterovs_momentum=False,
        random_state=SEED,
    )
    x, labels = with_a_column(problem.x), problem.labels
    model = Network(estimator, problem.classes)
    if not problem.classes:
        model.mean, model.scale = float(labels.mean()), float(labels.std()) or 1.0
        labels = (labels - model.mean) / model.scale
    first = {"classes": np.arange(problem.classes)} if problem.classes else {}
    more = True
    while more:
        estimator.partial_fit(x, labels, sample_weight=problem.weights, **first)
        first = {}
        losses = problem.losses(model.scores(problem.x), model.scores(problem.eval_x))
        more = progress.add(**losses, learn_rate=options["learn_rate"])
    return model


def default_units(problem: Problem) -> list[int]:
    """BigQuery ML's one hidden layer: min(128, rows / (10 * (inputs + outputs))), at least 1."""
    rows, features = problem.x.shape
    outputs = problem.classes if problem.classes > 2 else 1
    return [max(1, min(_MOST_UNITS, rows // (10 * (features + outputs))))]
