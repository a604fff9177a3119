"""Models that look trained and are not; and no alarm for the models that come along."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from trainer.models import build as build_model
from trainer.models import endings
from trainer.models.answering import Traced
from trainer.training import objectives, records, sample
from trainer.training.soundness import FirstEpoch, dead_layers, findings, probabilities, unread
from trellis_contracts import hyperparameters
from trellis_contracts.models import MODELS

TASKS = {
    "binary_classification": 2,
    "multiclass_classification": 5,
    "multilabel_classification": 3,
    "regression": 0,
    "segmentation": 3,
}


def batch_of(dataset, count=48):
    inputs, labels, _ = records.Records(dataset).parse(tf.constant(sample.made_up(dataset, count)))
    return inputs, labels


def ending_in(*last):
    inputs = keras.Input([4])
    x = layers.Dense(3)(inputs)
    for one in last:
        x = one(x)
    return keras.Model(inputs, x)


@pytest.mark.parametrize(
    ("last", "name"),
    [
        ([layers.Dense(3, activation="softmax")], "softmax"),
        ([layers.Dense(3, activation="sigmoid")], "sigmoid"),
        ([layers.Softmax()], "softmax"),
        ([layers.Activation("sigmoid")], "sigmoid"),
        ([layers.Dense(3, activation="hard_sigmoid"), layers.Reshape([3])], "hard_sigmoid"),
        ([keras.ops.softmax], "softmax"),
        ([layers.Dense(3)], None),
        ([layers.Activation("softmax"), layers.Dense(3)], None),
        ([layers.Dense(3, activation="log_softmax")], None),
    ],
)
def test_the_last_activation_is_found_however_it_is_written(last, name):
    assert endings.bounded(ending_in(*last)) == name


def each_model_and_task():
    """A task for each model, in turns: every task occurs."""
    for number, (name, model) in enumerate(MODELS.items()):
        if name != "backbone":
            tasks = [task for task in TASKS if task in model.tasks]
            yield name, tasks[number % len(tasks)]


@pytest.mark.parametrize(("name", "task"), list(each_model_and_task()))
def test_the_models_that_come_along_give_no_alarm(name, task):
    kind = MODELS[name].inputs[-1]
    dataset = (
        sample.images((16, 16, 3), task, TASKS[task])
        if kind == "image"
        else sample.rows(task, TASKS[task])
    )
    keras.utils.set_random_seed(0)
    small = hyperparameters.Hyperparameters(layers=1, blocks=1, attention_blocks=1)
    model = build_model(name, dataset, small)
    assert endings.bounded(model) is None
    assert findings(Traced(model), dataset, batch_of(dataset)[0]) == []


def test_probabilities_are_told_from_logits_by_their_sum():
    dataset = sample.rows("multiclass_classification", 5)
    logits = np.random.default_rng(0).normal(size=(64, 5)).astype(np.float32)
    assert probabilities(dataset, logits) is None
    assert probabilities(dataset, np.abs(logits) / 9) is None
    assert probabilities(dataset, tf.nn.softmax(logits).numpy())
    assert probabilities(sample.rows("regression", 0), tf.nn.softmax(logits).numpy()) is None


def test_features_that_are_not_read_are_named():
    dataset = sample.rows("binary_classification", 2)
    inputs, _ = batch_of(dataset)
    numeric = keras.Input([3], name="numeric")
    known = layers.Lambda(lambda x: keras.ops.nan_to_num(x[:, :2]))(numeric)
    given = {name: keras.Input(t.shape[1:], dtype=t.dtype, name=name) for name, t in inputs.items()}
    model = keras.Model({**given, "numeric": numeric}, layers.Dense(2)(known))
    names = {feature.name for feature in dataset.features}
    assert set(unread(Traced(model), dataset, inputs)) == names - {"size", "weight"}


def test_a_layer_whose_units_are_all_dead_is_named():
    inputs = keras.Input([4])
    alive = layers.Dense(8, activation="relu", name="alive")(inputs)
    dead = layers.Dense(8, "relu", bias_initializer=keras.initializers.Constant(-1e3), name="dead")
    model = keras.Model(inputs, layers.Dense(1)(dead(alive)))
    assert dead_layers(model, np.random.default_rng(0).normal(size=(32, 4))) == ["dead"]


@pytest.mark.parametrize(
    ("factor", "begun", "told"), [(0.9, False, 0), (1.5, False, 1), (1.5, True, 0)]
)
def test_a_loss_that_does_not_fall_in_the_first_epoch_is_reported(
    factor, begun, told, monkeypatch, capsys
):
    """The weights are changed as a good and a bad epoch would; those of an earlier training may
    have nothing left to gain.
    """
    dataset = sample.rows("regression", 0)
    monkeypatch.setattr(
        sample, "stored", lambda address, dataset, count: sample.made_up(dataset, count)
    )
    model = build_model("dense", dataset, hyperparameters.Hyperparameters())
    aim = objectives.build(dataset, hyperparameters.Common())
    watch = FirstEpoch("gs://b/d/", dataset, aim, begun=begun)
    watch.set_model(model)
    watch.on_train_begin()
    kernel, bias = model.layers[-1].get_weights()
    labels = batch_of(dataset, 64)[1].numpy()
    # Towards predicting the mean of the labels, or far from it.
    model.layers[-1].set_weights([kernel * 0, bias * 0 + (0 if factor < 1 else 50)])
    watch.on_epoch_end(0, {})
    said = [text for text in watch.warnings if "did not fall" in text]
    assert len(said) == told, (watch.warnings, labels.mean())
    assert capsys.readouterr().out.count("warning: ") == len(watch.warnings)
    watch.on_epoch_end(1, {})
    assert len([text for text in watch.warnings if "did not fall" in text]) == told
