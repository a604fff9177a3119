"""A model of two images beside columns whose answer is a sum, so that every share is known.

The value is 3 x mean(photo) / 255 + 2 x mean(scan) / 65535 + age / 10 + 5 if site is left

An age that is not known is 0.
"""

import tensorflow as tf

PHOTO, SCAN = (8, 6, 3), (4, 4, 1)
SCALE = "range:0,4095"
# Means of the images of the baseline.
ORDINARY = {"photo": 102, "scan": 13107, "age": 40.0, "site": b"right"}


class SumModel(tf.Module):
    """Has the signatures of trainer.training.saved_model for rows with images."""

    def value(self, photo, scan, age, site):
        """Value (n,) of n rows; images as floats."""
        axes = [1, 2, 3]
        parts = (
            3 * tf.cast(tf.reduce_mean(photo, axes), tf.float64) / 255,
            2 * tf.cast(tf.reduce_mean(scan, axes), tf.float64) / 65535,
            tf.where(tf.math.is_nan(age), tf.zeros_like(age), age) / 10,
            5 * tf.cast(site == b"left", tf.float64),
        )
        return tf.add_n(parts)

    def signatures(self):
        """The functions by name."""
        columns = {
            "age": tf.TensorSpec([None], tf.float64, "age"),
            "site": tf.TensorSpec([None], tf.string, "site"),
        }
        files = {name: tf.TensorSpec([None], tf.string, name) for name in ("photo", "scan")}
        pixels = {
            "photo": tf.TensorSpec([None, *PHOTO], tf.uint8, "photo"),
            "scan": tf.TensorSpec([None, *SCAN], tf.uint16, "scan"),
        }
        floats = {n: tf.TensorSpec(spec.shape, tf.float32, n) for n, spec in pixels.items()}
        index = {"index": tf.TensorSpec([None], tf.int64, "index")}

        def answer(inputs):
            images = {name: tf.cast(inputs[name], tf.float32) for name in pixels}
            return {"value": self.value(age=inputs["age"], site=inputs["site"], **images)}

        @tf.function(autograph=False, input_signature=[columns | files])
        def serve(inputs):
            decoded = {
                name: tf.map_fn(
                    lambda data, spec=spec: tf.io.decode_png(data, spec.shape[-1], spec.dtype),
                    inputs[name],
                    fn_output_signature=tf.TensorSpec(spec.shape[1:], spec.dtype),
                )
                for name, spec in pixels.items()
            }
            return answer(inputs | decoded)

        @tf.function(autograph=False, input_signature=[columns | pixels])
        def of_pixels(inputs):
            return answer(inputs)

        @tf.function(autograph=False, input_signature=[columns | floats | index])
        def gradient(inputs):
            images = [inputs[name] for name in floats]
            with tf.GradientTape() as tape:
                tape.watch(images)
                score = answer(inputs)["value"]
            found = zip(floats, tape.gradient(score, images), strict=True)
            return {"score": score} | {f"gradient/{name}": slope for name, slope in found}

        names = ["photo", "Alter in Jahren", "scan", "site"]
        inputs = ["photo", "age", "scan", "site"]
        constants = {
            "features": {
                "name": names,
                "column": inputs,
                "kind": ["image", "numeric", "image", "categorical"],
                "input": inputs,
                "limit": tf.zeros([4], tf.int64),
            },
            "images": {
                "input": ["photo", "scan"],
                "resize": ["letterbox", "stretch"],
                "scale": ["", SCALE],
                "pages": ["", ""],
            },
            "ordinary": {
                "photo": tf.fill([1, *PHOTO], tf.constant(ORDINARY["photo"], tf.uint8)),
                "scan": tf.cast(tf.fill([1, *SCAN], ORDINARY["scan"]), tf.uint16),
                "age": tf.constant([ORDINARY["age"]], tf.float64),
                "site": [ORDINARY["site"]],
            },
        }
        told = {name: _constants(values) for name, values in constants.items()}
        return {"serving_default": serve, "pixels": of_pixels, "gradient": gradient} | told


def _constants(values):
    @tf.function(autograph=False, input_signature=[])
    def tell():
        return {name: tf.identity(value) for name, value in values.items()}

    return tell


def save(folder):
    """Write the SavedModel; returns the folder."""
    model = SumModel()
    model.all = signatures = model.signatures()
    tf.saved_model.save(model, str(folder), signatures)
    return folder
