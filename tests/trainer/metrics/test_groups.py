"""Examples of one group are not independent: intervals count groups, and cover as they claim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from trainer.comparison import bootstrap, proportions, studentized
from trainer.comparison.scoreboard import Scoreboard
from trainer.metrics import auc
from trainer.metrics.classification import CLASSIFICATION_METRICS
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import Outcome
from trainer.metrics.regression import ValueOutcome

VISITS = 8


def patients(random, count, apart=0.0, alike=1.0, grouped=True):
    """Visits of patients whose label, and a share of whose score, is the patient's."""
    of = np.repeat(np.arange(count), VISITS)
    labels = (random.random(count) < 0.4).astype(int)
    labels[:2] = 0, 1
    score = np.sqrt(alike) * random.normal(size=count)[of]
    score += np.sqrt(1 - alike) * random.normal(size=len(of))
    positive = expit(2 * (score + apart * (labels[of] - 0.5)))
    probabilities = np.column_stack([1 - positive, positive])
    return Outcome(labels[of], probabilities, Groups.named(of) if grouped else None)


def repeated(outcome):
    """Each example as a group of equal ones."""
    of = np.repeat(np.arange(len(outcome.labels)), VISITS)
    return Outcome(outcome.labels[of], outcome.probabilities[of], Groups.named(of))


def independent(random, count, apart):
    alone = patients(random, count, apart)
    return Outcome(alone.labels[::VISITS], alone.probabilities[::VISITS])


def test_a_resample_draws_groups_with_all_their_examples():
    groups = Groups.named(["b", "a", "b", "c", "a", "b"])
    weights = np.concatenate(list(bootstrap.draw(6, 200, groups=groups)), axis=1)
    assert (weights[[0, 0, 1]] == weights[[2, 5, 4]]).all()
    assert (weights[[0, 1, 3]].sum(axis=0) == 3).all()
    alone = np.concatenate(list(bootstrap.draw(6, 200, groups=Groups.named(range(6)))), axis=1)
    assert np.array_equal(alone, np.concatenate(list(bootstrap.draw(6, 200)), axis=1))


@given(st.lists(st.booleans(), min_size=30, max_size=200), st.integers(2, 9))
def test_a_group_of_equal_examples_counts_as_one(hits, size):
    of = np.repeat(np.arange(len(hits)), size)
    expected = proportions.share_interval(np.array(hits), 0.95)
    found = proportions.share_interval(np.array(hits)[of], 0.95, Groups.named(of))
    # Student's t, and the unbiased variance, make it a little wider.
    slack = 0.15 * (expected[1] - expected[0])
    assert expected[0] - slack <= found[0] <= expected[0] + 1e-9
    assert expected[1] - 1e-9 <= found[1] <= expected[1] + slack


@given(st.integers(0, 2**32 - 1))
def test_groups_of_one_example_change_little(seed):
    random = np.random.default_rng(seed)
    hits, others = random.random((2, 150)) < 0.8
    alone = Groups.named(range(150))
    for with_groups, without in (
        (proportions.share_interval(hits, 0.95, alone), proportions.share_interval(hits, 0.95)),
        (
            proportions.difference_interval(hits, others, 0.95, alone),
            proportions.difference_interval(hits, others, 0.95),
        ),
    ):
        assert with_groups == pytest.approx(without, abs=0.01)


@pytest.mark.parametrize("apart", [0.0, 2.0, 9.0])
def test_every_interval_of_repeated_examples_is_that_of_the_examples(apart):
    """800 rows that are 100 eightfold: as wide as of 100, and far wider than of 800."""
    alone = independent(np.random.default_rng(5), 100, apart)
    eightfold = repeated(alone)
    rows = Outcome(eightfold.labels, eightfold.probabilities)
    boards = [Scoreboard({"a": o}, CLASSIFICATION_METRICS["auc"]) for o in (alone, eightfold, rows)]
    for name in ("accuracy", "balanced_accuracy", "auc", "log_loss", "f1"):
        of_alone, of_eightfold, of_rows = (b.standings[0].metrics[name] for b in boards)
        assert of_eightfold.value == pytest.approx(of_alone.value, abs=1e-5)
        width = of_alone.high - of_alone.low
        # The log loss has the studentized bootstrap of groups, which is wider where few errors are.
        most = 3 if name == "log_loss" else 1.25
        assert 0.75 * width < of_eightfold.high - of_eightfold.low < most * width
        assert of_rows.high - of_rows.low < 0.75 * width


def test_differences_of_groups_are_wider_too():
    random = np.random.default_rng(6)
    one, other = independent(random, 100, 2.0), independent(random, 100, 2.0)
    other = Outcome(one.labels, other.probabilities)
    pairs = [(one, other), (repeated(one), repeated(other))]
    boards = [
        Scoreboard({"a": a, "b": b}, CLASSIFICATION_METRICS["accuracy"]).lead("a", "b")
        for a, b in pairs
    ]
    assert boards[1].low == pytest.approx(boards[0].low, abs=0.02)
    assert boards[1].high == pytest.approx(boards[0].high, abs=0.02)


def test_errors_of_a_regression_are_of_groups_too():
    random = np.random.default_rng(7)
    labels, values = random.normal(size=60), random.normal(size=60)
    of = np.repeat(np.arange(60), VISITS)
    terms = (values - labels) ** 2
    alone, eightfold = [], []
    for found, outcome in (
        (alone, ValueOutcome(labels, values)),
        (eightfold, ValueOutcome(labels[of], values[of], Groups.named(of))),
    ):
        weights = np.concatenate(
            list(bootstrap.draw(len(outcome.labels), 500, groups=outcome.groups)), axis=1
        )
        rows = outcome.residuals**2
        samples = np.sqrt(rows @ weights / weights.sum(axis=0))
        value = float(np.sqrt(terms.mean()))
        found += studentized.interval(rows, value, samples, 0.95, outcome.groups)
    assert eightfold == pytest.approx(alone, rel=1e-9)


def covered(count, apart, alike, simulations, grouped=True):
    """Share of the simulations whose interval holds the true AUC."""
    random = np.random.default_rng(8)
    truth = auc.macro_auc(patients(random, 20_000, apart, alike))
    hits = 0
    for _ in range(simulations):
        outcome = patients(random, count, apart, alike, grouped)
        low, high = auc.newcombe_interval(auc.macro_auc(outcome), outcome, 0.95)
        hits += low <= truth <= high
    return hits / simulations


def test_a_model_that_knows_nothing_of_other_patients_is_not_praised():
    """80 patients with 8 visits each, a score that is the patient's: counted as rows, a model that
    is no better than chance is said to be better, or worse, more often than not.
    """
    assert covered(80, 0.0, 1.0, 100) >= 0.90
    assert covered(80, 0.0, 1.0, 100, grouped=False) < 0.65


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("apart", [0.0, 2.0, 4.0])
@pytest.mark.parametrize("count", [20, 80])
def test_the_interval_of_groups_covers_the_true_auc(count, apart, alike):
    # Three standard errors below 95% of 400.
    assert covered(count, apart, alike, 400) > 0.915
