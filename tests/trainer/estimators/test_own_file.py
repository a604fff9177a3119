"""A file with `fit` and `load`: trained, scored, saved and served."""

import json
import os

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

from testbed.tables import mixed_rows, write_table
from testbed.trainings import ROOT, arguments
from trainer import predictions, stored
from trainer.comparison.raw_examples import time_text
from trainer.estimators import batch, own_file, run
from trainer.models import ModelError
from trainer.serving.limits import MAX_BATCH
from trainer.serving.model import Model
from trainer.training import TrainingError
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts import hyperparameters
from trellis_contracts.dataset_features import NUMERIC, TIMESTAMP

FOREST = ROOT / "dags/experiments/forest.py"

START = """
import pickle
import numpy as np

class Constant:
    def __init__(self, row):
        self.row = row
    def predict(self, batch):
        return np.tile(self.row, (len(batch), 1))
    def save(self, folder):
        (folder / "row.pickle").write_bytes(pickle.dumps(self))

def load(folder):
    return pickle.loads((folder / "row.pickle").read_bytes())

def fit(data, hyperparameters, report):
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows with features of every kind, NULLs in all of them; two classes."""
    columns, labels = mixed_rows(242)
    files = {"train": [120, 41], "validation": [37], "test": [44]}
    folder = tmp_path_factory.mktemp("datasets") / "rows"
    return write_table(folder, columns, labels, files=files, vocabulary=20)


@pytest.fixture
def train(tmp_path, rows):
    """A function: the model's file, flags -> settings, after the training."""

    def train(model=FOREST, dataset=rows, task="binary_classification", **flags):
        flags = {"model": model, "epochs": 3, "metric": "auc", **flags}
        argv = arguments(dataset, output=tmp_path / "out", task=task, **flags)
        settings = parse_flags(argv, "")
        assert run.train(settings, checked_dataset(settings)) == 0
        return settings

    return train


@pytest.fixture
def written(tmp_path):
    """A function: the body of a `fit` -> the path of a file with it."""

    def write(body, start=START):
        path = tmp_path / "mine.py"
        path.write_text(start + body)
        return path

    return write


def test_the_scores_are_those_of_the_librarys_own_call(train, rows):
    settings = train(trees=20, seed=5)
    dataset = checked_dataset(settings)
    own = {split: next(stored.batches(rows, dataset, split, 1000)) for split in ("train", "test")}
    numbers = {split: batch.of_stored(one, dataset.features).numpy() for split, one in own.items()}
    filled = np.nanmean(numbers["train"], axis=0)
    x = {split: np.where(np.isnan(one), filled, one) for split, one in numbers.items()}
    forest = RandomForestClassifier(20, max_features=0.2, random_state=5)
    forest.fit(x["train"], own["train"].labels, np.ones(len(own["train"])))
    found = predictions.read(settings.places.predictions)
    assert list(found.keys) == list(own["test"].keys)
    np.testing.assert_allclose(
        found.probabilities, forest.predict_proba(x["test"]).astype(np.float32), atol=1e-7
    )
    metrics = json.loads(settings.places.metrics.read_text())
    assert metrics["model"] == "forest.py"
    assert metrics["hyperparameters"] == {"trees": 20, "features": 0.2, "leaf": 1}
    assert metrics["validation"]["auc"] == metrics["history"][-1]["val_auc"]
    assert metrics["test"]["accuracy"] == pytest.approx(
        np.mean(found.probabilities.argmax(1) == found.labels)
    )


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_a_files_predictor_is_calibrated_wherever_it_answers(train, tmp_path, method):
    columns, labels = mixed_rows(800)
    files = {"train": [300], "validation": [250], "test": [250]}
    address = write_table(tmp_path / "d", columns, labels, files=files)
    settings = train(dataset=address, trees=20, calibrate=method)
    after = predictions.read(settings.places.predictions)
    before = predictions.read(settings.places.uncalibrated)
    saved = json.loads((settings.places.model / "postprocessing.json").read_text())
    assert saved["calibration"]["method"] == method
    assert not np.allclose(after.probabilities, before.probabilities)
    model = Model.load(settings.places.model)
    for key, row in list(zip(after.keys, after.probabilities, strict=True))[:20]:
        instance = {
            name: time_text(values[int(key)])
            if kind == TIMESTAMP and values[int(key)] is not None
            else values[int(key)]
            for name, (kind, values) in columns.items()
        }
        body = json.dumps({"instances": [instance]}).encode()
        (answer,) = model.predict(model.rows.read(body).instances)
        np.testing.assert_allclose([*answer["probabilities"].values()], row, atol=1e-6)


def test_a_request_is_answered_as_the_stored_example_is_predicted(train, rows):
    """Every kind of feature, NULLs and terms outside the vocabulary among them."""
    settings = train(trees=20)
    dataset = checked_dataset(settings)
    model = Model.load(settings.places.model)
    assert model.classes == list(dataset.classes)
    offline = predictions.read(settings.places.predictions)
    columns, _ = mixed_rows(242)
    for key, row in zip(offline.keys, offline.probabilities, strict=True):
        instance = {
            name: time_text(values[int(key)])
            if kind == TIMESTAMP and values[int(key)] is not None
            else values[int(key)]
            for name, (kind, values) in columns.items()
        }
        body = json.dumps({"instances": [instance]}).encode()
        (answer,) = model.predict(model.rows.read(body).instances)
        np.testing.assert_array_equal(list(answer["probabilities"].values()), row)
        assert answer["label"] == dataset.classes[row.argmax()]


def test_who_takes_no_missing_values_is_served_where_there_were_none(tmp_path, train, written):
    """The server is ready, and a request with a missing value is one of those that fail."""
    random = np.random.default_rng(0)
    columns = {name: (NUMERIC, random.normal(size=60).tolist()) for name in "ab"}
    labels = [int(value > 0) for value in columns["a"][1]]
    files = {"train": [40], "validation": [10], "test": [10]}
    address = write_table(tmp_path / "whole", columns, labels, files=files)
    body = (
        "    from sklearn.linear_model import LogisticRegression\n"
        "    model = LogisticRegression().fit(data.train.numpy(), data.train.labels)\n"
        "    return Whole(model)\n"
        "class Whole(Constant):\n"
        "    def predict(self, batch):\n"
        "        return self.row.predict_proba(batch.numpy())\n"
    )
    settings = train(written(body), address)
    model = Model.load(settings.places.model)
    model.warm_up(MAX_BATCH)
    request = json.dumps({"instances": [{"a": 1.0, "b": None}]}).encode()
    with pytest.raises(ModelError, match=r"mine\.py, line \d+: ValueError: Input X contains NaN"):
        model.predict(model.rows.read(request).instances)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("    return Constant([0.5, 0.6])\n", "probabilities that add up to 1.1 for example 0"),
        ("    return Constant([1.5, -0.5])\n", "1.5 for example 0 of a batch; expected prob"),
        ("    return Constant([np.nan, 1])\n", "nan for example 0 of a batch; expected finite"),
        ("    return Constant([0.2, 0.3, 0.5])\n", r"an array \(37, 3\) for 37 examples; expected"),
        ("    return Constant('ab')\n", "ndarray, not an array of numbers"),
        ("    return 3\n", "fit returned int, which has no method predict"),
        ("    return 1 / 0\n", "mine.py, line 17: ZeroDivisionError"),
        ("    report(metric=float('nan'))\n", "report: metric is nan|val_auc is nan"),
        ("    report(epoch=2)\n    report(epoch=2)\n", "got epoch 2 after epoch 2"),
        ("    report(**{'A': 1.0})\n", "'A' is no name of a figure"),
        (
            "    one = Constant([0.5, 0.5])\n    one.save = lambda folder: None\n    return one\n",
            "left no file in its folder",
        ),
    ],
)
def test_what_is_no_predictor_is_refused_by_name(train, written, body, problem):
    with pytest.raises(TrainingError, match=problem):
        train(written(body))


def test_what_is_reported_is_the_history_whose_end_is_measured(train, written):
    """The last epoch has the figures of the predictor itself, whatever was reported."""
    settings = train(
        written(
            "    for epoch in (1, 2, 3):\n"
            "        report(metric=0.9, epoch=epoch, loss=1 / epoch)\n"
            "    return Constant([0.5, 0.5])\n"
        )
    )
    metrics = json.loads(settings.places.metrics.read_text())
    assert [row["epoch"] for row in metrics["history"]] == [1, 2, 3]
    assert [row["val_auc"] for row in metrics["history"]] == [0.9, 0.9, 0.5]
    assert metrics["history"][1]["loss"] == 0.5
    assert metrics["validation"]["auc"] == 0.5
    assert metrics["best_epoch"] == 3


def test_what_is_reported_is_in_tensorboard_as_keras_has_it(train, written):
    reports = "    report(0.9, loss=0.5)\n    report(0.8, loss=0.4)\n"
    settings = train(written(f"{reports}    return Constant([0.5, 0.5])\n"))

    def points(split, tag):
        events = EventAccumulator(str(settings.places.logs / split)).Reload()
        found = [(one.step, float(make_ndarray(one.tensor_proto))) for one in events.Tensors(tag)]
        return [(step, pytest.approx(value)) for step, value in found]

    assert points("train", "epoch_loss") == [(0, 0.5), (1, 0.4)]
    # The last epoch's are the predictor's.
    assert points("validation", "epoch_auc") == [(0, 0.9), (1, 0.5)]
    assert points("validation", "epoch_accuracy")[0][0] == 1


def test_the_tuner_gets_a_measurement_of_each_epoch(train, written, tmp_path, monkeypatch):
    monkeypatch.setenv("CLOUD_ML_TRIAL_ID", "3")
    monkeypatch.setenv("CLOUD_ML_HP_METRIC_FILE", str(tmp_path / "metrics"))
    train(
        written("    report(0.9)\n    report(0.8)\n    return Constant([0.5, 0.5])\n"),
        outputs="metrics",
    )
    lines = [json.loads(line) for line in (tmp_path / "metrics").read_text().splitlines()]
    assert [(float(one["auc"]), int(one["global_step"])) for one in lines] == [(0.9, 1), (0.5, 2)]
    assert {one["trial"] for one in lines} == {"3"}
    assert not (tmp_path / "out/model").exists()


def test_a_training_that_was_killed_goes_on_from_what_it_left(train, written):
    body = (
        "    place = run.checkpoints / 'round.txt'\n"
        "    done = int(place.read_text()) if place.exists() else 0\n"
        "    for epoch in range(done + 1, run.epochs + 1):\n"
        "        report(epoch=epoch, done_before=done)\n"
        "        place.write_text(str(epoch))\n"
        "        if epoch == 2 and not done:\n"
        "            raise KeyboardInterrupt\n"
        "    return Constant([0.5, 0.5])\n"
    )
    path = written(body, START.replace("report):", "report, run):"))
    with pytest.raises(KeyboardInterrupt):
        train(path, epochs=4)
    metrics = json.loads(train(path, epochs=4).places.metrics.read_text())
    assert [(row["epoch"], row["done_before"]) for row in metrics["history"]] == [
        *((1, 0), (2, 0)),
        *((3, 2), (4, 2)),
    ]


def test_one_that_starts_over_reports_all_again(train, written):
    """It left nothing to go on from, so nothing that it reported before counts."""
    body = (
        "    import os\n"
        "    for epoch in range(1, run.epochs + 1):\n"
        "        report(loss=epoch / 10)\n"
        "        if epoch == 2 and os.environ.pop('BREAK', None):\n"
        "            raise KeyboardInterrupt\n"
        "    return Constant([0.5, 0.5])\n"
    )
    path = written(body, START.replace("report):", "report, run):"))
    os.environ["BREAK"] = "1"
    with pytest.raises(KeyboardInterrupt):
        train(path, epochs=3)
    metrics = json.loads(train(path, epochs=3).places.metrics.read_text())
    assert [(row["epoch"], row["loss"]) for row in metrics["history"]] == [
        *((1, 0.1), (2, 0.2), (3, 0.3)),
    ]


@pytest.mark.parametrize("strategy", ["mirrored", "multi_worker", "parameter_server"])
def test_several_replicas_are_refused_before_anything_is_trained(train, strategy):
    with pytest.raises(TrainingError, match="fit, which decides by itself how it trains"):
        train(strategy=strategy)


def test_a_saved_file_that_was_changed_is_not_executed(train):
    settings = train(trees=10)
    (settings.places.model / "forest.py").write_text("raise SystemExit\n")
    with pytest.raises(Exception, match="its SHA-256 is"):
        own_file.load(settings.places.model)


def test_a_regression_and_its_numbers(tmp_path, train, written):
    random = np.random.default_rng(0)
    columns = {name: (NUMERIC, random.normal(size=60).tolist()) for name in "ab"}
    labels = [a - b for a, b in zip(columns["a"][1], columns["b"][1], strict=True)]
    files = {"train": [40], "validation": [10], "test": [10]}
    address = write_table(tmp_path / "line", columns, labels, files=files, task="regression")
    body = (
        "    weights = np.linalg.lstsq(data.train.numpy(), data.train.labels)[0]\n"
        "    return Line(weights)\n"
        "class Line(Constant):\n"
        "    def predict(self, batch):\n"
        "        return batch.numpy() @ self.row[:, None]\n"
    )
    settings = train(written(body), address, "regression", metric="rmse")
    found = predictions.read(settings.places.predictions)
    np.testing.assert_allclose(found.values, found.labels, atol=1e-5)
    assert hyperparameters.of_model("mine.py", settings.own.table) == []
