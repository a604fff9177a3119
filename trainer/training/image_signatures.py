"""The signatures of a model of a manifest's images; saved_model.py describes them."""

import keras
import tensorflow as tf

from trainer import preprocessing
from trainer.training.signatures import Predict, add_constants, score
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE


def add(
    archive: keras.export.ExportArchive,
    dataset: DatasetDescription,
    predict: Predict,
    of_floats: Predict,
) -> None:
    """Add all of them. of_floats: takes pixels of floats."""
    feature = dataset.features[0]
    pixels_spec = tf.TensorSpec([None, *feature.image_shape], feature.dtype, name="pixels")

    @tf.function(
        autograph=False, input_signature=[tf.TensorSpec([None], tf.string, name="image_bytes")]
    )
    def serve(image_bytes):
        return predict({IMAGE: preprocessing.decode_any_size(image_bytes, feature)})

    @tf.function(autograph=False, input_signature=[pixels_spec])
    def serve_pixels(pixels):
        return predict({IMAGE: pixels})

    archive.add_endpoint("serving_default", serve)
    archive.add_endpoint("pixels", serve_pixels)
    add_constants(archive, "resize", {"resize": feature.image_resize})
    if feature.scale is not None:
        add_constants(archive, "scale", {"scale": feature.scale})
    _add_gradient(archive, dataset, of_floats)


def _add_gradient(
    archive: keras.export.ExportArchive, dataset: DatasetDescription, of_floats: Predict
) -> None:
    images = tf.TensorSpec([None, *dataset.features[0].image_shape], tf.float32, name="image")

    @tf.function(
        autograph=False, input_signature=[images, tf.TensorSpec([None], tf.int64, name="index")]
    )
    def gradient(image, index):
        with tf.GradientTape() as tape:
            tape.watch(image)
            found = score(dataset, of_floats({IMAGE: image}), index)
        return {"score": found, "gradient": tape.gradient(found, image)}

    archive.add_endpoint("gradient", gradient)
