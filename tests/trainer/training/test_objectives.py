"""Losses and metrics of both kinds of task."""

import math
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from trainer import label_sets
from trainer.comparison.scoreboard import metric_named
from trainer.metrics import classification, multilabel, regression
from trainer.metrics.formulas import auc, average_precision
from trainer.metrics.outcome import Outcome
from trainer.metrics.regression import ValueOutcome
from trainer.metrics.set_outcome import SetOutcome
from trainer.training import TrainingError, objectives
from trellis_contracts.dataset_features import Label, Statistics
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.tasks import CLASSIFICATION, MULTILABEL, REGRESSION

PLAIN = Hyperparameters()


def of_classes(*in_validation):
    """A dataset with so many examples of each class in its validation split."""
    counts = SimpleNamespace(classes={str(c): n for c, n in enumerate(in_validation)})
    return SimpleNamespace(
        family=CLASSIFICATION,
        classes=tuple(counts.classes),
        counts={"train": counts, "validation": counts},
        weight=None,
    )


def of_sets(classes):
    """A dataset whose examples have any number of classes."""
    names = tuple(map(str, range(classes)))
    return SimpleNamespace(family=MULTILABEL, classes=names)


def of_numbers(mean, stddev):
    statistics = Statistics(9, 0, mean, stddev, mean - stddev, mean + stddev, ())
    return SimpleNamespace(family=REGRESSION, classes=(), label=Label(statistics=statistics))


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=40).filter(
        lambda pairs: len({positive for _, positive in pairs}) == 2
    )
)
def test_the_areas_are_those_of_scikit_learn(pairs):
    scores, positive = map(np.array, zip(*pairs, strict=True))
    for own, known in ((auc, roc_auc_score), (average_precision, average_precision_score)):
        assert own(scores.astype(np.float32), positive) == pytest.approx(
            known(positive, scores), abs=1e-12
        )


def test_more_than_two_classes_are_gathered_only_where_it_decides():
    assert objectives.build(of_classes(3, 4), PLAIN).gathered == 2
    assert not objectives.build(of_classes(3, 0), PLAIN).gathered
    assert not objectives.build(of_classes(3, 4, 5), PLAIN).gathered
    assert objectives.build(of_classes(3, 4, 5), PLAIN, metric="auc").gathered == 4
    assert not objectives.build(of_numbers(0, 1), PLAIN).gathered
    assert objectives.build(of_numbers(0, 1), PLAIN, metric="median_absolute_error").gathered


def evaluated(aim, labels, outputs):
    """Metrics as an evaluation computes them, in two batches filled up with examples that do not
    count.
    """
    filled = [np.concatenate([part, part[[0, 0, 0]]]) for part in (labels, outputs)]
    weights = np.array([1.0] * len(labels) + [0.0] * 3, np.float32)
    sums, columns = 0, []
    for rows in np.array_split(np.arange(len(weights)), 2):
        batch = (tf.constant(filled[0][rows]), tf.constant(filled[1][rows], tf.float32))
        counted = tf.constant(weights[rows])
        measures = [tf.reduce_sum(measure * counted) for measure in aim.measures(*batch)]
        sums += np.concatenate([measures, aim.tally(*batch, counted)]).astype(float)
        columns.append(aim.ranked(*batch).numpy()[weights[rows] > 0])
    means = aim.means(sums[:2], len(labels))
    metrics = means | aim.tallied(sums[2:], means, len(labels))
    return metrics | aim.orders(np.concatenate(columns))


@pytest.mark.parametrize("classes", [2, 4])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_training_and_leaderboard_score_the_same_predictions_alike(classes, seed):
    random = np.random.default_rng(seed)
    # A class may be absent, or never predicted.
    labels = random.integers(0, random.integers(2, classes + 1), random.integers(4, 40))
    labels[:2] = 0, 1
    # Of two classes eighths: ties, and no rounding. A softmax of more is rounded by where its row
    # stands in the batch, which would decide what is a tie: there are none.
    shape = len(labels), classes
    eighths, any_number = random.integers(-20, 20, shape) / 8, random.normal(0, 2, shape)
    outputs = (eighths if classes == 2 else any_number).astype(np.float32)
    probabilities = tf.nn.softmax(outputs).numpy()
    if classes == 2:
        # Ranked by log odds in training: equal odds must be equal probabilities to the last bit.
        odds = outputs[:, 1] - outputs[:, 0]
        probabilities = 1 / (1 + np.exp(np.stack([odds, -odds], axis=1)))
    aim = objectives.build(of_classes(*[1] * classes), PLAIN, metric="auc")
    outcome = Outcome(labels, probabilities)
    on_validation = evaluated(aim, labels, outputs)
    on_test = classification.exact(labels, probabilities)
    assert on_validation.keys() == on_test.keys()
    assert {"loss", "auc", "f1", "brier"} < on_test.keys()
    for name in on_test:
        point = pytest.approx(metric_named(name).point(outcome), abs=2e-6)
        assert (name, on_validation[name]) == (name, point)
        assert (name, on_test[name]) == (name, point)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_training_and_leaderboard_score_the_same_sets_alike(seed):
    random = np.random.default_rng(seed)
    # A class may be absent from all examples, or in all.
    labels = random.integers(0, 2 ** random.integers(1, 4), random.integers(4, 40))
    labels[:2] = 0, 1
    outputs = random.normal(0, 2, (len(labels), 3)).astype(np.float32)
    probabilities = tf.sigmoid(outputs).numpy()
    aim = objectives.build(of_sets(3), PLAIN, metric="auc")
    outcome = SetOutcome(labels, probabilities)
    on_validation = evaluated(aim, labels, outputs)
    on_test = multilabel.exact(labels, probabilities)
    assert on_validation.keys() == on_test.keys()
    assert {"loss", "auc", "f1", "brier", "exact_match"} < on_test.keys()
    for name in on_test:
        point = pytest.approx(metric_named(name, MULTILABEL).point(outcome), abs=2e-6)
        assert (name, on_validation[name]) == (name, point)
        assert (name, on_test[name]) == (name, point)


@pytest.mark.parametrize(("gamma", "smoothing"), [(2.0, 0.0), (0.5, 0.1), (0.0, 0.1)])
def test_the_focal_loss_of_sets_counts_easy_answers_less(gamma, smoothing):
    random = np.random.default_rng(3)
    labels, outputs = random.integers(0, 8, 50), random.normal(0, 3, (50, 3)).astype(np.float32)
    h = Hyperparameters(loss="focal", focal_gamma=gamma, label_smoothing=smoothing)
    aim = objectives.build(of_sets(3), h)
    true = label_sets.members(labels, 3).astype(np.float32)
    others = true * (1 - tf.sigmoid(outputs)) + (1 - true) * tf.sigmoid(outputs)
    smooth = true * (1 - smoothing) + smoothing / 2
    known = tf.nn.sigmoid_cross_entropy_with_logits(smooth, outputs) * others**gamma
    np.testing.assert_allclose(
        aim.losses(tf.constant(labels), outputs), tf.reduce_mean(known, 1), rtol=1e-4, atol=1e-6
    )


def test_a_class_that_an_example_has_counts_its_weight_and_the_reported_loss_counts_none():
    labels, outputs = tf.constant([0b01, 0b10], tf.int64), tf.zeros([2, 2])
    aim = objectives.build(of_sets(2), Hyperparameters(class_weights='{"1": 3}'))
    half = math.log(2)
    assert aim.losses(labels, outputs).numpy() == pytest.approx([half, (half + 3 * half) / 2])
    assert aim.measures(labels, outputs)[0].numpy() == pytest.approx([half, half])


def test_classes_of_an_own_loss_of_sets_are_weighed_there():
    with pytest.raises(TrainingError, match="weigh there"):
        objectives.build(of_sets(2), Hyperparameters(class_weights='{"1": 3}'), tf.square)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_training_and_leaderboard_measure_the_same_errors_alike(seed):
    random = np.random.default_rng(seed)
    labels = random.normal(1000, 20, random.integers(2, 40)).astype(np.float32)
    aim = objectives.build(of_numbers(990, 25), PLAIN, metric="median_absolute_error")
    outputs = random.normal(0, 1, (len(labels), 1)).astype(np.float32)
    values = aim.answers(tf.constant(outputs))["value"].numpy()
    on_validation = evaluated(aim, labels, outputs)
    on_test = regression.exact(labels.astype(float), values, scale=25.0)
    assert on_validation == pytest.approx(on_test, rel=1e-3)
    outcome = ValueOutcome(labels.astype(float), values)
    for name in on_test.keys() - {"loss"}:
        assert on_test[name] == pytest.approx(metric_named(name, REGRESSION).point(outcome))


def test_of_equal_labels_there_is_no_r2():
    aim = objectives.build(of_numbers(990, 25), PLAIN, metric="median_absolute_error")
    labels, outputs = np.full(7, 1000.0, np.float32), np.zeros((7, 1), np.float32)
    assert "r2" not in evaluated(aim, labels, outputs)
    assert "r2" not in regression.exact(labels.astype(float), labels + 1.0, scale=25.0)


def test_label_smoothing_is_in_what_is_minimized_and_not_in_what_is_reported():
    labels, outputs = tf.constant([0], tf.int64), tf.constant([[3.0, 0.0]])
    smooth = objectives.build(of_classes(1, 1), Hyperparameters(label_smoothing=0.2))
    wrong, right = math.log1p(math.exp(3)), math.log1p(math.exp(-3))
    assert float(smooth.losses(labels, outputs)[0]) == pytest.approx(0.9 * right + 0.1 * wrong)
    loss, hit = smooth.measures(labels, outputs)
    assert (float(loss[0]), float(hit[0])) == pytest.approx((right, 1))
    assert smooth.means((6.0, 3.0), 4) == {"loss": 1.5, "accuracy": 0.75}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("gamma", "smoothing"), [(2.0, 0.0), (0.5, 0.1), (0.0, 0.1)])
def test_the_focal_loss_is_that_of_keras(classes, gamma, smoothing):
    random = np.random.default_rng(3)
    labels, outputs = random.integers(0, classes, 50), random.normal(0, 3, (50, classes))
    outputs = outputs.astype(np.float32)
    h = Hyperparameters(loss="focal", focal_gamma=gamma, label_smoothing=smoothing)
    known = keras.losses.categorical_focal_crossentropy(
        np.eye(classes, dtype=np.float32)[labels], outputs, alpha=1, gamma=gamma,
        from_logits=True, label_smoothing=smoothing,
    )  # fmt: skip
    aim = objectives.build(of_classes(*[1] * classes), h)
    losses = aim.losses(tf.constant(labels), outputs)
    np.testing.assert_allclose(losses, known, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_the_focal_loss_has_a_gradient_where_a_prediction_is_certain(gamma):
    aim = objectives.build(of_classes(1, 1), Hyperparameters(loss="focal", focal_gamma=gamma))
    outputs = tf.constant([[40.0, -40.0], [-40.0, 40.0]])
    with tf.GradientTape() as tape:
        tape.watch(outputs)
        loss = aim.losses(tf.constant([0, 0], tf.int64), outputs)
    right, wrong = tape.gradient(loss, outputs).numpy()[:, 0]
    assert abs(right) < 1e-3
    assert wrong == pytest.approx(-1, rel=1e-3)


def test_weights_of_classes_are_in_what_is_minimized_and_not_in_what_is_reported():
    labels, outputs = tf.constant([0, 1], tf.int64), tf.zeros([2, 2])
    aim = objectives.build(of_classes(9, 1), Hyperparameters(class_weights="balanced"))
    even = math.log(2)
    assert aim.losses(labels, outputs).numpy() == pytest.approx([even * 10 / 18, even * 10 / 2])
    assert aim.measures(labels, outputs)[0].numpy() == pytest.approx([even, even])


def test_errors_of_a_regression_are_in_the_labels_unit():
    aim = objectives.build(of_numbers(mean=1000.0, stddev=20.0), PLAIN)
    labels, outputs = tf.constant([1000.0, 1040.0]), tf.constant([[0.5], [1.0]])
    squares, absolutes = aim.measures(labels, outputs)
    sums = (float(tf.reduce_sum(squares)), float(tf.reduce_sum(absolutes)))
    errors = aim.answers(outputs)["value"].numpy() - labels.numpy()
    np.testing.assert_allclose(errors, [10, -20])
    assert aim.means(sums, 2) == pytest.approx({"loss": 250 / 20**2, "rmse": 250**0.5, "mae": 15.0})
