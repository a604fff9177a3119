"""The learning rate by step."""

import numpy as np
import pytest
import tensorflow as tf

from trainer.training import schedule
from trellis_contracts.hyperparameters import Hyperparameters

PEAK = 0.1


def rates(steps_per_epoch=10, epochs=10, **h):
    """The rate of every step."""
    rate_of = schedule.build(Hyperparameters(**h), PEAK, steps_per_epoch, epochs)
    rate, found = tf.constant(PEAK), []
    for step in range(steps_per_epoch * epochs):
        rate = rate_of(tf.constant(float(step)), rate)
        found.append(float(rate))
    return np.array(found)


def test_a_constant_rate_is_set_once_and_then_left_to_the_callbacks():
    rate_of = schedule.build(Hyperparameters(warmup_epochs=0), PEAK, 10, 10)
    given = tf.constant(0.03)
    found = [float(rate_of(tf.constant(step), given)) for step in (0.0, 1.0, 99.0)]
    assert found == pytest.approx([PEAK, 0.03, 0.03])


def test_a_constant_rate_rises_in_the_warm_up():
    assert rates(warmup_epochs=2)[[0, 9, 19, 20, 99]] == pytest.approx([0.005, 0.05, 0.1, 0.1, 0.1])


def test_a_warm_up_may_be_a_share_of_the_steps():
    given = [{"warmup_share": 0.2}, {"warmup_epochs": 2}, {"warmup_share": 0.2, "warmup_epochs": 9}]
    by_share, by_epochs, both = (rates(schedule="cosine", **one) for one in given)
    assert by_share == pytest.approx(by_epochs)
    assert both == pytest.approx(by_share)


def test_a_cosine_falls_to_nothing_at_the_end():
    found = rates(schedule="cosine", warmup_epochs=2)
    assert found[[9, 19, 20]] == pytest.approx([0.05, 0.1, 0.1])
    # Halfway between the warm-up's end and the last step.
    assert found[60] == pytest.approx(PEAK / 2)
    assert 0 < found[99] < 1e-3 * PEAK
    assert np.all(np.diff(found[20:]) < 0)
    assert rates(schedule="cosine", warmup_epochs=0)[0] == pytest.approx(PEAK)


def test_one_cycle_is_that_of_pytorch():
    """Values of torch.optim.lr_scheduler.OneCycleLR(max_lr=0.1, total_steps=100)."""
    found = rates(schedule="one_cycle")
    assert found[[0, 29, 99]] == pytest.approx([0.004, 0.1, 4e-7], rel=1e-3)
    # Half of each way, on half a cosine.
    assert found[14:16].mean() == pytest.approx((0.004 + 0.1) / 2, rel=1e-3)
    assert found[64] == pytest.approx(0.05, rel=1e-3)
    assert np.all(np.diff(found[:30]) > 0)
    assert np.all(np.diff(found[30:]) < 0)


@pytest.mark.parametrize("kind", ["cosine", "one_cycle"])
def test_a_training_of_one_step_has_a_rate(kind):
    (rate,) = rates(1, 1, schedule=kind, warmup_epochs=0)
    assert 0 < rate <= PEAK * (1 + 1e-6)
