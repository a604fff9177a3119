"""Layers that compute with 16 bits, and passes that XLA compiles."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import config

from testbed.trainings import arguments, without_seconds
from tests.wording import says
from trainer import dataset_description, models, predictions
from trainer.estimators import run
from trainer.training import (
    TrainingError,
    checkpoints,
    distribution,
    loop,
    optimizer,
    precision,
    sample,
)
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.models import MODELS

pytestmark = pytest.mark.timeout(600)


class Interruption(BaseException):
    """Ends a training as a kill would."""


@pytest.fixture
def train(tmp_path):
    """A function: dataset, output folder, flags -> metrics.json."""

    def train(dataset, output="out", **flags):
        small = {"filters": 4} if flags.get("model") == "convolutional" else {"units": 16}
        flags = {"outputs": "metrics", "epochs": 2, **small, **flags}
        settings = parse_flags(arguments(dataset, output=tmp_path / output, **flags), "")
        assert run.train(settings, checked_dataset(settings)) == 0
        return json.loads(settings.places.metrics.read_text())

    return train


def losses(metrics):
    return [row[name] for row in metrics["history"] for name in ("loss", "val_loss")]


# All that a scaled gradient passes through.
FLOAT16 = {"mixed_precision": "float16", "clip_norm": 0.1, "accumulation": 2, "batch_size": 16}


def test_16_bits_learn_what_32_do_and_the_model_computes_with_32(train, few_digits, tmp_path):
    # Both parts of a step at once: gradients that are not cut add up to the same.
    whole = {"mixed_precision": "none", "accumulation": 1, "batch_size": 32}
    plain = train(few_digits, "32", **FLOAT16 | whole)
    half = train(few_digits, "16", outputs="all", **FLOAT16)
    assert losses(half) != losses(plain)
    assert losses(half) == pytest.approx(losses(plain), rel=0.01)
    served = tf.saved_model.load(str(tmp_path / "16/model")).signatures["pixels"]
    types = {out.dtype for op in served.graph.get_operations() for out in op.outputs}
    for function in served.graph._functions.values():
        types |= {tf.as_dtype(arg.type) for arg in function.cached_definition.signature.output_arg}
    assert tf.float32 in types
    assert not types & {tf.float16, tf.bfloat16}
    found = predictions.read(str(tmp_path / "16/predictions.parquet")).probabilities
    assert (found.astype(np.float16).astype(np.float32) != found).mean() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("flags", [FLOAT16, {"jit_compile": True}])
def test_an_interrupted_training_ends_as_an_undisturbed_one(train, few_digits, monkeypatch, flags):
    undisturbed = without_seconds(train(few_digits, "undisturbed", **flags))
    with monkeypatch.context() as patch:
        patch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
        patch.setattr(checkpoints, "save", interrupted_after(checkpoints.save, 1))
        with pytest.raises(Interruption):
            train(few_digits, **flags)
    assert without_seconds(train(few_digits, **flags)) == undisturbed


def interrupted_after(function, times):
    calls = []

    def interrupted(*arguments):
        calls.append(function(*arguments))
        if len(calls) == times:
            raise Interruption

    return interrupted


def test_a_step_whose_gradient_overflows_is_left_out_and_the_scale_falls():
    update = optimizer.build(Hyperparameters(mixed_precision="float16", optimizer="sgd"), 1)
    weight = keras.Variable([1.0])
    update.build([weight])
    scale = float(update.scale_loss(1.0))
    update.apply_gradients([(tf.constant([np.inf]), weight)])
    assert weight.numpy() == 1
    assert float(update.scale_loss(1.0)) == scale / 2
    update.apply_gradients([(tf.constant([scale / 2]), weight)])
    assert weight.numpy() < 1


@pytest.mark.slow
def test_xla_gives_what_the_graph_gives(train, few_digits):
    compiled = train(few_digits, "compiled", jit_compile=True)
    assert losses(compiled) == pytest.approx(losses(train(few_digits, "graph")), rel=1e-5)


@pytest.mark.slow
def test_max_pooling_is_compiled_only_without_determinism(train, few_digits):
    flags = {"model": "convolutional", "epochs": 1}
    compiled = {"jit_compile": True, **flags}
    with pytest.raises(TrainingError, match="no deterministic gradient of max_pooling"):
        train(few_digits, "refused", **compiled)
    config.disable_op_determinism()
    found = losses(train(few_digits, "compiled", **compiled, deterministic=False))
    assert found == pytest.approx(losses(train(few_digits, "graph", **flags)), rel=1e-4)


def test_operations_are_deterministic_unless_a_file_says_otherwise(few_digits, monkeypatch):
    """The setting is looked at where a training begins."""
    found = []
    begin = "trainer.estimators.keras._train_together"
    monkeypatch.setattr(begin, lambda *args: found.append(config.is_op_determinism_enabled()))
    config.disable_op_determinism()
    for flags in ({"deterministic": False}, {}):
        settings = parse_flags(arguments(few_digits, output="none", **flags), "")
        assert run.train(settings, checked_dataset(settings)) == 0
    assert found == [False, True]


def test_what_xla_cannot_compile_is_refused(train, few_rows):
    with pytest.raises(TrainingError, match="has sequences or texts, whose length differs"):
        train(few_rows, task="binary_classification", jit_compile=True)
    with pytest.raises(TrainingError, match="leave --strategy tpu out"):
        train(few_rows, task="binary_classification", strategy="tpu")

    image = keras.Input([8, 8, 1])
    pooled = keras.Model(image, keras.layers.MaxPooling2D()(image))
    assert says(distribution.not_compiled(pooled), "deterministic", "max_pooling2d")
    assert distribution.not_compiled(pooled, deterministic=False) is None
    normalized = keras.Model(image, keras.layers.BatchNormalization()(image))
    assert distribution.not_compiled(normalized) is None
    distribution.synchronize_normalization(normalized)
    assert "over all replicas within a pass" in distribution.not_compiled(normalized)


def test_every_model_computes_in_16_bits_and_puts_out_32(few_digits, few_rows):
    for name, model in MODELS.items():
        if name == "backbone":
            continue
        for kind in model.inputs:
            address = few_digits if kind == "image" else few_rows
            dataset = dataset_description.load(address)
            if "segmentation" in model.tasks:
                dataset = sample.images((16, 16, 1), "segmentation", 2)
            with precision.computing_in("bfloat16"):
                built = models.build(name, dataset, Hyperparameters())
            assert built.output.dtype == "float32", name
            computing = {layer.compute_dtype for layer in built.layers}
            assert computing >= {"bfloat16", "float32"}, name
    assert keras.config.dtype_policy().name == "float32"
