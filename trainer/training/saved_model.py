"""The trained model as a SavedModel that takes what a client has: encoded images of any size.

Signature `serving_default`, as Vertex AI, TensorFlow Serving and `tf.saved_model.load` call it:

    image_bytes  (n,) string      JPEG, PNG, BMP or GIF of any size, upright and opaque. In a JSON
                                  request {"image_bytes": {"b64": "..."}}: names that end in
                                  _bytes are decoded from base64 by convention
    -> probabilities (n, classes) float32, each row sums to 1; order as in dataset.json
       label         (n,) string  name of the most probable class

Signature `classes`, without inputs: -> classes (classes,) string, the names in that order.

Preprocessing is part of it, so that serving cannot differ from training.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from trainer import preprocessing, storage
from trainer.dataset_description import DatasetDescription

_BATCH = 256


def export(model: keras.Model, dataset: DatasetDescription, directory: Path) -> None:
    """Write the SavedModel. model: pixels -> logits, not mirrored."""
    shape = dataset.features[0].shape
    names = tf.constant(dataset.classes)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="image_bytes")])
    def serve(image_bytes):
        logits = model(preprocessing.decode_any_size(image_bytes, shape), training=False)
        probabilities = tf.nn.softmax(logits)
        return {
            "probabilities": probabilities,
            "label": tf.gather(names, tf.argmax(probabilities, -1)),
        }

    @tf.function(input_signature=[])
    def list_classes():
        return {"classes": tf.identity(names)}

    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.names = names
    archive.add_endpoint("serving_default", serve)
    archive.add_endpoint("classes", list_classes)
    with tempfile.TemporaryDirectory() as folder:
        archive.write_out(folder, verbose=False)
        _copy(Path(folder), directory)


def predict(
    directory: Path, address: str, dataset: DatasetDescription, split: str
) -> tuple[list[bytes], np.ndarray, np.ndarray]:
    """What the SavedModel says about every example of a split, once each.

    Returns keys (n), labels (n,) int64, probabilities (n, classes) float32.
    """
    serve = tf.saved_model.load(str(directory)).signatures["serving_default"]
    keys, labels, probabilities = [], [], []
    for key, image, label in _examples(address, dataset, split):
        keys.extend(key.numpy())
        labels.append(label.numpy())
        probabilities.append(serve(image_bytes=image)["probabilities"].numpy())
    return keys, np.concatenate(labels), np.concatenate(probabilities)


def _examples(address: str, dataset: DatasetDescription, split: str) -> Iterator:
    feature, label = dataset.features[0].name, dataset.label.name
    wanted = {
        "key": tf.io.FixedLenFeature([], tf.string),
        feature: tf.io.FixedLenFeature([], tf.string),
        label: tf.io.FixedLenFeature([], tf.int64),
    }
    paths = [str(storage.local_path(uri)) for uri in dataset.uris(address, split)]
    for serialized in tf.data.TFRecordDataset(paths).batch(_BATCH).prefetch(1):
        parsed = tf.io.parse_example(serialized, wanted)
        yield parsed["key"], parsed[feature], parsed[label]


def _copy(source: Path, target: Path) -> None:
    """Copy a folder's files one by one; saved_model.pb, without which it is no model, last."""
    files = [path for path in source.rglob("*") if path.is_file()]
    for path in sorted(files, key=lambda path: path.name == "saved_model.pb"):
        destination = target / path.relative_to(source)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, destination)
