"""The losses of masks: their values, and what they make of small regions."""

import numpy as np
import pytest
import tensorflow as tf

from trainer.training import objectives, sample
from trellis_contracts.hyperparameters import Hyperparameters

DATASET = sample.images((16, 16, 1), "segmentation", 3)


def losses(true, logits, **h):
    aim = objectives.build(DATASET, Hyperparameters(**h))
    return aim.losses(tf.constant(true), tf.constant(logits, tf.float32)).numpy()


def drawn(count=4, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, 3, (count, 16, 16)).astype(np.uint8), random.normal(
        size=(count, 16, 16, 3)
    )


def probabilities(logits):
    powers = np.exp(logits)
    return powers / powers.sum(axis=-1, keepdims=True)


def test_cross_entropy_and_focal_loss_are_means_over_the_pixels():
    true, logits = drawn()
    p = np.take_along_axis(probabilities(logits), true[..., None], -1)[..., 0]
    assert losses(true, logits) == pytest.approx(-np.log(p).mean(axis=(1, 2)), rel=1e-5)
    focal = ((1 - p) ** 3 * -np.log(p)).mean(axis=(1, 2))
    assert losses(true, logits, loss="focal", focal_gamma=3.0) == pytest.approx(focal, rel=1e-4)


def test_the_dice_loss_is_one_minus_the_dice_of_the_probabilities():
    true, logits = drawn()
    p = probabilities(logits)
    dices = [
        2 * (p[..., c] * (true == c)).sum(axis=(1, 2)) / (p[..., c] + (true == c)).sum(axis=(1, 2))
        for c in (1, 2)
    ]
    expected = 1 - np.mean(dices, axis=0)
    assert losses(true, logits, loss="dice") == pytest.approx(expected, rel=1e-4)
    both = losses(true, logits, loss="cross_entropy+dice")
    assert both == pytest.approx(expected + losses(true, logits), rel=1e-4)


@pytest.mark.parametrize("loss", ["cross_entropy", "focal", "dice", "cross_entropy+dice"])
def test_right_masks_cost_nothing_and_every_loss_has_a_gradient(loss):
    true, logits = drawn()
    assert losses(true, 50.0 * np.eye(3)[true], loss=loss) == pytest.approx(0, abs=1e-4)
    aim = objectives.build(DATASET, Hyperparameters(loss=loss))
    given = tf.Variable(logits, dtype=tf.float32)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(aim.losses(tf.constant(true), given))
    given.assign_sub(tape.gradient(total, given))
    assert tf.reduce_sum(aim.losses(tf.constant(true), given)) < total


def test_a_class_that_is_neither_there_nor_predicted_costs_nothing():
    true = np.zeros((1, 16, 16), np.uint8)
    true[0, :4] = 1
    assert losses(true, 50.0 * np.eye(3)[true], loss="dice") == pytest.approx(0, abs=1e-4)


def test_a_small_region_weighs_more_in_the_dice_loss():
    """Missing 4 pixels of 256 costs a sixtieth of the cross-entropy, and half of the Dice loss."""
    true = np.zeros((1, 16, 16), np.uint8)
    true[0, :8], true[0, 14:, 14:] = 1, 2
    missed = np.where(true == 2, 0, true)
    assert losses(true, 50.0 * np.eye(3)[missed], loss="dice") == pytest.approx(0.5, abs=1e-2)


def test_the_reported_loss_is_the_cross_entropy_whatever_is_trained():
    true, logits = drawn()
    aim = objectives.build(DATASET, Hyperparameters(loss="dice"))
    reported, _ = aim.measures(tf.constant(true), tf.constant(logits, tf.float32))
    assert reported.numpy() == pytest.approx(losses(true, logits), rel=1e-6)
