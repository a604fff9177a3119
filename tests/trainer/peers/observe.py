"""Writes peers.json: what MAPIE and dcurves answer to the inputs in it, for tests that hold ours
against them.

They are in no environment of this checkout, as MAPIE pins scikit-learn and dcurves brings lifelines
and Matplotlib. In one of its own:

    python -m venv peers && peers/bin/pip install mapie==1.6.0 dcurves==1.1.7
    peers/bin/python tests/trainer/peers/observe.py
"""

import importlib.metadata
import json
from pathlib import Path

import dcurves
import numpy as np
import pandas as pd
from mapie.classification import SplitConformalClassifier
from mapie.regression import SplitConformalRegressor
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

LEVELS = (0.7, 0.8, 0.9, 0.95)


class Probabilities(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose features are its probabilities."""

    def __init__(self, classes=3):
        self.classes = classes
        self.classes_ = np.arange(classes)

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, x, y):
        return self

    def predict_proba(self, x):
        return x

    def predict(self, x):
        return x.argmax(axis=1)


class Values(RegressorMixin, BaseEstimator):
    """A fitted regression whose feature is its value."""

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, x, y):
        return self

    def predict(self, x):
        return x[:, 0]


def classes(random):
    probabilities = random.dirichlet([1, 1, 1], 93).round(6)
    probabilities[:, 2] = 1 - probabilities[:, :2].sum(axis=1)
    labels = (probabilities.cumsum(axis=1) > random.random((93, 1))).argmax(axis=1)
    own, asked = probabilities[:73], probabilities[73:]
    made = SplitConformalClassifier(
        Probabilities(), confidence_level=list(LEVELS), conformity_score="lac", prefit=True
    ).conformalize(own, labels[:73])
    _, sets = made.predict_set(asked)
    return {
        "labels": labels[:73].tolist(),
        "probabilities": own.tolist(),
        "asked": asked.tolist(),
        "sets": {str(level): sets[:, :, n].tolist() for n, level in enumerate(LEVELS)},
    }


def numbers(random):
    values = random.normal(size=80).round(6)
    labels = (values + random.exponential(size=80)).round(6)
    made = SplitConformalRegressor(
        Values(), confidence_level=list(LEVELS), conformity_score="absolute", prefit=True
    ).conformalize(values[:60, None], labels[:60])
    _, ends = made.predict_interval(values[60:, None])
    return {
        "labels": labels[:60].tolist(),
        "values": values[:60].tolist(),
        "asked": values[60:].tolist(),
        "intervals": {str(level): ends[:, :, n].tolist() for n, level in enumerate(LEVELS)},
    }


def net_benefit(random):
    scores = random.beta(2, 5, 120).round(6)
    positive = random.random(120) < scores
    at = [0.05, 0.1, 0.2, 0.35, 0.5, 0.7]
    table = dcurves.dca(
        data=pd.DataFrame({"outcome": positive.astype(int), "model": scores}),
        outcome="outcome",
        modelnames=["model"],
        thresholds=at,
    )
    found = {
        name: table[table["model"] == name].sort_values("threshold")["net_benefit"].tolist()
        for name in ("model", "all")
    }
    return {"positive": positive.tolist(), "scores": scores.tolist(), "at": at, **found}


if __name__ == "__main__":
    random = np.random.default_rng(20)
    content = {
        "versions": {name: importlib.metadata.version(name) for name in ("mapie", "dcurves")},
        "classes": classes(random),
        "numbers": numbers(random),
        "net_benefit": net_benefit(random),
    }
    Path(__file__).with_name("peers.json").write_text(json.dumps(content, indent=1) + "\n")
