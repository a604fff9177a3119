"""The losses of masks: their values, and that workers learn what one does."""

import json

import numpy as np
import pytest
import tensorflow as tf

from testbed.trainings import arguments, write_dataset
from trainer.estimators import run
from trainer.training import objectives, sample
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
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


def pictures(count, seed=0):
    """Pictures (count, 16, 16, 1) of three levels of brightness, and their masks."""
    true, _ = drawn(count, seed)
    true = true[:, ::4, ::4].repeat(4, 1).repeat(4, 2)
    noise = np.random.default_rng(seed).normal(0, 10, true.shape)
    return (true * 80.0 + 40 + noise).clip(0, 255).astype(np.uint8)[..., None], true


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["cross_entropy", "cross_entropy+dice"])
def test_two_workers_and_accumulated_batches_learn_what_one_does(loss, tmp_path, make_job):
    """The train split is one global batch, so that its order does not matter."""
    files = {"train": [32, 32], "validation": [20], "test": [20]}
    address = write_dataset(tmp_path / "d", *pictures(104), files=files)
    flags = {"model": "unet", "task": "segmentation", "loss": loss, "blocks": 1, "filters": 4}
    flags |= {"epochs": 4, "learning_rate": 0.05, "learning_rate_scaling": "none"}

    def alone(name, **more):
        argv = arguments(address, output=tmp_path / name, **flags, **more)
        settings = parse_flags(argv, "")
        assert run.train(settings, checked_dataset(settings)) == 0
        return json.loads(settings.places.metrics.read_text())

    job = make_job(("chief:0", "worker:0"), address, batch_size=32, **flags)
    job.start()
    assert job.wait() == {"chief:0": 0, "worker:0": 0}, job.log("chief:0")
    at_once, cut = alone("64", batch_size=64), alone("4x16", batch_size=16, accumulation=4)
    for other in (job.metrics, cut):
        for name in ("val_loss", "val_dice", "val_pooled_iou"):
            ours, theirs = ([row[name] for row in m["history"]] for m in (other, at_once))
            assert ours == pytest.approx(theirs, rel=1e-3)
        assert other["test"] == pytest.approx(at_once["test"], rel=1e-3)
