"""Averages over classes keep an honest interval where the test split shows hardly an error."""

import numpy as np
import pytest

from trainer.comparison import bootstrap, pseudo_error
from trainer.comparison.scoreboard import Scoreboard
from trainer.metrics.classification import CLASSIFICATION_METRICS
from trainer.metrics.outcome import Outcome

METRICS = [metric for metric in CLASSIFICATION_METRICS.values() if metric.pseudo_errors]
ACCURACY = CLASSIFICATION_METRICS["accuracy"]


def perfect(classes, examples=180, confidence=0.9):
    labels = np.arange(examples) % classes
    probabilities = np.full((examples, classes), (1 - confidence) / (classes - 1))
    probabilities[np.arange(examples), labels] = confidence
    return Outcome(labels, probabilities)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_without_an_error_no_score_is_certain(classes):
    """The bootstrap's interval would be [1, 1]; three errors in 180 are not ruled out."""
    (standing,) = Scoreboard({"a": perfect(classes)}, ACCURACY).standings
    for metric in METRICS:
        estimate = standing.metrics[metric.name]
        assert (estimate.value, estimate.high) == (1, 1)
        assert 0.94 < estimate.low < 0.999, metric.name


def test_two_without_an_error_may_still_differ():
    outcomes = {"a": perfect(3), "b": perfect(3, confidence=0.8)}
    difference = Scoreboard(outcomes, ACCURACY).standings[1].difference
    for metric in METRICS:
        estimate = difference.metrics[metric.name]
        assert estimate.value == 0
        assert estimate.low < -0.001 < 0.001 < estimate.high, metric.name


def test_the_resamples_do_not_depend_on_the_chunk_size(monkeypatch):
    outcomes = [perfect(3, 37)]
    whole = pseudo_error.resampled_scores(outcomes, METRICS, resamples=100)
    monkeypatch.setattr(bootstrap, "_CHUNK_ELEMENTS", 0)
    assert np.array_equal(whole, pseudo_error.resampled_scores(outcomes, METRICS, resamples=100))


def test_a_class_without_examples_gets_no_pseudo_example():
    absent = np.column_stack([perfect(3).probabilities, np.zeros(180)])
    outcome = Outcome(perfect(3).labels, absent)
    with_errors, with_hits = pseudo_error.resampled_scores([outcome], METRICS, resamples=50)[0, 0]
    assert with_errors.min() > 0.9
    assert np.all(with_hits == 1)


def test_with_many_errors_it_agrees_with_the_bootstrap(classifier):
    labels = np.random.default_rng(1).integers(0, 4, 2000)
    outcome = Outcome(labels, classifier(labels, 4, skill=1.5, seed=2))
    plain = bootstrap.resampled_scores([outcome], METRICS, resamples=500)[0]
    extended = pseudo_error.resampled_scores([outcome], METRICS, resamples=500)[0]
    for samples, (with_errors, _) in zip(plain, extended, strict=True):
        assert pseudo_error.interval(samples, with_errors, 0.95) == pytest.approx(
            bootstrap.interval(samples, 0.95), abs=0.001
        )


def test_the_intervals_cover_the_truth_with_three_errors_expected():
    """60 splits of 180 examples from a population in which 1.7% are errors."""
    random = np.random.default_rng(3)
    noise = random.normal(size=(100_000, 3))
    labels = random.integers(0, 3, 100_000)
    noise[np.arange(len(labels)), labels] += 3.35
    shares = np.exp(noise) / np.exp(noise).sum(axis=1, keepdims=True)
    truth = [metric.point(Outcome(labels, shares)) for metric in METRICS]
    covered = np.zeros(len(METRICS))
    for simulation in range(60):
        rows = random.integers(0, len(labels), 180)
        outcome = [Outcome(labels[rows], shares[rows])]
        plain = bootstrap.resampled_scores(outcome, METRICS, 200, simulation)[0]
        extended = pseudo_error.resampled_scores(outcome, METRICS, 200, simulation)[0]
        for i, (samples, (with_errors, _)) in enumerate(zip(plain, extended, strict=True)):
            low, high = pseudo_error.interval(samples, with_errors, 0.95)
            covered[i] += low <= truth[i] <= high
    assert covered.min() >= 0.9 * 60, covered
