"""One batch through a model's own file: forward, back, a few steps, export; printed as it goes."""

import dataclasses
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from trainer.models import ModelError, answering, endings
from trainer.models.own import OwnModel
from trainer.training import (
    distribution,
    gradients,
    learning,
    objectives,
    optimizer,
    own_step,
    precision,
    records,
    sample,
    saved_model,
    soundness,
)
from trainer.training.objectives.objective import Objective
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.hyperparameters import Common

_STEPS = 20
# Above rounding, which batches of another size and compiled graphs bring along.
_TOLERANCE = 1e-3


def run(own: OwnModel, dataset: DatasetDescription, h: Common, address: str | None) -> list[str]:
    """Try a model's file. address: of the dataset; None: a made-up batch. Returns warnings: what
    can be trained, and is not as it should be.

    Raises ModelError if the file cannot be trained or served.
    """
    keras.utils.set_random_seed(0)
    print(f"file       {own.name}, SHA-256 {own.sha256}")
    dataset = dataset.trained_by(h.objective, h.intervals)
    settings = [f"{name} {getattr(h, name)}" for name in own.declaration.hyperparameters]
    print(f"settings   {', '.join([*settings, f'batch_size {h.batch_size}'])}")
    with precision.computing_in(h.mixed_precision):
        own.build(dataset, h)
    begun = time.monotonic()
    model = own.build(dataset, h)
    if h.jit_compile and (problem := distribution.not_compiled(model, h.deterministic)):
        raise ModelError(f"{own.name}: jit_compile: {problem}: leave jit_compile out")
    seconds = time.monotonic() - begun
    parameters = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    print(f"built      {parameters:,} parameters, {len(model.layers)} layers, {seconds:.1f} s")
    taken = (
        sample.stored(address, dataset, h.batch_size)
        if address
        else sample.made_up(dataset, h.batch_size)
    )
    names = [tensor.name for tensor in model.inputs]
    inputs, labels, _ = records.Records(dataset, names).parse(tf.constant(taken))
    shapes = {name: tuple(tensor.shape) for name, tensor in inputs.items()}
    answer = answering.of(model).output.shape[1:]
    print(f"batch      {_listed(shapes)} -> {(len(taken), *answer)}")
    warnings = _learn(own, model, dataset, h, taken, (inputs, labels))
    aim = objectives.build(dataset, _plain(h))
    if aim.settles:
        outputs = answering.of(model)(inputs, training=False)
        aim.settle(labels.numpy(), outputs.numpy(), np.ones(len(taken)))
    _export(answering.of(model), dataset, taken, inputs, aim)
    return warnings


def _learn(
    own: OwnModel,
    model: keras.Model,
    dataset: DatasetDescription,
    h: Common,
    taken: list[bytes],
    batch: tuple,
) -> list[str]:
    """Some steps on the same batch, at the full learning rate; returns what looks wrong then."""
    inputs, labels = batch
    answers = answering.Traced(model)
    aim = objectives.build(dataset, _plain(h), own.loss(dataset, h))
    tried = own_step.tried(own, own.build(dataset, h), aim, dataset, h, taken)
    minimized = learning.of(model, aim, tried)
    if own_metrics := own.metrics(dataset, h):
        values = own_metrics.function(aim.targets(labels), answers(inputs))
        texts = [f"{name} {float(tf.reduce_mean(values[name])):.4g}" for name in own_metrics.names]
        print(f"metrics    {', '.join(texts)}")
    update = optimizer.build(dataclasses.replace(h, mixed_precision="none"), 1)
    update.build(model.trainable_variables)

    @tf.function(autograph=False)
    def step() -> tuple[tf.Tensor, list[tf.Tensor | None]]:
        with tf.GradientTape(persistent=minimized.several) as tape:
            parts, _ = minimized.parts(inputs, labels, tf.ones([len(taken)]))
            losses = [tf.reduce_mean(part.losses) for part in parts]
        moved = [part.variables for part in parts]
        targets = list(zip(losses, moved, strict=True))
        slopes = gradients.of_parts(tape, targets, model.trainable_variables)
        pairs = zip(slopes, model.trainable_variables, strict=True)
        known = [(slope, weight) for slope, weight in pairs if slope is not None]
        update.apply_gradients(known)
        return tf.add_n(losses), [slope is not None for slope in slopes]

    losses: list[float] = []
    loss, given = step()
    losses.append(float(loss))
    if idle := [w.path for w, has in zip(model.trainable_variables, given, strict=True) if not has]:
        raise ModelError(
            f"{own.name}: the loss does not depend on the weights {', '.join(idle[:5])}: connect "
            "their layers to the output, or leave them out"
        )
    begun = time.monotonic()
    for _ in range(_STEPS):
        losses.append(float(step()[0]))
    speed = _STEPS * len(labels) / (time.monotonic() - begun)
    if not np.isfinite(losses).all():
        raise ModelError(
            f"{own.name}: the loss of one batch is {losses[0]:.4g}, and {losses[-1]:.4g} after "
            f"{_STEPS} steps at learning_rate {h.learning_rate:g}"
        )
    if why := soundness.probabilities(dataset, answers(inputs).numpy()):
        raise ModelError(f"{own.name}: {why}; {endings.REMEDY}")
    print(f"gradients  of all {len(given)} weights")
    print(f"loss       {losses[0]:.4g}, after {_STEPS} steps on this batch {losses[-1]:.4g}")
    warnings = soundness.findings(answers, dataset, inputs)
    if losses[-1] >= losses[0]:
        warnings.append(
            "the loss did not fall, though a model should learn one batch by heart: look at "
            "learning_rate, and at the activations."
        )
    for warning in warnings:
        print(f"warning    {warning}")
    print(f"speed      {speed:,.0f} examples a second on this machine's {os.cpu_count()} CPUs")
    return warnings


def _export(
    model: keras.Model,
    dataset: DatasetDescription,
    taken: list[bytes],
    inputs: Any,
    aim: Objective,
) -> None:
    """Export, and ask the SavedModel, which must not need the file."""
    begun = time.monotonic()
    wanted = model(inputs, training=False)
    with tempfile.TemporaryDirectory() as folder:
        saved_model.export(model, dataset, Path(folder), answers=aim.answers)
        signatures = tf.saved_model.load(folder).signatures
        answers = signatures["stored"](examples=tf.constant(taken))
    off, size = 0.0, 1.0
    for name, expected in aim.answers(wanted).items():
        expected, found = (tf.cast(part, tf.float64) for part in (expected, answers[name]))
        off = max(off, float(tf.reduce_max(tf.abs(expected - found))))
        size = max(size, float(tf.reduce_max(tf.abs(found))))
    if not off < _TOLERANCE * size:
        raise ModelError(
            f"the SavedModel's answers differ from the model's by up to {off:.3g}: does a layer "
            "draw random numbers, or change its state, when it is called with training=False?"
        )
    seconds = time.monotonic() - begun
    print(f"export     a SavedModel that answers the same (at most {off:.0e} off), {seconds:.1f} s")


def _plain(h: Common) -> Common:
    """Without what names classes, of which a made-up batch has others."""
    return dataclasses.replace(h, class_weights="none")


def _listed(shapes: dict[str, tuple]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items())
