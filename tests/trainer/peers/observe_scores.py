"""Writes scores.json: what six libraries answer to the predictions of one model for breast cancer,
the data set that scikit-learn ships (and for diabetes), for beside.py, which holds ours against
them.

Run by hand, in an environment of its own, when a version of one is to be compared with; netcal
brings PyTorch:

    python -m venv peers && peers/bin/pip install mapie==1.6.0 dcurves==1.1.7 netcal==1.4.0 \
        fairlearn==0.15.0 statsmodels==0.15.0
    peers/bin/python tests/trainer/peers/observe_scores.py
"""

import importlib.metadata
import json
import sys
from pathlib import Path

import dcurves
import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame
from mapie.classification import SplitConformalClassifier
from mapie.regression import SplitConformalRegressor
from netcal.binning import IsotonicRegression
from netcal.metrics import ECE
from netcal.scaling import TemperatureScaling
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from statsmodels.stats.proportion import proportion_confint

sys.path.insert(0, str(Path(__file__).parent))
from observe import Probabilities, Values

LIBRARIES = ("scikit-learn", "netcal", "mapie", "dcurves", "fairlearn", "statsmodels")
COVERAGE = 0.9


def predicted():
    """A naive Bayes classifier of five numbers that say nearly the same: it is far too sure."""
    x, y = load_breast_cancer(return_X_y=True)
    x = x[:, :5]
    order = np.random.default_rng(4).permutation(len(y))
    train, validation, test = np.split(order, [270, 420])
    model = GaussianNB().fit(x[train], y[train])
    sites = np.array(["north", "south", "west"])[
        np.digitize(x[test, 1], np.quantile(x[:, 1], [0.3, 0.6]))
    ]
    return {
        "validation": given(model, x[validation], y[validation]),
        "test": given(model, x[test], y[test]) | {"site": sites.tolist()},
    }


def given(model, x, y):
    return {
        "labels": y.tolist(),
        "positive": model.predict_proba(x)[:, 1].clip(1e-6, 1 - 1e-6).round(9).tolist(),
    }


def both(one):
    """Labels, and (n, 2) probabilities."""
    positive = np.array(one["positive"])
    return np.array(one["labels"]), np.column_stack([1 - positive, positive])


def calibration(validation, test):
    (fitted_on, own), (labels, asked) = both(validation), both(test)
    found = {"ece": {"before": error(labels, asked)}, "after": {}}
    for method, netcals in (
        ("temperature", TemperatureScaling()),
        ("isotonic", IsotonicRegression()),
    ):
        theirs = CalibratedClassifierCV(FrozenEstimator(Probabilities(2)), method=method)
        after = theirs.fit(own, fitted_on).predict_proba(asked)
        netcals.fit(own[:, 1], fitted_on)
        found["after"][method] = {
            "scikit-learn": after[:, 1].tolist(),
            "netcal": np.asarray(netcals.transform(asked[:, 1]), float).ravel().tolist(),
        }
        found["ece"][method] = error(labels, after)
    return found


def error(labels, probabilities):
    """Measure the most probable class: netcal takes one column, the confidence that it is right."""
    right = (probabilities.argmax(axis=1) == labels).astype(int)
    return float(ECE(bins=15).measure(probabilities.max(axis=1), right))


def scores(test):
    labels, asked = both(test)
    decided, site = asked.argmax(axis=1), np.array(test["site"])
    metrics = {"accuracy": accuracy_score, "auc": roc_auc_score}
    answers = {"accuracy": decided, "auc": asked[:, 1]}
    slices, gaps = {}, {}
    for name, metric in metrics.items():
        frame = MetricFrame(
            metrics=metric, y_true=labels, y_pred=answers[name], sensitive_features=site
        )
        slices[name] = frame.by_group.to_dict()
        gaps[name] = {}
        for one in np.unique(site):
            apart = MetricFrame(
                metrics=metric, y_true=labels, y_pred=answers[name], sensitive_features=site == one
            )
            gaps[name][one] = apart.by_group[True] - apart.by_group[False]
    return {
        "auc": roc_auc_score(labels, asked[:, 1]),
        "accuracy": accuracy_score(labels, decided),
        "log_loss": log_loss(labels, asked),
        "slices": slices,
        "gaps": gaps,
        "intervals": {
            name: proportion_confint(int(hits.sum()), len(hits), method="beta")
            for name, hits in {
                "accuracy": decided == labels,
                "sensitivity": decided[labels == 1] == 1,
                "specificity": decided[labels == 0] == 0,
            }.items()
        },
    }


def decision_curve(test):
    labels, asked = both(test)
    at = [n / 100 for n in range(1, 100)]
    data = pd.DataFrame({"outcome": labels, "model": asked[:, 1]})
    table = dcurves.dca(data=data, outcome="outcome", modelnames=["model"], thresholds=at)
    curves = {
        name: table[table["model"] == name].sort_values("threshold")["net_benefit"].tolist()
        for name in ("model", "all")
    }
    return {"at": at, **curves}


def conformal(validation, test):
    (fitted_on, own), (_, asked) = both(validation), both(test)
    made = SplitConformalClassifier(
        Probabilities(2), confidence_level=COVERAGE, conformity_score="lac", prefit=True
    ).conformalize(own, fitted_on)
    x, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(5).permutation(len(y))
    train, validation, test = np.split(order, [200, 320])
    model = LinearRegression().fit(x[train], y[train])
    values = model.predict(x)[:, None]
    numbers = SplitConformalRegressor(
        Values(), confidence_level=COVERAGE, conformity_score="absolute", prefit=True
    ).conformalize(values[validation], y[validation])
    return {
        "coverage": COVERAGE,
        "sets": made.predict_set(asked)[1][:, :, 0].tolist(),
        "numbers": {
            "labels": y[validation].tolist(),
            "values": values[validation, 0].tolist(),
            "asked": values[test, 0].tolist(),
            "truth": y[test].tolist(),
            "intervals": numbers.predict_interval(values[test])[1][:, :, 0].tolist(),
        },
    }


if __name__ == "__main__":
    content = {"versions": {name: importlib.metadata.version(name) for name in LIBRARIES}}
    content |= predicted()
    content["calibration"] = calibration(content["validation"], content["test"])
    content["scores"] = scores(content["test"])
    content["decision_curve"] = decision_curve(content["test"])
    content["conformal"] = conformal(content["validation"], content["test"])
    text = json.dumps(content, indent=1)
    Path(__file__).with_name("scores.json").write_text(f"{text}\n")
