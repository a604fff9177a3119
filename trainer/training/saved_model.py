"""Writes the trained model as a SavedModel that takes encoded images or raw rows.

Signature `serving_default`, for TensorFlow Serving and `tf.saved_model.load`:

    image_bytes  (n,) string      of a model of images: JPEG, PNG, BMP or GIF of any size, upright
                                  and opaque. In TensorFlow Serving's JSON {"image_bytes": {"b64":
                                  "..."}}: names that end in _bytes are decoded from base64
    COLUMN       (n,) or (n, any) of a model of rows, for each feature: trainer.training.raw_rows
                                  has the types, and the values for NULL
    -> probabilities (n, classes) float32, each row sums to 1; order as in dataset.json
       label         (n,) string  name of the most probable class
    -> value         (n,) float64 for a regression instead, in the label's unit

Further signatures:

    pixels    pixels (n, height, width, channels) uint8, as trainer.images makes them of a file ->
              as serving_default; of a model of images. This is what trainer.serve and the
              predictions of the test split call: TensorFlow's decoders in serving_default resize
              and round otherwise, and neither turn an image upright nor know transparency
    resize    () -> resize () string: how trainer.images makes those pixels of a file of another
              shape; of a model of images
    classes   () -> classes (classes,) string, their names in order; not of a regression
    features  () -> of a model of rows: column, kind (as in dataset.json), input (the name in
              serving_default), each (features,) string; limit (features,) int64, how many elements
              of a sequence are read, 0 for others
    ordinary  () -> of a model of rows: its baseline for explanations, one row of the inputs of
              serving_default (trainer.training.ordinary_row)
    stored    examples (n,) string, records of the dataset -> as serving_default; of a model of rows
    gradient  image (n, height, width, channels) float32 from 0 to 255, index (n,) int64 of a class
              -> score (n,) that class's probability, or the value; gradient, of the score by the
              image; of a model of images

It contains the preprocessing, so serving cannot differ from training.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from trainer import preprocessing, storage
from trainer.dataset_description import DatasetDescription
from trainer.models.inputs import from_floats, step_limit
from trainer.training.objective import Regression
from trainer.training.ordinary_row import ordinary_row
from trainer.training.raw_rows import RawRows
from trainer.training.records import TableRecords

_BATCH = 256

Predict = Callable[..., dict[str, tf.Tensor]]


def export(model: keras.Model, dataset: DatasetDescription, directory: Path) -> None:
    """Write the SavedModel. model: its variables must not be mirrored."""
    archive = keras.export.ExportArchive()
    archive.track(model)
    answering = _regression if dataset.is_regression else _classes
    predict = answering(model, dataset)
    if dataset.kind == "image":
        _add_image_endpoints(archive, dataset, predict)
        _add_gradient(archive, dataset, answering(from_floats(model), dataset))
    else:
        _add_table_endpoints(archive, dataset, predict)
    if not dataset.is_regression:
        _add_constants(archive, "classes", {"classes": dataset.classes})
    with tempfile.TemporaryDirectory() as folder:
        archive.write_out(folder, verbose=False)
        _copy(Path(folder), directory)


def predict(
    directory: Path, address: str, dataset: DatasetDescription, split: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predict every example of a split once with the SavedModel.

    Returns keys (n,) bytes, labels (n,), and probabilities (n, classes) float32 or values (n,)
    float64.
    """
    signatures = tf.saved_model.load(str(directory)).signatures
    answer = "value" if dataset.is_regression else "probabilities"
    keys, labels, answers = [], [], []
    for record, key, label in _examples(address, dataset, split):
        if dataset.kind == "image":
            outputs = signatures["pixels"](pixels=_pixels(record, dataset))
        else:
            outputs = signatures["stored"](examples=record)
        keys.extend(key.numpy())
        labels.append(label.numpy())
        answers.append(outputs[answer].numpy())
    return np.array(keys, dtype=object), np.concatenate(labels), np.concatenate(answers)


def _classes(model: Callable[..., tf.Tensor], dataset: DatasetDescription) -> Predict:
    names = tf.constant(dataset.classes)

    def predict(inputs: tf.Tensor | dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        probabilities = tf.nn.softmax(model(inputs, training=False))
        label = tf.gather(names, tf.argmax(probabilities, -1))
        return {"probabilities": probabilities, "label": label}

    return predict


def _regression(model: Callable[..., tf.Tensor], dataset: DatasetDescription) -> Predict:
    objective = Regression(dataset)
    return lambda inputs: {"value": objective.values(model(inputs, training=False))}


def _add_image_endpoints(
    archive: keras.export.ExportArchive, dataset: DatasetDescription, predict: Predict
) -> None:
    feature = dataset.features[0]
    shape, resize = feature.image_shape, feature.image_resize

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="image_bytes")])
    def serve(image_bytes):
        return predict(preprocessing.decode_any_size(image_bytes, shape, resize))

    @tf.function(input_signature=[tf.TensorSpec([None, *shape], tf.uint8, name="pixels")])
    def serve_pixels(pixels):
        return predict(pixels)

    archive.add_endpoint("serving_default", serve)
    archive.add_endpoint("pixels", serve_pixels)
    _add_constants(archive, "resize", {"resize": resize})


def _add_gradient(
    archive: keras.export.ExportArchive, dataset: DatasetDescription, predict: Predict
) -> None:
    """predict: takes images of floats."""
    images = tf.TensorSpec([None, *dataset.features[0].image_shape], tf.float32, name="image")

    @tf.function(input_signature=[images, tf.TensorSpec([None], tf.int64, name="index")])
    def gradient(image, index):
        with tf.GradientTape() as tape:
            tape.watch(image)
            outputs = predict(image)
            if dataset.is_regression:
                score = outputs["value"]
            else:
                score = tf.gather(outputs["probabilities"], index, batch_dims=1)
        return {"score": score, "gradient": tape.gradient(score, image)}

    archive.add_endpoint("gradient", gradient)


def _add_table_endpoints(
    archive: keras.export.ExportArchive, dataset: DatasetDescription, predict: Predict
) -> None:
    rows, records = RawRows(dataset), TableRecords(dataset)
    archive.track(rows)  # the lookup table of the vocabularies

    @tf.function(input_signature=[rows.signature()])
    def serve(columns):
        return predict(rows.inputs(columns))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def stored(examples):
        return predict(records.inputs(examples))

    archive.add_endpoint("serving_default", serve)
    archive.add_endpoint("stored", stored)
    features = {
        "column": [feature.column for feature in dataset.features],
        "kind": [feature.kind for feature in dataset.features],
        "input": rows.names,
        "limit": [step_limit(feature) for feature in dataset.features],
    }
    _add_constants(archive, "features", features)
    specs = rows.signature()
    ordinary = {
        name: tf.constant([value], specs[name].dtype)
        for name, value in zip(rows.names, ordinary_row(dataset), strict=True)
    }
    _add_constants(archive, "ordinary", ordinary)


def _add_constants(archive: keras.export.ExportArchive, name: str, values: dict) -> None:
    """Add an endpoint without inputs that returns these values."""
    constants = {key: tf.constant(value) for key, value in values.items()}

    @tf.function(input_signature=[])
    def tell():
        return {key: tf.identity(value) for key, value in constants.items()}

    archive.add_endpoint(name, tell)


def _examples(address: str, dataset: DatasetDescription, split: str) -> Iterator:
    """Records (b,) of a split, their keys and labels."""
    label = dataset.label.name
    wanted = {
        "key": tf.io.FixedLenFeature([], tf.string),
        label: tf.io.FixedLenFeature([], tf.as_dtype(dataset.label.dtype)),
    }
    paths = [str(storage.local_path(uri)) for uri in dataset.uris(address, split)]
    for serialized in tf.data.TFRecordDataset(paths).batch(_BATCH).prefetch(1):
        parsed = tf.io.parse_example(serialized, wanted)
        yield serialized, parsed["key"], parsed[label]


def _pixels(records: tf.Tensor, dataset: DatasetDescription) -> tf.Tensor:
    """What the server makes of the files that the records were made of: see ImageRecords."""
    feature = dataset.features[0]
    parsed = tf.io.parse_example(records, {feature.name: tf.io.FixedLenFeature([], tf.string)})
    return preprocessing.decode(parsed[feature.name], feature.image_shape)


def _copy(source: Path, target: Path) -> None:
    """Copy a folder's files one by one; saved_model.pb, without which it is no model, last."""
    files = [path for path in source.rglob("*") if path.is_file()]
    for path in sorted(files, key=lambda path: path.name == "saved_model.pb"):
        destination = target / path.relative_to(source)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, destination)
