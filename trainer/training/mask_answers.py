"""What a model of masks answers, of its logits."""

import tensorflow as tf


def of(logits: tf.Tensor) -> dict[str, tf.Tensor]:
    """The mask (b, height, width) uint8, at each pixel the class with the largest of the logits (b,
    height, width, classes), and its shares (b, classes) float32: of the pixels those of each class.
    The shares are NaN where a logit is not finite: the mask would be of the first class.
    """
    classes = logits.shape[-1]
    mask = tf.cast(tf.argmax(logits, -1), tf.uint8)
    shares = tf.stack(
        [
            tf.reduce_mean(tf.cast(tf.equal(mask, place), tf.float32), axis=[1, 2])
            for place in range(classes)
        ],
        axis=1,
    )
    finite = tf.reduce_all(tf.math.is_finite(logits), axis=[1, 2, 3])
    return {"mask": mask, "shares": tf.where(finite[:, None], shares, float("nan"))}
