"""Whether a training that goes on from an earlier model is better, where the truth is known.

Rows follow one linear rule. An earlier model has learned it from many rows; two trainings see a few
further rows for as many epochs, one from its weights and one from new ones. Their scores on 8,000
rows are the truth; what a leaderboard says of small test splits is held against it. Keras' own
`fit` from the same weights is the answer from elsewhere.
"""

import re
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from testbed.tables import write_table
from tests.trainer.comparison.trainings import a_training
from trainer import models, predictions
from trainer.comparison.notes import started
from trainer.comparison.run_folder import Contender
from trainer.comparison.scoreboard import Scoreboard, metric_named
from trainer.metrics.outcome import Outcome
from trainer.training import records
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import NUMERIC
from trellis_contracts.hyperparameters import Hyperparameters

FEATURES, POPULATION, TEST, SPLITS = 12, 8000, 300, 200
FLAGS = {"units": 16, "learning_rate": 0.003, "metric": "auc", "early_stopping_patience": 0}
AUC = metric_named("auc", classes=("no", "yes"))


@pytest.fixture
def draw(tmp_path):
    """A function: name, weights of the rule, number of rows for training -> the dataset's address,
    and its test rows. tested: these rows; else POPULATION new ones. seen: rows of both the train
    and the validation split; else new ones.
    """
    random = np.random.default_rng(0)

    def rows(weights, count):
        x = random.normal(size=(count, FEATURES))
        return x, random.random(count) < 1 / (1 + np.exp(-x @ weights))

    def draw(name, weights, count, tested=None, seen=None):
        learned = seen or rows(weights, count), seen or rows(weights, 400)
        parts = [*learned, tested or rows(weights, POPULATION)]
        x, y = (np.concatenate(values) for values in zip(*parts, strict=True))
        files = dict(
            zip(("train", "validation", "test"), ([len(p[1])] for p in parts), strict=True)
        )
        columns = {f"x{i}": (NUMERIC, x[:, i].tolist()) for i in range(FEATURES)}
        labels = ["yes" if one else "no" for one in y]
        return write_table(tmp_path / name, columns, labels, files=files), parts[2]

    return draw


@pytest.fixture
def pair(train, tmp_path):
    """A function: dataset of the earlier model, that of the two trainings -> outcome of the warm
    one and of the cold one on the test split.
    """

    def pair(earlier, now):
        train(earlier, output="earlier", epochs=15, **FLAGS)
        start = max((tmp_path / "earlier/checkpoints").glob("step-*/best.npz"))
        found = {}
        for name, more in (("warm", {"start": str(start)}), ("cold", {})):
            train(now, output=name, epochs=2, **FLAGS, **more)
            stored = predictions.read(tmp_path / name / "predictions.parquet")
            found[name] = Outcome(stored.labels, stored.probabilities)
        return found["warm"], found["cold"]

    return pair


@pytest.fixture(autouse=True)
def few_metrics(monkeypatch):
    """A board of two metrics takes a tenth of the time of all."""
    few = {name: metric_named(name, classes=("no", "yes")) for name in ("auc", "log_loss")}
    monkeypatch.setattr("trainer.comparison.scoreboard.metrics_for", lambda *_: few)


def part(outcome, rows):
    return Outcome(outcome.labels[rows], outcome.probabilities[rows])


def told(warm, cold):
    """The note on a pair, and the lead and the interval in it."""
    outcomes = {"training/1": cold, "training/2": warm}
    start = "gs://b/e/runs/earlier/training/1/checkpoints/s/best.npz"
    contenders = {
        name: Contender(name=name, kind="training", uri="gs://b/", training=a_training(start=begun))
        for name, begun in (("training/1", None), ("training/2", start))
    }
    (note,) = started(contenders, Scoreboard(outcomes, AUC, classes=("no", "yes")))
    number = r"([+-]\d\.\d{4})"
    return note, [float(n) for n in re.search(rf"{number} \[{number}, {number}\]", note).groups()]


RULE = np.linspace(-1, 1, FEATURES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "better"),
    [pytest.param(RULE, True, id="same"), pytest.param(-RULE, False, id="no longer")],
)
def test_the_lead_over_a_cold_start_is_the_true_one(draw, pair, before, better):
    """An earlier model is a gain where its rule still holds, and a loss where it does not."""
    earlier, _ = draw("before", before, 3000)
    now, _ = draw("now", RULE, 300)
    warm, cold = pair(earlier, now)
    truth = AUC.point(warm) - AUC.point(cold)
    assert (truth > 0.02) if better else (truth < -0.02)
    random = np.random.default_rng(1)
    covered, signs = [], []
    for _ in range(SPLITS):
        rows = random.choice(POPULATION, TEST, replace=False)
        note, (_, low, high) = told(part(warm, rows), part(cold, rows))
        covered.append(low <= truth <= high)
        signs.append((low > 0) - (high < 0))
    assert note.startswith(
        "training/2 began with the weights of the model that was served, of the run earlier: AUC 0."
    )
    assert note.endswith("on the same test examples.")
    # Three standard errors of 200 below 95 %; the note never finds the opposite.
    assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / SPLITS)
    assert (1 if better else -1) in signs
    assert (-1 if better else 1) not in signs


@pytest.mark.slow
def test_a_parent_that_has_seen_the_test_rows_seems_better_than_any_model_can_be(draw, pair):
    """Labels are drawn by lot, so that an AUC above a half is memory: why `start` is refused."""
    nothing = np.zeros(FEATURES)
    _, tested = draw("any", nothing, 300)
    few = tuple(values[:300] for values in tested)
    now, _ = draw("now", nothing, 300, tested=few)
    earlier, _ = draw("before", nothing, 300, seen=few)
    warm, cold = pair(earlier, now)
    _, (lead, low, _) = told(warm, cold)
    assert AUC.point(cold) == pytest.approx(0.5, abs=0.1)
    assert low > 0
    assert lead > 0.05


def test_keras_goes_on_from_the_same_weights_alike(train, draw, tmp_path):
    """All rows are one batch, so that their order changes nothing."""
    rows, _ = draw("now", RULE, 200, tested=(np.zeros((2, FEATURES)), np.array([True, False])))
    flags = {"batch_size": 200, "learning_rate": 0.01, "plateau_patience": 0, "units": 8}
    flags["outputs"] = "metrics"
    dataset = DatasetDescription.from_json(Path(rows, "dataset.json").read_text())
    model = models.build("dense", dataset, Hyperparameters(units=8))
    np.savez(start := tmp_path / "best.npz", *model.get_weights())
    ours = train(rows, output="warm", epochs=3, warmup_epochs=0, start=start, **flags)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    theirs = model.fit(
        *of_split(dataset, rows, "train"),
        batch_size=200,
        epochs=3,
        validation_data=of_split(dataset, rows, "validation"),
        verbose=0,
    )
    for name in ("loss", "accuracy", "val_loss", "val_accuracy"):
        own = [row[name] for row in ours["history"]]
        assert own == pytest.approx(theirs.history[name], rel=1e-5), name


def of_split(dataset, folder, split):
    """Inputs and labels of all examples of a split."""
    (batch,) = tf.data.TFRecordDataset(dataset.uris(folder, split)).batch(1000)
    inputs, labels, _ = records.Records(dataset).parse(batch)
    return inputs, labels
