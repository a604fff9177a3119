"""Writes the trained model as a SavedModel that takes encoded images or raw rows.

Signature `serving_default`, for TensorFlow Serving and `tf.saved_model.load`:

    image_bytes  (n,) string      of a model of a manifest's images: JPEG, PNG, BMP or GIF of any
                                  size, upright and opaque; with source.scale, PNG with 16 bits per
                                  channel.
                                  In TensorFlow Serving's JSON {"image_bytes": {"b64": "..."}}:
                                  names that end in _bytes are decoded from base64
    COLUMN       (n,) or (n, any) of a model of rows, for each feature: trainer.training.raw_rows
                                  has the types, and the values for NULL
    -> probabilities (n, classes) float32, each row sums to 1; order as in dataset.json
       label         (n,) string  name of the class that is decided (trainer.metrics.decision)
    -> probabilities (n, classes) float32 of a multi-label task instead, each of its own
       decided       (n, classes) bool, which classes are decided (trainer.label_sets)
    -> value         (n,) float64 for a regression instead, in the label's unit

A model of rows takes every column, also those that it does not read. Further signatures of all:

    classes   () -> classes (classes,) string, their names in order; not of a regression
    threshold () -> class () string, above () float32, as trainer.metrics.decision has them; only of
              a model that decides by a threshold

of a manifest's images (image_signatures.py):

    pixels    pixels (n, height, width, channels) uint8, with source.scale uint16, as trainer.images
              makes them of a file -> as serving_default. This is what trainer.serve and the
              predictions of the test split call: TensorFlow's decoders in serving_default resize
              and round otherwise, and neither turn an image upright nor know transparency
    resize    () -> resize () string: how trainer.images makes those pixels of a file of another
              shape
    scale     () -> scale () string: how it makes 16 bits of a file's values; only of such images
    gradient  image (n, height, width, channels) float32, in the unit of `pixels`, index (n,) int64
              of a class -> score (n,) that class's probability, or the value; gradient, of the
              score by the image

of rows (row_signatures.py):

    features  () -> name, column, kind (as in dataset.json), input (the name in serving_default),
              each (features,) string; limit (features,) int64, how many elements of a sequence are
              read, 0 for others
    ordinary  () -> its baseline for explanations, one row of the inputs of serving_default, of
              images of those of pixels (trainer.training.ordinary_row)
    stored    examples (n,) string, records of the dataset -> as serving_default

of rows with images beside these:

    pixels    the inputs of serving_default, of images pixels as above -> as serving_default
    images    () -> of each image column, in order: input, resize and scale (m,) string as above;
              scale "": 8 bits
    gradient  the inputs of `pixels`, of images float32, and index (n,) int64 of a class -> score
              (n,) as above; gradient/INPUT, of the score by each image, 0 of one that is not read

It contains the preprocessing, so serving cannot differ from training.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from trainer import storage
from trainer.metrics.decision import Threshold
from trainer.models.image_inputs import from_floats
from trainer.training import image_signatures, records, row_signatures
from trainer.training.objectives import Regression
from trainer.training.signatures import Predict, add_constants
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE
from trellis_contracts.predictions import DECIDED_ABOVE

_BATCH = 256


def export(
    model: keras.Model,
    dataset: DatasetDescription,
    directory: Path,
    threshold: Threshold | None = None,
) -> None:
    """Write the SavedModel. model: its variables must not be mirrored. threshold: by which it
    labels; None: with the most probable class.
    """
    archive = keras.export.ExportArchive()
    archive.track(model)
    predict = _answering(_reading(model), dataset, threshold)
    of_floats = None
    if IMAGE in dataset.inputs:
        of_floats = _answering(from_floats(model, dataset), dataset, threshold)
    if dataset.kind == "image":
        assert of_floats
        image_signatures.add(archive, dataset, predict, of_floats)
    else:
        row_signatures.add(archive, dataset, predict, of_floats)
    if not dataset.is_regression:
        add_constants(archive, "classes", {"classes": dataset.classes})
    if threshold is not None:
        add_constants(archive, "threshold", threshold.to_json(dataset.classes))
    with tempfile.TemporaryDirectory() as folder:
        archive.write_out(folder, verbose=False)
        _copy(Path(folder), directory)


def predict(
    model: Path | keras.Model, address: str, dataset: DatasetDescription, split: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predict every example of a split once. model: a SavedModel's folder, or what will be one.

    Returns keys (n,) bytes, labels (n,), and probabilities (n, classes) float32 or values (n,)
    float64.
    """
    run = _built(model, dataset) if isinstance(model, keras.Model) else _loaded(model, dataset)
    answer = "value" if dataset.is_regression else "probabilities"
    keys, labels, answers = [], [], []
    for examples, key, label in _examples(address, dataset, split):
        keys.extend(key.numpy())
        labels.append(label.numpy())
        answers.append(run(examples)[answer].numpy())
    return np.array(keys, dtype=object), np.concatenate(labels), np.concatenate(answers)


def _loaded(directory: Path, dataset: DatasetDescription) -> Predict:
    """Takes records of the dataset, (b,) string, as does `_built`'s."""
    signatures = tf.saved_model.load(str(directory)).signatures
    if dataset.kind == "image":
        # The pixels that the server sees of the records' original files.
        pixels = records.of(dataset).inputs
        return lambda examples: signatures["pixels"](pixels=pixels(examples))
    return lambda examples: signatures["stored"](examples=examples)


def _built(model: keras.Model, dataset: DatasetDescription) -> Predict:
    answer = _answering(model, dataset)
    inputs = records.of(dataset, [tensor.name for tensor in model.inputs]).inputs
    taken = tf.TensorSpec([None], tf.string)
    return tf.function(lambda examples: answer(inputs(examples)), [taken], autograph=False)


def _reading(model: keras.Model) -> Callable[..., tf.Tensor]:
    """The model, called with all of a row's inputs, of which it may have some alone."""
    names = {tensor.name for tensor in model.inputs}

    def read(inputs: Any, training: bool) -> tf.Tensor:
        if isinstance(inputs, dict):
            inputs = {name: value for name, value in inputs.items() if name in names}
        return model(inputs, training=training)

    return read


def _answering(
    model: Callable[..., tf.Tensor], dataset: DatasetDescription, threshold: Threshold | None = None
) -> Predict:
    if dataset.is_regression:
        objective = Regression(dataset)
        return lambda inputs: {"value": objective.values(model(inputs, training=False))}
    if dataset.is_multilabel:
        return lambda inputs: _decided_each(probabilities(dataset, model(inputs, training=False)))
    names = tf.constant(dataset.classes)

    def predict(inputs: tf.Tensor | dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        found = probabilities(dataset, model(inputs, training=False))
        return {"probabilities": found, "label": tf.gather(names, _decided(found, threshold))}

    return predict


def probabilities(dataset: DatasetDescription, outputs: tf.Tensor) -> tf.Tensor:
    """Convert a model's outputs into probabilities of the classes, (n, classes)."""
    return tf.sigmoid(outputs) if dataset.is_multilabel else tf.nn.softmax(outputs)


def _decided_each(found: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"probabilities": found, "decided": found > DECIDED_ABOVE}


def _decided(probabilities: tf.Tensor, threshold: Threshold | None) -> tf.Tensor:
    """Decide like trainer.metrics.decision.decide."""
    if threshold is None:
        return tf.argmax(probabilities, -1)
    over = probabilities[:, threshold.positive] > tf.constant(threshold.above, tf.float32)
    return tf.where(over, threshold.positive, 1 - threshold.positive)


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


def _copy(source: Path, target: Path) -> None:
    """Copy a folder's files one by one; saved_model.pb, without which it is no model, last."""
    files = [path for path in source.rglob("*") if path.is_file()]
    for path in sorted(files, key=lambda path: path.name == "saved_model.pb"):
        destination = target / path.relative_to(source)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, destination)
