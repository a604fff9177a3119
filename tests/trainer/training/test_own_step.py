"""A model's file with `train_step`: several losses, several outputs, in our loop."""

import contextlib
import io
import json
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.tables import write_table
from testbed.trainings import arguments
from tests.wording import says
from trainer import predictions, try_model
from trainer.estimators import run
from trainer.models import ModelError
from trainer.training import TrainingError, gradients
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts.dataset_features import NUMERIC

AUTOENCODER = Path(__file__).parents[1] / "models/files/autoencoder.py"

START = """
import keras
import tensorflow as tf
from keras import layers
from trainer.models import inputs

def build(dataset, hyperparameters):
    row = inputs.table(dataset, embedding=4)
    x = layers.Dense(16, activation="tanh", name="shared")(inputs.joined(row.flat))
    outputs = [layers.Dense(dataset.outputs, name="answer")(x), layers.Dense(1, name="other")(x)]
    return keras.Model(row.inputs, outputs)

def entropy(labels, scores):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)

def train_step(model, batch, hyperparameters):
    scores, other = model(batch.inputs, training=True)
"""


@pytest.fixture
def train(tmp_path):
    """A function: dataset, model (a path, or the body of a step of two outputs), flags ->
    metrics.json.
    """

    def train(dataset, model=AUTOENCODER, output="out", **flags):
        if isinstance(model, str):
            (tmp_path / "model.py").write_text(f"{START}    {model}\n")
            model = tmp_path / "model.py"
        argv = arguments(dataset, model=model, output=tmp_path / output, **flags)
        told = parse_flags(argv, "")
        assert run.train(told, checked_dataset(told)) == 0
        return json.loads(told.places.metrics.read_text())

    return train


@pytest.fixture(scope="module")
def few_numbers(tmp_path_factory):
    """161 rows to learn from, of numbers alone: a step on them is traced in half of the time of one
    on features of every kind.
    """
    random = np.random.default_rng(0)
    labels = random.random(242) < 0.3
    columns = {
        name: (NUMERIC, (random.normal(size=242) + weight * labels).tolist())
        for name, weight in {"a": 1.5, "b": -1.0, "c": 0.0}.items()
    }
    files = {"train": [120, 41], "validation": [37], "test": [44]}
    folder = tmp_path_factory.mktemp("datasets") / "few_numbers"
    return write_table(folder, columns, labels.astype(int).tolist(), files=files)


FLAGS = {"model": AUTOENCODER, "learning_rate": 0.005, "early_stopping_patience": 0}


@pytest.fixture(scope="module")
def autoencoder(few_digits, tmp_path_factory):
    """A training of twelve epochs: its folder, metrics.json, and what it printed."""
    folder, printed = tmp_path_factory.mktemp("autoencoder"), io.StringIO()
    told = parse_flags(arguments(few_digits, output=folder, epochs=12, **FLAGS), "")
    with contextlib.redirect_stdout(printed):
        assert run.train(told, checked_dataset(told)) == 0
    return folder, json.loads(told.places.metrics.read_text()), printed.getvalue()


def test_an_autoencoder_learns_all_its_losses_and_answers_with_the_class(autoencoder):
    folder, metrics, printed = autoencoder
    line = printed.splitlines()[-2]
    assert says(line, "epoch 12/12", "entropy", "reconstruction", "divergence", "val_accuracy")
    assert "memory_bytes" not in line
    first, last = metrics["history"][0], metrics["history"][-1]
    for loss in ("entropy", "reconstruction"):
        assert last[loss] < 0.8 * first[loss]
    assert {"loss", "accuracy", "val_entropy"}.isdisjoint(first)
    assert {"val_loss", "val_accuracy"} <= {*first}
    assert metrics["test"]["accuracy"] > 0.5
    found = predictions.read(folder / "predictions.parquet")
    assert found.probabilities.shape == (44, 10)
    saved = tf.saved_model.load(str(folder / "model")).signatures["pixels"]
    assert {*saved.structured_outputs} == {"probabilities", "label"}


@pytest.mark.slow
def test_it_goes_on_from_its_checkpoint_as_if_it_had_run_through(train, few_digits, autoencoder):
    _, through, _ = autoencoder
    train(few_digits, epochs=2, outputs="metrics", **FLAGS)
    resumed = train(few_digits, epochs=12, outputs="metrics", **FLAGS)
    assert resumed["weights_sha256"] == through["weights_sha256"]
    rows = [[{**row, "seconds": 0} for row in one["history"]] for one in (through, resumed)]
    assert rows[0] == rows[1]


def test_a_clipped_step_of_the_tasks_loss_is_the_tasks_training(train, few_numbers):
    """With weights of classes, and batches that are accumulated, which are the loop's matter.

    The bound of the norm is far below that of the whole gradient, so that a loss of a thousand
    times the task's makes steps of the same length; clipped by itself, each part would make one.
    """
    flags = {
        "task": "binary_classification",
        "epochs": 2,
        "outputs": "metrics",
        "class_weights": "balanced",
        "accumulation": 2,
        "batch_size": 16,
        "optimizer": "sgd",
        "learning_rate": 0.5,
        "clip_norm": 0.05,
    }
    # The second output learns nothing, but must be of some loss.
    half = "500 * entropy(batch.labels, scores)"
    parts = f"{{'half': {half}, 'other_half': {half} + 0 * other[:, 0]}}"
    step = train(few_numbers, f"return {parts}", output="step", **flags)
    plain = START.partition("def train_step")[0].replace("outputs)\n", "outputs[0])\n")
    (file := Path(few_numbers).parent / "plain.py").write_text(plain)
    task = train(few_numbers, file, output="task", **flags)
    for row, expected in zip(step["history"], task["history"], strict=True):
        assert row["val_loss"] == pytest.approx(expected["val_loss"], rel=1e-4)
    first, last = (row["val_loss"] for row in step["history"])
    assert last < 0.99 * first


def test_a_loss_with_variables_moves_them_alone(train, few_numbers):
    """Two adversaries: one output learns the label, and the layer below unlearns it."""
    adversaries = (
        "guess = entropy(batch.labels, tf.concat([-other, other], 1))\n"
        "    below = model.get_layer('shared').trainable_variables\n"
        "    head = model.get_layer('other').trainable_variables\n"
        "    named = {id(v) for v in (*below, *head)}\n"
        "    rest = [v for v in model.trainable_variables if id(v) not in named]\n"
        "    return {'answer': (entropy(batch.labels, scores), [*below, *rest]),\n"
        "            'guess': (guess, head), 'hidden': (-guess, below)}"
    )
    flags = {"task": "binary_classification", "epochs": 3, "outputs": "metrics"}
    metrics = train(few_numbers, adversaries, **flags)
    for row in metrics["history"]:
        assert row["hidden"] == pytest.approx(-row["guess"], rel=1e-5)
        assert {"answer", "guess", "hidden"} <= {*row}


@settings(max_examples=25)
@given(st.floats(-4, 4, width=32), st.floats(-4, 4, width=32))
def test_gradients_of_parts_add_up_over_the_variables_that_each_moves(x, y):
    first, second, idle = (keras.Variable(value) for value in (x, y, 1.0))
    with tf.GradientTape(persistent=True) as tape:
        product = first.value * second.value
        parts = [(product, [first]), (tf.square(first.value) + 3 * second.value, None)]
    found = gradients.of_parts(tape, parts, [first, second, idle])
    assert found[0].numpy() == pytest.approx(y + 2 * x, abs=1e-4)
    assert found[1].numpy() == pytest.approx(3)
    assert found[2] is None
    # Of another phase, which trains some of them.
    (of_second,) = gradients.of_parts(tape, parts, [second])
    assert of_second.numpy() == pytest.approx(3)


LOSSES = "'a': entropy(batch.labels, scores), 'b': tf.square(other[:, 0])"


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("return entropy(batch.labels, scores)", "EagerTensor; expected {name: losses}"),
        ("return {}", "{}; expected {name: losses}"),
        ("return {'a': tf.reduce_mean(scores)}", r"the loss a as float32 \(\) for 3 examples"),
        ("return {'a': scores}", r"the loss a as float32 \(3, 2\) for 3 examples"),
        (
            "return {'a': tf.cast(entropy(batch.labels, scores), tf.float64)}",
            r"the loss a as float64 \(3,\)",
        ),
        ("return {'a': [1.0, 2.0, 3.0]}", r"the loss a as \[1.0, 2.0, 3.0\]"),
        ("return {'loss': other[:, 0]}", "a loss named 'loss'"),
        ("return {'val_a': other[:, 0]}", "a loss named 'val_a'"),
        ("return {'epoch': other[:, 0]}", "a loss named 'epoch'"),
        ("return {'input_share': other[:, 0]}", "a loss named 'input_share'"),
        (f"return {{{LOSSES}, 'c': (other[:, 0], [])}}", "the loss c with variables that are not"),
        (
            f"return {{{LOSSES}, 'c': (other[:, 0], [keras.Variable(1.0)])}}",
            "the loss c with variables that are not",
        ),
        ("return {'a': entropy(batch.labels, scores)}", "depends on the weights other/"),
        ("return {'a': batch.lables}", r"model.py, line 18: AttributeError"),
    ],
)
def test_what_is_no_step_is_refused_before_the_first_one(train, few_numbers, step, problem):
    with pytest.raises((TrainingError, ModelError), match=problem):
        train(few_numbers, step, task="binary_classification", epochs=1)


def test_several_outputs_need_a_step(train, few_numbers, tmp_path):
    (tmp_path / "two.py").write_text(START.partition("def train_step")[0])
    with pytest.raises((TrainingError, ModelError), match="build returned a model with output"):
        train(few_numbers, tmp_path / "two.py", task="binary_classification", epochs=1)


def test_it_is_tried_in_seconds(capsys):
    assert try_model.main([str(AUTOENCODER), "--images=8x8x1", "--classes=4"]) == 0
    shown = capsys.readouterr().out
    assert "gradients  of all" in shown
    assert "a SavedModel that answers the same" in shown


@pytest.mark.slow
@pytest.mark.parametrize("peers", [["chief:0", "worker:0"], ["chief:0", "worker:0", "ps:0"]])
def test_several_machines(few_digits, make_job, peers):
    job = make_job(peers, few_digits, model=AUTOENCODER, epochs=2, clip_norm=1.0)
    job.start()
    assert set(job.wait().values()) == {0}
    assert {"entropy", "reconstruction", "divergence"} <= {*job.metrics["history"][-1]}
    assert np.isfinite(job.metrics["history"][-1]["entropy"])


@pytest.mark.slow
def test_two_devices_learn_what_one_does(few_rows, make_job, monkeypatch, tmp_path):
    """Each has half the batch; sums of gradients are rounded in another order."""
    losses = "{'entropy': entropy(batch.labels, scores), 'square': tf.square(other[:, 0])}"
    (tmp_path / "model.py").write_text(f"{START}    return {losses}\n")
    alike = {
        "model": tmp_path / "model.py",
        "task": "binary_classification",
        "epochs": 3,
        "outputs": "metrics",
        "optimizer": "sgd",
        "learning_rate_scaling": "none",
        "clip_norm": 0.5,
    }
    histories = {}
    for devices, batch in ((1, 32), (2, 16)):
        monkeypatch.setenv("LOCAL_GCP_ACCELERATORS", str(devices))
        job = make_job(["chief:0"], few_rows, batch_size=batch, **alike)
        job.start()
        assert job.wait() == {"chief:0": 0}, job.log("chief:0")
        histories[job.metrics["strategy"]] = job.metrics["history"]
    for one, two in zip(histories["single"], histories["mirrored"], strict=True):
        for name in ("entropy", "square", "val_loss"):
            assert two[name] == pytest.approx(one[name], rel=1e-4)
