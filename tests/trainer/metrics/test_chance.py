"""Chance is what an answer scores that does not look at the example, by the metric itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer import label_sets
from trainer.metrics import binary
from trainer.metrics.classification import CLASSIFICATION_METRICS
from trainer.metrics.multilabel import MULTILABEL_METRICS
from trainer.metrics.outcome import Outcome
from trainer.metrics.regression import REGRESSION_METRICS, ValueOutcome
from trainer.metrics.set_outcome import SetOutcome

COUNTS = st.integers(1, 30)


def at_chance(metrics, outcome, names):
    for name in names:
        found = metrics[name].chance(outcome)
        assert found == pytest.approx(metrics[name].point(outcome), abs=1e-6), name


@settings(max_examples=30)
@given(counts=st.lists(COUNTS, min_size=2, max_size=6))
def test_of_classes_it_is_the_score_of_their_shares(counts):
    labels = np.repeat(np.arange(len(counts)), counts)
    shares = np.array(counts) / sum(counts)
    outcome = Outcome(labels, np.tile(shares, (len(labels), 1)))
    metrics = binary.metrics() if len(counts) == 2 else CLASSIFICATION_METRICS
    decided = ["accuracy", "balanced_accuracy"]
    at_chance(metrics, outcome, [*decided, "auc", "average_precision", "log_loss", "brier"])


@given(counts=st.tuples(COUNTS, COUNTS))
def test_a_predictive_value_is_that_of_always_the_same_decision(counts):
    labels = np.repeat([0, 1], counts)
    for name, decided in (("npv", 0), ("ppv", 1)):
        always = Outcome(labels, np.tile(np.eye(2)[decided], (len(labels), 1)))
        at_chance(binary.metrics(), always, [name])


@settings(max_examples=30)
@given(rows=st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=2, max_size=20))
def test_of_sets_it_is_the_score_of_every_classs_share(rows):
    labels = np.array([label_sets.of(np.flatnonzero(row).tolist()) for row in rows])
    shares = np.array(rows).mean(axis=0)
    outcome = SetOutcome(labels, np.tile(shares, (len(rows), 1)))
    names = ["accuracy", "log_loss", "brier"]
    if outcome.parts:
        names += ["auc", "average_precision", "balanced_accuracy"]
    at_chance(MULTILABEL_METRICS, outcome, names)
    values, counts = np.unique(labels, return_counts=True)
    decided = label_sets.members(np.full(len(rows), values[counts.argmax()]), 3).astype(float)
    at_chance(MULTILABEL_METRICS, SetOutcome(labels, decided), ["exact_match"])


@given(labels=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
def test_of_values_it_is_the_error_of_the_best_constant(labels):
    labels = np.array(labels)
    mean = ValueOutcome(labels, np.full(len(labels), labels.mean()))
    at_chance(REGRESSION_METRICS, mean, ["rmse"])
    if np.ptp(labels) > 1e-3:
        at_chance(REGRESSION_METRICS, mean, ["r2"])
    median = ValueOutcome(labels, np.full(len(labels), np.median(labels)))
    at_chance(REGRESSION_METRICS, median, ["mae", "median_absolute_error"])
