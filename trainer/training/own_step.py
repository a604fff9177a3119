"""A training step of a model's own file, in place of the task's loss.

    def train_step(model, batch, hyperparameters):
        scores, pictures, mean, spread = model(batch.inputs, training=True)
        return {
            "entropy": keras.losses.sparse_categorical_crossentropy(
                batch.labels, scores, from_logits=True
            ),
            "reconstruction": ...,
            "divergence": ...,
        }

model: the one of `build`, which may have further outputs beside the answer, the first of them.
batch: a Batch. Returned are losses by their names, one number for each example (b,) float32, whose
sum is minimized: the loop weighs the examples, takes the gradients, accumulates, clips and applies
them, on any number of devices. A value (losses, variables) is minimized by these variables alone,
as one side of an adversarial training is; the others' gradients do not have it. Each is a figure
of the train split under its name; metrics of the validation split stay the task's, of the answer.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from trainer.models import ModelError
from trainer.models.own import OwnModel
from trainer.training import gradients, records
from trainer.training.objectives.objective import Objective
from trainer.training.records import Inputs
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Common
from trellis_contracts.metrics import IN_TRAINING

EXAMPLES = 3
"""As many are enough to try a step, and no other length of a tensor is likely to be that."""

# Other figures of an epoch: of the validation split, and of the training's speed.
_NAME = re.compile(r"(?!val_|gpu_|.*_share$)[a-z][a-z0-9_]{0,62}")
_TAKEN = (
    *IN_TRAINING,
    "epoch",
    "seconds",
    "learning_rate",
    "examples_per_second",
    "memory_bytes",
)


class Batch(NamedTuple):
    """The examples of one step of one replica. inputs: by the names of the model's inputs. labels:
    (b,) class indices int64; of a multi-label task (b, classes), or of a regression standardized
    values, float32.
    """

    inputs: Inputs
    labels: tf.Tensor


@dataclass(frozen=True)
class OwnStep:
    """A file's step, tried once. names: of its losses, in their order. moved: places of the
    variables, among the model's trainable ones, that some losses alone move.
    """

    own: OwnModel
    h: Common
    names: tuple[str, ...]
    moved: Mapping[str, tuple[int, ...]]

    def of(self, model: keras.Model) -> Callable[[Inputs, tf.Tensor], dict[str, tf.Tensor]]:
        """A function (inputs, labels) -> losses by name, (b,) each, of a model like that which was
        tried.
        """

        # Its own tf.function: AutoGraph converts the file's control flow.
        @tf.function
        def losses(inputs, labels):
            found = self.own.module.train_step(model, Batch(inputs, labels), self.h)
            return {name: _split(value)[0] for name, value in found.items()}

        return losses


def tried(
    own: OwnModel,
    model: keras.Model,
    objective: Objective,
    dataset: DatasetDescription,
    h: Common,
    taken: list[bytes],
) -> OwnStep | None:
    """The file's step; None if it has none. model: of the file, not one that is trained: its state
    may change. taken: some records of the dataset.

    Raises ModelError if the step fails, or returns anything else than losses.
    """
    if not own.declaration.train_step:
        return None
    names = [tensor.name for tensor in model.inputs]
    inputs, labels, _ = records.Records(dataset, names).parse(tf.constant(taken[:EXAMPLES]))
    with tf.GradientTape(persistent=True) as tape:
        found = own.call("train_step", model, Batch(inputs, objective.targets(labels)), h)
        if problem := _problem(found, len(labels), model):
            raise ModelError(f"{own.name}: train_step returned {problem}")
        parts = [(tf.reduce_sum(losses), moved) for losses, moved in map(_split, found.values())]
    weights = model.trainable_variables
    slopes = gradients.of_parts(tape, parts, weights)
    if idle := [w.path for w, slope in zip(weights, slopes, strict=True) if slope is None]:
        raise ModelError(
            f"{own.name}: no loss of train_step depends on the weights {', '.join(idle[:5])}: "
            "connect their layers, or leave them out"
        )
    places = {id(weight): place for place, weight in enumerate(weights)}
    moved = {
        name: tuple(places[id(variable)] for variable in variables)
        for name, (_, variables) in zip(found, map(_split, found.values()), strict=True)
        if variables is not None
    }
    return OwnStep(own, h, tuple(found), moved)


def _split(value: Any) -> tuple[Any, Any]:
    """The losses, and the variables that they move."""
    return value if isinstance(value, tuple) and len(value) == 2 else (value, None)


def _problem(found: Any, examples: int, model: keras.Model) -> str | None:
    """Return what is wrong with what a step returned, which the message goes on with."""
    if not isinstance(found, dict) or not found:
        kind = "{}" if isinstance(found, dict) else type(found).__name__
        return f"{kind}; expected {{name: losses}}, one number for each example"
    known = {id(weight) for weight in model.trainable_variables}
    for name, value in found.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _TAKEN:
            return (
                f"a loss named {name!r}; expected letters a to z, digits and _, not val_ or gpu_ "
                "at the start nor _share at the end, and none of " + ", ".join(_TAKEN)
            )
        losses, moved = _split(value)
        if not tf.is_tensor(losses) or losses.shape != (examples,) or losses.dtype != tf.float32:
            is_tensor = tf.is_tensor(losses)
            what = f"{losses.dtype.name} {losses.shape}" if is_tensor else repr(losses)
            return (
                f"the loss {name} as {what} for {examples} examples; expected float32 "
                f"({examples},), one number for each example"
            )
        if moved is not None and not (moved and all(id(variable) in known for variable in moved)):
            return (
                f"the loss {name} with variables that are not among the model's trainable ones; "
                "expected some of model.trainable_variables, as layer.trainable_variables has them"
            )
    return None
