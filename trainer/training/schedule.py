"""The learning rate of every step, as a pure function of the step: a restart needs no state of it.

constant: rises for warmup_epochs, or warmup_share of the phase's steps, then stays; only a plateau
of the validation loss lowers it.
cosine: rises for warmup_epochs, then falls to 0 at the last epoch's end along half a cosine
(Loshchilov & Hutter 2017, https://arxiv.org/abs/1608.03983, without restarts).
one_cycle: rises for three tenths of the steps, then falls nearly to 0, both along half a cosine
(Smith & Topin 2018, https://arxiv.org/abs/1708.07120; ends and shares are those of PyTorch's
OneCycleLR, the momentum stays).
"""

import math
from collections.abc import Callable

import tensorflow as tf

from trellis_contracts.hyperparameters import Common

Schedule = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""(steps done in this phase, float32; the rate as it is) -> the rate of the next step."""

_RISING = 0.3
_FIRST, _LAST = 1 / 25, 1 / 25e4


def build(h: Common, peak: float, steps_per_epoch: int, epochs: int) -> Schedule:
    """The schedule of a phase of the training. peak: its highest rate. epochs: how long it is."""
    steps = steps_per_epoch * epochs
    if h.schedule == "one_cycle":
        return _one_cycle(peak, steps)
    # At least one step: the first one of a phase sets the rate.
    rising = h.warmup_share * steps if h.warmup_share else h.warmup_epochs * steps_per_epoch
    warmup = max(1.0, rising)

    def rate_of(step, rate):
        rate_now = peak * (step + 1.0) / warmup
        if h.schedule == "cosine":
            after = _between(peak, 0.0, (step - warmup) / max(1.0, steps - warmup))
        else:
            # Only the callbacks change it.
            after = rate
        return tf.where(step < warmup, tf.minimum(rate_now, peak), after)

    return rate_of


def _one_cycle(peak: float, steps: int) -> Schedule:
    top = max(1.0, _RISING * steps - 1)

    def rate_of(step, _):
        falling = (step - top) / max(1.0, steps - 1 - top)
        up, down = _between(_FIRST * peak, peak, step / top), _between(peak, _LAST * peak, falling)
        return tf.where(step < top, up, down)

    return rate_of


def _between(begin: float, end: float, share: tf.Tensor) -> tf.Tensor:
    """Move from begin (share 0) to end (share 1) along half a cosine."""
    return end + (begin - end) * (1 + tf.cos(math.pi * tf.clip_by_value(share, 0.0, 1.0))) / 2
