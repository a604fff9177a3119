"""Writes the trained model as a SavedModel that takes raw rows, whose images are files.

Signature `serving_default`, for TensorFlow Serving and `tf.saved_model.load`:

    COLUMN       (n,) or (n, any) for each feature: trainer.training.raw_rows has the types, and the
                                  values for NULL
    -> probabilities (n, classes) float32, each row sums to 1; order as in dataset.json; calibrated
                                  where the experiment asks for it (trainer.calibration)
       label         (n,) string  name of the class that is decided (trainer.metrics.decision)
    -> probabilities (n, classes) float32 of a multi-label task instead, each of its own
       decided       (n, classes) bool, which classes are decided (trainer.label_sets)
    -> value         (n,) float64 for a regression instead, in the label's unit
    -> mask          (n, height, width) uint8 of a segmentation instead, indices of classes, of the
                                  size that the model sees
       shares        (n, classes) float32, of the pixels those of each class; NaN if the model has
                                  diverged
    -> risk          (n,) float64 of a time to an event instead (trainer.training.objectives)
       survival      (n, times) float64, probability of no event until each of the times

A model takes every column, also those that it does not read. Further signatures:

    classes   () -> classes (classes,) string, their names in order; not of a number
    times     () -> times (times,), horizons (horizons,) float64 of a time to an event, the latter
              those that the server tells of
    threshold () -> class () string, above () float32, as trainer.metrics.decision has them; only of
              a model that decides by a threshold
    features  () -> name, column, kind (as in dataset.json), input (the name in serving_default),
              each (features,) string; limit (features,) int64, how many elements of a sequence are
              read, 0 for others
    ordinary  () -> its baseline for explanations, one row of the inputs of serving_default, of
              images of those of pixels (trainer.training.ordinary_row)
    stored    examples (n,) string, records of the dataset -> as serving_default

of rows with images beside these:

    pixels    the inputs of serving_default, of images pixels (n, height, width, channels) uint8,
              with `scale` uint16, as trainer.images makes them of a file -> as serving_default.
              This is what trainer.serve calls: TensorFlow's decoders in serving_default resize and
              round otherwise, and neither turn an image upright nor know transparency
    images    () -> of each image column, in order: input, (m,) string; resize, how trainer.images
              makes those pixels of a file of another shape; scale, how it makes 16 bits of a file's
              values, "": 8 bits; pages, which of several pages it takes, "": it refuses them
    gradient  the inputs of `pixels`, of images float32 in the unit of those, and index (n,) int64
              of a class -> score (n,) that class's probability, the value or the risk;
              gradient/INPUT, of the score by each image, 0 of one that is not read; not of masks

It contains the preprocessing and the calibration, so serving cannot differ from training. Beside it
lies postprocessing.json (trellis_contracts.postprocessing), where there is any.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Self

import keras
import numpy as np
import tensorflow as tf

import trainer.postprocessing
from trainer import calibration, storage
from trainer.metrics.decision import Threshold
from trainer.models.answering import Traced
from trainer.models.image_inputs import from_floats
from trainer.stored import StoredBatch
from trainer.training import objectives, records, signatures
from trainer.training.archive import Archive
from trainer.training.records import Inputs
from trainer.training.signatures import Predict
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE
from trellis_contracts.postprocessing import PLAIN, Calibration, Postprocessing
from trellis_contracts.predictions import DECIDED_ABOVE
from trellis_contracts.saved_model import KERAS

Answers = Callable[[tf.Tensor], dict[str, tf.Tensor]]
"""A model's outputs -> what it answers, as an objective has it."""


def export(
    model: keras.Model,
    dataset: DatasetDescription,
    directory: Path,
    threshold: Threshold | None = None,
    postprocessing: Postprocessing = PLAIN,
    answers: Answers | None = None,
) -> None:
    """Write the SavedModel. model: its variables must not be mirrored. threshold: by which it
    labels; None: with the most probable class. postprocessing: what it does with its scores.
    answers: of its objective; None: of that with the defaults.
    """
    answers = answers or objectives.answers_of(dataset)
    _export(Traced(model), dataset, directory, threshold, postprocessing, answers)


def _export(
    traced: Traced,
    dataset: DatasetDescription,
    directory: Path,
    threshold: Threshold | None,
    postprocessing: Postprocessing,
    answers: Answers,
) -> None:
    archive = Archive(traced.model)
    done = threshold, postprocessing.calibration
    predict = _answering(traced, dataset, answers, *done)
    of_floats = None
    if IMAGE in dataset.inputs and not dataset.entry.of_pixels:
        of_floats = _answering(from_floats(traced.model, dataset), dataset, answers, *done)
    signatures.add(archive, dataset, predict, of_floats)
    if dataset.classes:
        archive.add_constants("classes", {"classes": dataset.classes})
    if dataset.label.times:
        numbers = {"times": dataset.label.times, "horizons": dataset.label.horizons}
        doubles = {name: np.array(values, np.float64) for name, values in numbers.items()}
        archive.add_constants("times", doubles)
    if threshold is not None:
        archive.add_constants("threshold", threshold.to_json(dataset.classes))
    with tempfile.TemporaryDirectory() as folder:
        archive.write(Path(folder))
        trainer.postprocessing.write(Path(folder), postprocessing)
        # Without saved_model.pb it is no model.
        storage.copy_folder(Path(folder), directory, last=KERAS)


class KerasPredictor:
    """A Keras model, as trainer.training.protocol has it. run: the answers to records of the
    dataset, (b,) string. traced, answers: what is saved; None of a model that was loaded.
    """

    def __init__(
        self,
        dataset: DatasetDescription,
        run: Predict,
        traced: Traced | None = None,
        answers: Answers | None = None,
    ):
        self._dataset, self._run = dataset, run
        self._traced, self._answers = traced, answers

    @classmethod
    def built(cls, traced: Traced, dataset: DatasetDescription, answers: Answers) -> Self:
        """A model that has been trained; its variables must not be mirrored. answers: of its
        objective.
        """
        answer = _answering(traced, dataset, answers)
        inputs = records.Records(dataset, traced.names).inputs
        taken = tf.TensorSpec([None], tf.string)
        run = tf.function(lambda examples: answer(inputs(examples)), [taken], autograph=False)
        return cls(dataset, run, traced, answers)

    @classmethod
    def loaded(cls, directory: Path, dataset: DatasetDescription) -> Self:
        """A SavedModel."""
        stored = tf.saved_model.load(str(directory)).signatures["stored"]
        return cls(dataset, lambda examples: stored(examples=examples))

    def predict(self, batch: StoredBatch) -> np.ndarray:
        """See trainer.training.protocol.Predictor."""
        answers = self._run(tf.constant(batch.payloads))
        parts = [answers[name].numpy() for name in self._dataset.entry.answers]
        if len(parts) == 1:
            return parts[0]
        columns = [part.reshape(len(part), -1) for part in parts]
        found: np.ndarray = np.concatenate(columns, axis=1)
        return found

    def save(
        self, folder: Path, threshold: Threshold | None, postprocessing: Postprocessing = PLAIN
    ) -> None:
        """See trainer.training.protocol.Predictor."""
        assert self._traced is not None
        assert self._answers is not None
        _export(self._traced, self._dataset, folder, threshold, postprocessing, self._answers)


def _answering(
    model: Callable[[Inputs], tf.Tensor],
    dataset: DatasetDescription,
    answers: Answers,
    threshold: Threshold | None = None,
    fitted: Calibration | None = None,
) -> Predict:
    if "probabilities" not in dataset.entry.answers:
        return lambda inputs: answers(model(inputs))

    def calibrated(inputs: Inputs) -> tf.Tensor:
        found = answers(model(inputs))["probabilities"]
        sets = dataset.is_multilabel
        return calibration.apply(fitted, found, dataset.classes, sets, tf.experimental.numpy)

    if dataset.is_multilabel:
        return lambda inputs: _decided_each(calibrated(inputs))
    names = tf.constant(dataset.classes)

    def predict(inputs: Inputs) -> dict[str, tf.Tensor]:
        found = calibrated(inputs)
        return {"probabilities": found, "label": tf.gather(names, _decided(found, threshold))}

    return predict


def _decided_each(found: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"probabilities": found, "decided": found > DECIDED_ABOVE}


def _decided(probabilities: tf.Tensor, threshold: Threshold | None) -> tf.Tensor:
    """Decide like trainer.metrics.decision.decide."""
    if threshold is None:
        return tf.argmax(probabilities, -1)
    over = probabilities[:, threshold.positive] > tf.constant(threshold.above, tf.float32)
    return tf.where(over, threshold.positive, 1 - threshold.positive)
