"""Finds models that look trained and are not: outputs that are probabilities already, inputs
without effect, dead units, a loss that does not fall.

A model's outputs are logits, or a regression's standardized label: loss and SavedModel apply
softmax or sigmoid themselves. A model that ends with one of them trains, but its probabilities are
squeezed: those of two classes never exceed 1 / (1 + exp(-1)) = 0.73.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.callbacks import Callback

from trainer.models.answering import Traced
from trainer.models.endings import REMEDY
from trainer.models.inputs import image_input, sequence_input, text_input
from trainer.training import records, sample, scores
from trainer.training.objectives.objective import Objective
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE, SEQUENCE, TEXT, VECTORS, Feature

# Examples that are looked at.
EXAMPLES = 64
# Above float32's rounding of a sum of up to thousands of probabilities.
_ROUNDING = 1e-4
# Features beyond these are not tried in a training.
_FEATURES = 64


def probabilities(dataset: DatasetDescription, outputs: np.ndarray) -> str | None:
    """Return why outputs (b, ..., o) are probabilities already, in a clause; None if they are not.

    They lie in [0, 1], and every example's add up to 1: logits do that by chance in one batch of
    very many. Of a multi-label task nothing tells probabilities from small logits.
    """
    if not dataset.classes or dataset.is_multilabel or not np.isfinite(outputs).all():
        return None
    low, high = float(outputs.min()), float(outputs.max())
    if low < 0 or high > 1 + _ROUNDING:
        return None
    if np.abs(outputs.sum(axis=-1) - 1).max() > _ROUNDING:
        return None
    return f"the outputs of {len(outputs)} examples lie in [0, 1] and add up to 1"


def unread(
    answers: Traced, dataset: DatasetDescription, inputs: Any, most: int | None = None
) -> list[str]:
    """Features that change no output when their values are exchanged between the examples.

    inputs: as a reader parses them. most: how many features to try at most; None: all. A feature
    that is the same in all examples is not tried, nor one of which the model has no input.
    """
    wanted = answers(inputs).numpy()
    order = np.roll(np.arange(len(wanted)), 1)
    found = []
    for name, changed in _exchanged(dataset, inputs, order, most):
        if np.array_equal(answers(changed), wanted):
            found.append(name)
    return found


def _exchanged(
    dataset: DatasetDescription, inputs: dict[str, Any], order: np.ndarray, most: int | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each feature's name, with inputs in which it is another example's."""
    for feature in dataset.features[:most]:
        key = _input_of(feature)
        if key not in inputs:
            continue
        if feature.record_name in VECTORS:
            values = inputs[key].numpy()
            moved = values.copy()
            moved[:, feature.index] = values[order, feature.index]
        else:
            values, moved = inputs[key].numpy(), inputs[key].numpy()[order]
        if not np.array_equal(moved, values, equal_nan=values.dtype.kind == "f"):
            yield feature.name, {**inputs, key: tf.constant(moved)}


def _input_of(feature: Feature) -> str:
    own = {SEQUENCE: sequence_input, TEXT: text_input, IMAGE: image_input}
    return own[feature.kind](feature) if feature.kind in own else feature.record_name


def dead_layers(model: keras.Model, inputs: Any) -> list[str]:
    """Names of layers with ReLU whose units are 0 for every one of the examples."""
    layers = [
        layer
        for layer in model.layers
        if isinstance(layer, keras.layers.ReLU)
        or getattr(layer, "activation", None) is keras.activations.relu
    ]
    if not layers:
        return []
    values = keras.Model(model.inputs, [layer.output for layer in layers])(inputs, training=False)
    values = values if isinstance(values, list | tuple) else [values]
    return [
        layer.name
        for layer, value in zip(layers, values, strict=True)
        if not np.any(keras.ops.convert_to_numpy(value))
    ]


def findings(
    answers: Traced, dataset: DatasetDescription, inputs: Any, most: int | None = None
) -> list[str]:
    """Find problems of a model by its answers to a batch, each a sentence with the remedy."""
    found = []
    if why := probabilities(dataset, answers(inputs).numpy()):
        found.append(f"{why}: {REMEDY}.")
    if names := unread(answers, dataset, inputs, most):
        found.append(
            f"{_listed('the feature', names)} changed no output when exchanged between "
            "examples: connect what reads it to the output, or leave it out of the source."
        )
    if names := dead_layers(answers.model, inputs):
        found.append(
            f"every unit of {_listed('the layer', names)} is 0 for all examples of a batch, and a "
            "ReLU that is 0 learns nothing more: lower learning_rate, or use another activation "
            "(gelu, leaky_relu)."
        )
    return found


class FirstEpoch(Callback):
    """Looks at a model before and after its first epoch, and prints what is wrong with it.

    names: of the inputs that the model takes; None: all. begun: whether the weights are those of an
    earlier training, whose loss need not fall any more. warnings: the sentences; metrics.json has
    them, and the report.
    """

    def __init__(
        self,
        address: str,
        dataset: DatasetDescription,
        aim: Objective,
        names: Collection[str] | None = None,
        begun: bool = False,
    ):
        super().__init__()
        self._dataset, self._aim, self._begun = dataset, aim, begun
        taken = tf.constant(sample.stored(address, dataset, scores.at_once(dataset, EXAMPLES)))
        parsed: tuple[Any, Any, Any] = records.Records(dataset, names).parse(taken)
        self._inputs, self._labels, _ = parsed
        self._before = math.nan
        self.warnings: list[str] = []

    def set_model(self, model):
        super().set_model(model)
        self._answers = Traced(model)

    def on_train_begin(self, logs=None):
        self._before = self._loss()

    def on_epoch_end(self, epoch, logs=None):
        if epoch:
            return
        self.warnings = findings(self._answers, self._dataset, self._inputs, _FEATURES)
        after = self._loss()
        if not (self._begun or after < self._before):
            self.warnings.append(
                f"the loss of the first {len(self._labels)} training examples did not fall in the "
                f"first epoch: {self._before:.4g} before, {after:.4g} after it; look at "
                "learning_rate, and at the labels."
            )
        for warning in self.warnings:
            print(f"warning: {warning}", flush=True)

    def _loss(self) -> float:
        losses, _ = self._aim.measures(self._labels, self._answers(self._inputs))
        return float(tf.reduce_mean(losses))


def _listed(noun: str, names: Sequence[str]) -> str:
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"{noun}{'s' * (len(names) > 1)} {shown}"
