"""Constant predictions and orders of chance are found; weak models that are honest are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainer.comparison.trainings import a_training
from trainer import label_sets
from trainer.comparison.learned import nothing, stalled, unfinished
from trainer.comparison.scoreboard import Scoreboard, metrics_for
from trainer.metrics.outcome import Outcome
from trainer.metrics.regression import ValueOutcome
from trainer.metrics.set_outcome import SetOutcome

# What is found does not look at intervals.
pytestmark = pytest.mark.usefixtures("few_resamples_in_module")

SEEDS = st.integers(0, 2**32 - 1)


def why(outcome):
    classes = () if isinstance(outcome, ValueOutcome) else tuple("abcdefgh"[: outcome.class_count])
    metrics = metrics_for(outcome.family, classes)
    primary = metrics["rmse" if isinstance(outcome, ValueOutcome) else "log_loss"]
    return nothing("a", Scoreboard({"a": outcome}, primary, classes=classes))


def of_two(labels, odds):
    p = 1 / (1 + np.exp(-odds))
    return Outcome(labels, np.stack([1 - p, p], axis=1))


def test_an_auc_near_1_of_equal_probabilities_is_nothing():
    """The case is that of a camera's pictures that lost their lower bits: all from 0.3272 to
    0.3277.
    """
    random = np.random.default_rng(1)
    labels = (random.random(400) < 0.33).astype(int)
    p = 0.32745 + 0.0001 * (labels - 0.5) + random.uniform(-0.0001, 0.0001, 400)
    outcome = Outcome(labels, np.stack([1 - p, p], axis=1))
    assert metrics_for(outcome.family, ("a", "b"))["auc"].point(outcome) > 0.7
    assert "constant" in why(outcome)


@settings(max_examples=20)
@given(seed=SEEDS, share=st.sampled_from([0.005, 0.05, 0.5]), classes=st.integers(2, 5))
def test_constant_probabilities_are_found_at_any_share_and_scale(seed, share, classes):
    random = np.random.default_rng(seed)
    base = random.dirichlet(np.ones(classes))
    base[0] = share
    rows = base * np.exp(random.normal(0, 0.003, (500, classes)))
    outcome = Outcome(random.integers(0, classes, 500), rows / rows.sum(axis=1, keepdims=True))
    assert "constant" in why(outcome)


def test_some_predictions_that_stand_out_by_chance_hide_nothing():
    labels = np.repeat([0, 1], 500)
    odds = np.full(1000, -0.7)
    odds[[3, 503]] = 3.0  # one of each class
    assert "constant" in why(of_two(labels, odds))


def test_a_detector_of_something_rare_is_not_constant():
    labels = np.repeat([0, 1], [995, 5])
    odds = np.full(1000, -6.0)
    odds[[996, 998, 10]] = 2.5
    assert why(of_two(labels, odds)) is None


@settings(max_examples=20)
@given(
    seed=SEEDS,
    skill=st.sampled_from([0.1, 0.2, 0.5]),
    share=st.sampled_from([0.02, 0.3]),
    shift=st.sampled_from([-2.0, 0.0, 2.0]),
    scale=st.sampled_from([0.5, 1.0, 20.0]),
)
def test_honest_weak_models_pass_however_far_off_their_probabilities_are(
    seed, skill, share, shift, scale
):
    """From an AUC of 0.53 on; class weights shift the odds, training scales them."""
    random = np.random.default_rng(seed)
    labels = (random.random(1000) < share).astype(int)
    evidence = skill * (skill * labels + random.normal(size=1000) - skill / 2)
    outcome = of_two(labels, scale * evidence + np.log(share / (1 - share)) + shift)
    found = why(outcome)
    if metrics_for(outcome.family, ("a", "b"))["auc"].point(outcome) > 0.5:
        assert found is None
    else:
        # By chance of this split the order is none: then the loss must be better than a constant's.
        assert found is None or "chance" in found


def test_an_order_of_chance_with_a_loss_of_chance_is_nothing():
    random = np.random.default_rng(3)
    labels = np.tile([0, 1], 200)
    outcome = of_two(labels, np.repeat(random.normal(size=200), 2))
    assert metrics_for(outcome.family, ("a", "b"))["auc"].point(outcome) == pytest.approx(0.5)
    assert "chance" in why(outcome)


def test_sets_are_constant_if_every_class_is():
    random = np.random.default_rng(4)
    true = random.random((300, 3)) < [0.1, 0.3, 0.5]
    labels = np.array([label_sets.of(np.flatnonzero(row).tolist()) for row in true])
    constant = np.tile([0.1, 0.3, 0.5], (300, 1))
    assert "constant" in why(SetOutcome(labels, constant))
    constant[:, 1] += 0.1 * (true[:, 1] - 0.5)
    assert why(SetOutcome(labels, constant)) is None


@settings(max_examples=20)
@given(seed=SEEDS, scale=st.sampled_from([1e-3, 1.0, 1e6]))
def test_values_that_hardly_vary_are_found_in_any_unit(seed, scale):
    random = np.random.default_rng(seed)
    labels = scale * random.lognormal(size=300)
    assert "constant" in why(ValueOutcome(labels, scale * (1 + random.normal(0, 1e-4, 300))))
    honest = 0.1 * (labels - labels.mean()) + scale * random.normal(0, 0.1, 300)
    assert why(ValueOutcome(labels, honest)) is None


def test_values_that_fall_with_the_label_and_cost_more_than_a_constant_are_nothing():
    labels = np.linspace(0, 1, 50)
    assert "rise" in why(ValueOutcome(labels, 1 - labels))
    # Far off, but in the right order: a unit that was taken for another, not nothing.
    assert why(ValueOutcome(labels, 1000 * labels)) is None


def test_too_few_predictions_may_be_equal_by_chance():
    assert why(of_two(np.array([0, 1, 1]), np.zeros(3))) is None


@pytest.mark.parametrize(
    ("losses", "fell"),
    [([0.7, 0.6], True), ([0.7], True), ([0.7, 0.7, 0.7], False), ([0.7, 0.9, 0.65], True)],
)
def test_a_loss_that_never_falls_below_the_first_epochs_is_reported(losses, fell):
    training = a_training(history=[{"epoch": i, "loss": loss} for i, loss in enumerate(losses, 1)])
    assert (stalled(training) is None) == fell


def of_epochs(*losses, **changes):
    history = [{"epoch": i, "val_loss": loss} for i, loss in enumerate(losses, 1)]
    return a_training(history=history, **{"best_epoch": len(losses), **changes})


def test_a_training_that_ended_while_it_became_better_is_reported():
    assert unfinished(of_epochs(0.9, 0.6, 0.45)) == (
        "still became better in the last of its 3 epochs, by 25% in the loss on the validation "
        "split: more may be better (train: {epochs: 6})"
    )


@pytest.mark.parametrize(
    "training",
    [
        pytest.param(None, id="a baseline"),
        pytest.param(of_epochs(0.9), id="one epoch"),
        pytest.param(of_epochs(0.9, 0.6, 0.599), id="hardly better"),
        pytest.param(of_epochs(0.9, 0.3, 0.6, 0.45), id="no better than before"),
        pytest.param(of_epochs(0.9, 0.6, 0.45, best_epoch=2), id="best by its metric before"),
        pytest.param(of_epochs(0.9, 0.6, hyperparameters={"schedule": "cosine"}), id="planned"),
        pytest.param(of_epochs(0.9, 0.0), id="nothing left to lower"),
        pytest.param(of_epochs(0.0, 0.2), id="nothing was left to lower"),
        pytest.param(of_epochs(-0.5, 0.2), id="worse, of a loss that may be negative"),
        pytest.param(a_training(best_epoch=3), id="without a history"),
    ],
)
def test_other_trainings_are_not(training):
    assert unfinished(training) is None
