"""Metrics: scikit-learn's on the split as it is, the same quantity for weighted resamples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from trainer.metrics.classification import CLASSIFICATION_METRICS
from trainer.metrics.outcome import Outcome

METRICS = list(CLASSIFICATION_METRICS.values())


def point(name, outcome):
    return CLASSIFICATION_METRICS[name].point(outcome)


@st.composite
def outcomes_with_weights(draw):
    """Any labels and probabilities, ties among them, and how often each example is drawn."""
    n, classes = draw(st.integers(2, 30)), draw(st.integers(2, 6))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    digits = draw(st.sampled_from([1, 2, 9]))  # few digits make ties
    probabilities = random.dirichlet(np.ones(classes), n).round(digits)
    labels = random.integers(0, classes, n)
    weights = random.integers(0, 4, n).astype(np.int32)
    weights[0] += 1
    return Outcome(labels, probabilities), weights


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@settings(max_examples=60)
@given(drawn=outcomes_with_weights())
def test_a_weighted_resample_scores_like_the_repeated_examples(metric, drawn):
    outcome, weights = drawn
    rows = np.repeat(np.arange(len(weights)), weights)
    repeated = Outcome(outcome.labels[rows], outcome.probabilities[rows])
    resampled = metric.resampled(outcome, weights[:, None])
    assert resampled.shape == (1,)
    assert resampled[0] == pytest.approx(metric.point(repeated), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("classes", [2, 7])
def test_scores_are_scikit_learns(classifier, classes):
    labels = np.random.default_rng(1).integers(0, classes, 500)
    outcome = Outcome(labels, classifier(labels, classes, skill=1, seed=2))
    scores = outcome.probabilities[:, 1] if classes == 2 else outcome.probabilities
    expected = {
        "accuracy": metrics.accuracy_score(labels, outcome.predicted),
        "balanced_accuracy": metrics.balanced_accuracy_score(labels, outcome.predicted),
        "f1": metrics.f1_score(labels, outcome.predicted, average="macro"),
        "auc": metrics.roc_auc_score(labels, scores, multi_class="ovr"),
        "average_precision": metrics.average_precision_score(
            labels if classes == 2 else np.eye(classes)[labels], scores, average="macro"
        ),
        "log_loss": metrics.log_loss(labels, outcome.probabilities),
        "brier": metrics.brier_score_loss(labels, outcome.probabilities),
    }
    assert {name: point(name, outcome) for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("classes", [2, 3, 120])
def test_a_perfect_classifier_reaches_the_best_of_every_metric(classes):
    labels = np.arange(240) % classes
    outcome = Outcome(labels, np.eye(classes)[labels])
    best = {name: point(name, outcome) for name in CLASSIFICATION_METRICS}
    assert best == pytest.approx(
        dict.fromkeys(("accuracy", "balanced_accuracy", "f1", "auc", "average_precision"), 1)
        | dict.fromkeys(("log_loss", "brier", "ece"), 0),
        abs=1e-4,
    )


def test_a_classifier_that_always_says_the_same():
    labels = np.array([0] * 90 + [1] * 10)
    outcome = Outcome(labels, np.tile([0.9, 0.1], (100, 1)))
    assert point("accuracy", outcome) == 0.9
    assert point("balanced_accuracy", outcome) == 0.5
    assert point("auc", outcome) == 0.5
    assert point("f1", outcome) == pytest.approx((2 * 0.9 / 1.9 + 0) / 2)
    assert point("ece", outcome) == pytest.approx(0)  # as sure as it should be


def test_calibration_error_is_the_gap_between_confidence_and_accuracy():
    # Ten predictions with 95% confidence, seven of them right; ten with 65%, five right.
    labels = np.array([0] * 7 + [1] * 3 + [0] * 5 + [1] * 5)
    probabilities = np.array([[0.95, 0.05]] * 10 + [[0.65, 0.35]] * 10)
    outcome = Outcome(labels, probabilities)
    assert point("ece", outcome) == pytest.approx((0.95 - 0.7) / 2 + (0.65 - 0.5) / 2)


def test_one_sure_mistake_costs_a_bounded_log_loss():
    outcome = Outcome(np.array([0]), np.array([[0.0, 1.0]]))
    assert point("log_loss", outcome) == pytest.approx(-np.log(np.finfo(np.float32).eps), rel=1e-6)


def test_a_class_without_test_examples_is_left_out_of_class_means():
    labels = np.array([0, 0, 1, 1])  # nothing of class 2
    probabilities = [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.7, 0.1]]
    outcome = Outcome(labels, np.array(probabilities))
    assert point("balanced_accuracy", outcome) == 1
    assert point("auc", outcome) == 1
    assert point("f1", outcome) == 1


def test_auc_is_undefined_when_only_one_class_is_there():
    outcome = Outcome(np.array([1, 1]), np.array([[0.2, 0.8], [0.6, 0.4]]))
    assert np.isnan(point("auc", outcome))
    assert np.isnan(
        CLASSIFICATION_METRICS["auc"].resampled(outcome, np.ones((2, 3), np.int32))
    ).all()


def test_a_probability_that_rounding_left_above_one_is_in_the_last_bin():
    outcome = Outcome(np.array([0]), np.array([[np.nextafter(np.float32(1), 2), 0.0]]))
    assert point("ece", outcome) == pytest.approx(0, abs=1e-6)


def test_of_equally_probable_classes_the_first_is_predicted():
    outcome = Outcome(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert outcome.predicted.tolist() == [0, 0]
