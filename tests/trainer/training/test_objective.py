"""Losses and metrics of both kinds of task."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from trainer.dataset_features import Label, Statistics
from trainer.training import objective
from trainer.training.objective import auc


def of_classes(*in_validation):
    """A dataset with so many examples of each class in its validation split."""
    counts = SimpleNamespace(classes={str(c): n for c, n in enumerate(in_validation)})
    return SimpleNamespace(
        is_regression=False, classes=tuple(counts.classes), counts={"validation": counts}
    )


def of_numbers(mean, stddev):
    statistics = Statistics(9, 0, mean, stddev, mean - stddev, mean + stddev, ())
    return SimpleNamespace(is_regression=True, label=Label(statistics=statistics))


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=40).filter(
        lambda pairs: len({positive for _, positive in pairs}) == 2
    )
)
def test_the_area_is_that_of_scikit_learn(pairs):
    scores, positive = map(np.array, zip(*pairs, strict=True))
    assert auc(scores.astype(np.float32), positive) == pytest.approx(
        roc_auc_score(positive, scores), abs=1e-12
    )


def test_only_two_classes_that_both_occur_are_ranked():
    assert objective.build(of_classes(3, 4), 0).ranks
    assert not objective.build(of_classes(3, 0), 0).ranks
    assert not objective.build(of_classes(3, 4, 5), 0).ranks


def test_label_smoothing_is_in_what_is_minimized_and_not_in_what_is_reported():
    labels, outputs = tf.constant([0], tf.int64), tf.constant([[3.0, 0.0]])
    smooth = objective.build(of_classes(1, 1), 0.2)
    wrong, right = math.log1p(math.exp(3)), math.log1p(math.exp(-3))
    assert float(smooth.losses(labels, outputs)[0]) == pytest.approx(0.9 * right + 0.1 * wrong)
    loss, hit = smooth.measures(labels, outputs)
    assert (float(loss[0]), float(hit[0])) == pytest.approx((right, 1))
    assert smooth.means((6.0, 3.0), 4) == {"loss": 1.5, "accuracy": 0.75}


def test_errors_of_a_regression_are_in_the_labels_unit():
    aim = objective.build(of_numbers(mean=1000.0, stddev=20.0), 0)
    labels, outputs = tf.constant([1000.0, 1040.0]), tf.constant([[0.5], [1.0]])
    squares, absolutes = aim.measures(labels, outputs)
    sums = (float(tf.reduce_sum(squares)), float(tf.reduce_sum(absolutes)))
    errors = aim.values(outputs).numpy() - labels.numpy()
    np.testing.assert_allclose(errors, [10, -20])
    assert aim.means(sums, 2) == pytest.approx({"loss": 250 / 20**2, "rmse": 250**0.5, "mae": 15.0})
