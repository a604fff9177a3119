"""A model's own file: what it is given, and how one that cannot be trained is refused."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from trainer.models import ModelError
from trainer.models.own import read
from trainer.training import sample

RESIDUAL = Path(__file__).parent / "files/residual.py"
ROWS = sample.rows("multiclass_classification", 3)

START = """
import keras
from keras import layers
from trainer.models import inputs

def build(dataset, hyperparameters):
    row = inputs.table(dataset, 4)
    x = inputs.joined(row.flat)
"""


@pytest.fixture
def own(tmp_path):
    """A function: text of a file -> its model."""

    def write(text):
        path = tmp_path / "mine.py"
        path.write_text(text)
        return read(str(path))

    return write


def test_a_file_gives_a_model_for_rows_and_for_images():
    own = read(str(RESIDUAL))
    h = own.table(width=16, depth=1)
    rows = own.build(ROWS, h)
    assert rows.output_shape == (None, 3)
    images = own.build(sample.images((8, 8, 1), "binary_classification", 2), h)
    assert images(np.zeros((2, 8, 8, 1), np.uint8)).shape == (2, 2)
    assert sum(type(layer).__name__ == "Scale" for layer in images.layers) == 1


def test_only_the_planned_content_is_executed(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n{START}")
    planned = hashlib.sha256(b"another").hexdigest()
    with pytest.raises(ModelError, match="is not the file that the run was planned with"):
        read(str(path), planned)
    read(str(path), hashlib.sha256(path.read_bytes()).hexdigest())
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        ("    return x / nothing\n", r"mine\.py.*NameError.*'nothing'"),
        ("    return dataset.layers\n", r"AttributeError.*'layers'"),
        ("    raise SystemExit(3)\n", "mine.py, line 9: SystemExit: 3"),
        ("    return 3\n", "mine.py: build returned int, not a Keras model"),
        (
            "    return keras.Model(row.inputs, layers.Dense(5)(x))\n",
            r"output \(None, 5\); expected \(None, 3\), a logit for each class: end with",
        ),
        (
            "    return keras.Model(row.inputs, layers.Dense(3, dtype='float16')(x))\n",
            "outputs of float16; expected float32",
        ),
        (
            "    raw = keras.Input((4,), name='raw')\n"
            "    return keras.Model(raw, layers.Dense(3)(raw))\n",
            "the inputs raw .* begin with row = inputs.table",
        ),
        (
            "    class Mine(keras.Model):\n        pass\n    return Mine()\n",
            "Mine, not a functional model",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused_with_the_line(own, end, problem):
    model = own(START + end)
    with pytest.raises(ModelError, match=problem):
        model.build(ROWS, model.table())


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("return outputs", r"loss returned float32 \(2, 3\) for 2 examples; expected float32 \(2,"),
        ("return labels", r"loss returned int64 \(2,\)"),
        ("return 1.0", "loss returned 1.0 for 2 examples"),
        ("return labels @ outputs", "line 11: InvalidArgumentError"),
    ],
)
def test_a_loss_is_one_number_for_each_example(own, body, problem):
    text = f"{START}    return 1\ndef loss(labels, outputs, hyperparameters):\n    {body}\n"
    model = own(text)
    with pytest.raises(ModelError, match=problem):
        model.loss(ROWS, model.table())


def test_a_loss_and_metrics_may_depend_on_tensors_by_if(own):
    body = "    if tf.reduce_mean(outputs) > 1:\n        {far}\n    else:\n        {near}\n"
    loss = body.format(far="found = outputs[:, 0]", near="found = -outputs[:, 0]")
    model = own(
        f"import tensorflow as tf\n{START}    return 1\n"
        f"def loss(labels, outputs, hyperparameters):\n{loss}    return found\n"
        f"def metrics(labels, outputs, hyperparameters):\n{loss}    return {{'mine': found}}\n"
    )
    labels, far, near = tf.zeros([2], tf.int64), tf.fill([2, 3], 2.0), tf.fill([2, 3], 0.5)
    step = tf.function(model.loss(ROWS, model.table()), autograph=False)
    metrics = tf.function(model.metrics(ROWS, model.table()).function, autograph=False)

    assert step(labels, far).numpy().tolist() == [2, 2]
    assert step(labels, near).numpy().tolist() == [-0.5, -0.5]
    assert metrics(labels, far)["mine"].numpy().tolist() == [2, 2]
    assert metrics(labels, near)["mine"].numpy().tolist() == [-0.5, -0.5]


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(ModelError, match=r"mine.py cannot be read: No such file"):
        read(f"{tmp_path}/mine.py")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("return outputs", r"metrics returned .*; expected \{name: values\}"),
        ("return {}", r"metrics returned \{\}; expected"),
        ("return {'accuracy': outputs[:, 0]}", "a metric is named 'accuracy'; expected letters"),
        ("return {'Far Off': outputs[:, 0]}", "a metric is named 'Far Off'"),
        ("return {'far_off': outputs}", r"the metric far_off is \(2, 3\) for 2 examples"),
        ("return {'far_off': 1.0}", "the metric far_off is 1.0 for 2 examples"),
        ("return {'far_off': labels @ outputs}", "line 11: InvalidArgumentError"),
    ],
)
def test_metrics_are_one_number_for_each_example_by_name(own, body, problem):
    text = f"{START}    return 1\ndef metrics(labels, outputs, hyperparameters):\n    {body}\n"
    model = own(text)
    with pytest.raises(ModelError, match=problem):
        model.metrics(ROWS, model.table())


def test_a_file_without_metrics_has_none():
    own = read(str(RESIDUAL))
    assert own.metrics(ROWS, own.table()) is None
