"""Ours beside what scikit-survival and lifelines answer to the same inputs:
peers/observe_survival.py has asked them.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from scipy.optimize import minimize

from trainer.metrics import survival_estimates as estimates
from trainer.metrics.survival import SURVIVAL_METRICS, SurvivalOutcome, at_horizon
from trainer.training.objectives import cox

PEERS = json.loads((Path(__file__).parent / "peers/survival.json").read_text())


def outcome(known):
    labels, risks, curves = (np.array(known[name]) for name in ("labels", "risks", "curves"))
    return SurvivalOutcome(labels, risks, curves, tuple(known["times"]), tuple(known["horizons"]))


@pytest.mark.parametrize("name", PEERS["metrics"])
def test_metrics_are_those_of_scikit_survival(name):
    known = PEERS["metrics"][name]
    ours = outcome(known)
    for metric in ("concordance", "uno_concordance", "integrated_brier"):
        assert SURVIVAL_METRICS[metric].point(ours) == pytest.approx(known[metric], abs=1e-6)
    assert [one.score for one in ours.until_horizons] == pytest.approx(
        known["horizon_auc"], abs=1e-6
    )
    for horizon, brier in zip(known["horizons"], known["horizon_brier"], strict=True):
        at = at_horizon(SURVIVAL_METRICS["horizon_brier"], horizon)
        assert at.point(ours) == pytest.approx(brier, abs=1e-6)
    observed = ours.observed(np.ones((len(ours.labels), 1)))[:, 0]
    assert observed == pytest.approx(np.array(known["survival"]), abs=1e-6)


@pytest.mark.parametrize("name", PEERS["metrics"])
def test_a_resample_of_each_example_once_has_the_score(name):
    ours = outcome(PEERS["metrics"][name])
    once = np.ones((len(ours.labels), 2), np.int32)
    for metric in SURVIVAL_METRICS.values():
        assert metric.resampled(ours, once) == pytest.approx([metric.point(ours)] * 2)


def test_the_partial_likelihood_is_that_of_lifelines():
    """Linear, on data with many ties: the same maximum at the same coefficients."""
    known = PEERS["veterans"]
    x, labels = np.array(known["columns"]), np.array(known["labels"])
    times, events = (tf.constant(part) for part in labels.T)

    @tf.function
    def loss(coefficients):
        with tf.GradientTape() as tape:
            tape.watch(coefficients)
            risks = tf.linalg.matvec(tf.constant(x), coefficients)
            total = tf.reduce_sum(cox.efron(times, events, tf.ones_like(times), risks))
        return total, tape.gradient(total, coefficients)

    def called(coefficients):
        total, slopes = loss(tf.constant(coefficients))
        return float(total), slopes.numpy()

    found = minimize(called, np.zeros(x.shape[1]), jac=True, tol=1e-9)
    assert found.x == pytest.approx(np.array(known["coefficients"]), abs=1e-2)
    assert -found.fun == pytest.approx(known["log_likelihood"], abs=1e-3)
    baseline = estimates.breslow(labels, x @ found.x, np.ones(len(x)), np.array(known["times"]))
    assert baseline == pytest.approx(np.array(known["baseline"]), rel=2e-2)
