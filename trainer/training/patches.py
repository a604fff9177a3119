"""Cuts patches of training images, and of their masks, as a pure function of a seed."""

import tensorflow as tf

from trainer.training.records import Inputs


def cut(
    inputs: Inputs, masks: tf.Tensor, name: str, side: int, seed: tf.Tensor
) -> tuple[Inputs, tf.Tensor]:
    """A square of each image and mask, at a place of its own. name: of the image's input. masks:
    (b, height, width). seed: (2,) int64.
    """
    for axis, drawn in zip((1, 2), tf.unstack(tf.random.split(seed, 2)), strict=True):
        last = masks.shape[axis] - side
        count = tf.shape(masks)[0]
        first = tf.random.stateless_uniform([count, 1], drawn, 0, last + 1, dtype=tf.int32)
        places = first + tf.range(side)
        image = tf.gather(inputs[name], places, axis=axis, batch_dims=1)
        inputs = {**inputs, name: image}
        masks = tf.gather(masks, places, axis=axis, batch_dims=1)
    return inputs, masks
