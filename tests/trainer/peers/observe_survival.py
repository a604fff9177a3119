"""Writes survival.json: what scikit-survival and lifelines answer to predictions on the data sets
that scikit-survival ships, for tests that hold ours against them (test_survival_peers.py).

Run by hand, in an environment of its own, when a version of either is to be compared with:

    python -m venv peers && peers/bin/pip install scikit-survival==0.28.0 lifelines==0.30.3
    peers/bin/python tests/trainer/peers/observe_survival.py
"""

import json
from pathlib import Path

import lifelines
import numpy as np
import pandas as pd
import sksurv
from sksurv.datasets import load_gbsg2, load_veterans_lung_cancer, load_whas500
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.metrics import (
    brier_score,
    concordance_index_censored,
    concordance_index_ipcw,
    cumulative_dynamic_auc,
    integrated_brier_score,
)
from sksurv.nonparametric import kaplan_meier_estimator

LOADERS = {
    "gbsg2": load_gbsg2,
    "whas500": load_whas500,
    "veterans": load_veterans_lung_cancer,
}
HELD_OUT = 120
TIMES = 8


def columns(frame):
    """Standardized numbers, and a column for each category but the first."""
    found = pd.get_dummies(frame, drop_first=True).astype(float)
    return (found - found.mean()) / found.std(ddof=0)


def rounded(values):
    return np.round(values, 6)


def asked(name):
    """The answers on one data set."""
    frame, labels = LOADERS[name]()
    happened, times = (labels[field] for field in labels.dtype.names)
    x = columns(frame).to_numpy()
    order = np.random.default_rng(0).permutation(len(x))
    test, train = order[:HELD_OUT], order[HELD_OUT:]
    model = CoxPHSurvivalAnalysis(alpha=0.01, ties="efron").fit(x[train], labels[train])
    # Ties among the risks, as of a tree's leaves.
    risks = np.round(model.predict(x[test]), 1)
    known = np.quantile(times[test][happened[test]], np.linspace(0.1, 0.9, TIMES))
    at = np.unique(np.round(known))
    curves = rounded(np.stack([f(at) for f in model.predict_survival_function(x[test])]))
    truth = labels[test]
    horizons = at[[1, len(at) // 2, -2]]
    of_horizons = [1 - curves[:, list(at).index(time)] for time in horizons]
    aucs = [
        cumulative_dynamic_auc(truth, truth, risk, [time])[0][0]
        for risk, time in zip(of_horizons, horizons, strict=True)
    ]
    steps, survival = kaplan_meier_estimator(happened[test], times[test])
    return {
        "labels": np.stack([times[test], happened[test]], axis=1).tolist(),
        "risks": risks.tolist(),
        "curves": curves.tolist(),
        "times": at.tolist(),
        "horizons": horizons.tolist(),
        "concordance": concordance_index_censored(happened[test], times[test], risks)[0],
        "uno_concordance": concordance_index_ipcw(truth, truth, risks, tau=horizons[-1])[0],
        "integrated_brier": integrated_brier_score(truth, truth, curves, at),
        "horizon_brier": brier_score(
            truth, truth, curves[:, np.searchsorted(at, horizons)], horizons
        )[1].tolist(),
        "horizon_auc": aucs,
        "survival": survival[np.searchsorted(steps, horizons, side="right") - 1].tolist(),
    }


def coefficients(name):
    """lifelines' coefficients of a data set, whose rows many share a time with."""
    frame, labels = LOADERS[name]()
    happened, times = (labels[field] for field in labels.dtype.names)
    x = columns(frame).round(6)
    table = x.assign(time=times, happened=happened)
    fitted = lifelines.CoxPHFitter().fit(table, "time", "happened")
    at = np.quantile(times, [0.25, 0.5, 0.75])
    baseline = fitted.predict_cumulative_hazard(pd.DataFrame(0.0, [0], x.columns), times=at)
    return {
        "columns": x.to_numpy().tolist(),
        "labels": np.stack([times, happened], axis=1).tolist(),
        "coefficients": fitted.params_.tolist(),
        "log_likelihood": fitted.log_likelihood_,
        "times": at.tolist(),
        "baseline": baseline.iloc[:, 0].tolist(),
    }


if __name__ == "__main__":
    content = {
        "versions": {"scikit-survival": sksurv.__version__, "lifelines": lifelines.__version__},
        "metrics": {name: asked(name) for name in LOADERS},
        "veterans": coefficients("veterans"),
    }
    Path(__file__).with_name("survival.json").write_text(json.dumps(content) + "\n")
