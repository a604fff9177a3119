"""The signatures of a model; saved_model.py describes them."""

from collections.abc import Callable, Mapping

import tensorflow as tf

from trainer.models.inputs import step_limit
from trainer.training.archive import Archive
from trainer.training.ordinary_row import ordinary_row
from trainer.training.raw_rows import INDEX, RawRows
from trainer.training.records import Records
from trellis_contracts.dataset import DatasetDescription

Predict = Callable[..., dict[str, tf.Tensor]]
"""Function of a model: inputs -> answers, as serving_default has them."""


def add(
    archive: Archive,
    dataset: DatasetDescription,
    predict: Predict,
    of_floats: Predict | None,
) -> None:
    """Add all of them. of_floats: takes images of floats; None: there are none, or no score whose
    gradient would explain them.
    """
    rows, records = RawRows(dataset), Records(dataset)
    archive.track(rows)  # the lookup table of the vocabularies

    @tf.function(autograph=False, input_signature=[rows.signature()])
    def serve(columns):
        return predict(rows.inputs(columns))

    @tf.function(
        autograph=False, input_signature=[tf.TensorSpec([None], tf.string, name="examples")]
    )
    def stored(examples):
        return predict(records.inputs(examples))

    archive.add("serving_default", serve)
    archive.add("stored", stored)
    features = {
        "name": [feature.name for feature in dataset.features],
        "column": [feature.column for feature in dataset.features],
        "kind": [feature.kind for feature in dataset.features],
        "input": rows.names,
        "limit": [step_limit(feature) for feature in dataset.features],
    }
    archive.add_constants("features", features)
    specs = rows.pixel_signature()
    ordinary = {
        name: tf.constant([value], specs[name].dtype)
        for name, value in zip(rows.names, ordinary_row(dataset), strict=True)
    }
    archive.add_constants("ordinary", ordinary)
    if rows.images:
        _add_images(archive, rows, predict)
    if of_floats is not None:
        _add_gradient(archive, dataset, rows, of_floats)


def _add_images(archive: Archive, rows: RawRows, predict: Predict) -> None:
    @tf.function(autograph=False, input_signature=[rows.pixel_signature()])
    def pixels(columns):
        return predict(rows.inputs(columns))

    archive.add("pixels", pixels)
    images = {
        "input": list(rows.images),
        "resize": [feature.image_resize for feature in rows.images.values()],
        "scale": [feature.scale or "" for feature in rows.images.values()],
        "pages": [feature.pages or "" for feature in rows.images.values()],
    }
    archive.add_constants("images", images)


def _add_gradient(
    archive: Archive,
    dataset: DatasetDescription,
    rows: RawRows,
    of_floats: Predict,
) -> None:
    specs = rows.pixel_signature("float32")
    specs[INDEX] = tf.TensorSpec([None], tf.int64, name=INDEX)

    @tf.function(autograph=False, input_signature=[specs])
    def gradient(columns):
        images = {name: columns[name] for name in rows.images}
        with tf.GradientTape() as tape:
            tape.watch(images)
            found = score(dataset, of_floats(rows.inputs(columns)), columns[INDEX])
        # An image that the model does not read moves no score.
        unread = tf.UnconnectedGradients.ZERO
        slopes = tape.gradient(found, images, unconnected_gradients=unread)
        return {"score": found, **{f"gradient/{name}": slopes[name] for name in images}}

    archive.add("gradient", gradient)


def score(
    dataset: DatasetDescription, answers: Mapping[str, tf.Tensor], index: tf.Tensor
) -> tf.Tensor:
    """The score (n,) that an explanation is of: a regression's value, the risk of an event, or the
    probability of the class with this index (n,).
    """
    if not dataset.classes:
        return answers[dataset.entry.answers[0]]
    return tf.gather(answers["probabilities"], index, batch_dims=1)
