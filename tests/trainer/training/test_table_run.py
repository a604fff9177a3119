"""Whole trainings on tables: what is learned, and that interruptions leave no trace."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from testbed.tables import pictured_rows, write_table
from testbed.trainings import arguments, without_seconds
from tests.trainer.training.imbalanced import SPARSE
from tests.wording import says
from trainer import predictions
from trainer.training import TrainingError, callbacks, checkpoints, loop
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts.dataset_features import NUMERIC, SEQUENCE, TEXT


class Interruption(BaseException):
    """Ends a training as a kill would."""


# All that has a state of its own; with embeddings, and a metric that is gathered.
STATEFUL = {
    "units": 8,
    "embedding": 2,
    "dropout": 0.3,
    "batch_size": 8,
    "learning_rate": 0.02,
    "metric": "auc",
    "plateau_patience": 1,
    "early_stopping_patience": 2,
    "epochs": 6,
    "outputs": "metrics",
}


def interrupt(patch, owner, name, after):
    """Make `owner.name` work `after` times and raise Interruption from then on."""
    original, calls = getattr(owner, name), []

    def interrupted(*arguments, **options):
        if len(calls) == after:
            raise Interruption
        calls.append(name)
        return original(*arguments, **options)

    patch.setattr(owner, name, interrupted)


@pytest.mark.slow
def test_an_interrupted_training_ends_as_an_undisturbed_one(train, few_rows, monkeypatch):
    """Interrupted twice: within an epoch of 20 steps, and after one."""
    undisturbed = without_seconds(train(few_rows, "undisturbed", **STATEFUL))
    assert undisturbed["epochs_run"] > 2
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    for owner, name, after in (
        (checkpoints, "save", 3),
        (callbacks.ProgressLine, "on_epoch_end", 1),
    ):
        with monkeypatch.context() as patch:
            interrupt(patch, owner, name, after)
            with pytest.raises(Interruption):
                train(few_rows, **STATEFUL)
    assert without_seconds(train(few_rows, **STATEFUL)) == undisturbed


def test_the_best_epoch_is_that_of_the_metric_that_was_asked_for(train, rare, monkeypatch):
    """And a table that does not fit in memory is trained on as well."""
    monkeypatch.setattr("trainer.training.kept.places", lambda size: [])
    metrics = train(rare, epochs=5, metric="auc", outputs="metrics", learning_rate=0.02)
    best = max(metrics["history"], key=lambda row: (row["val_auc"], -row["val_loss"]))
    assert metrics["best_epoch"] == best["epoch"]
    assert metrics["validation"]["auc"] == best["val_auc"]


def split(rows):
    """Sizes of the files of 80, 10 and 10 percent."""
    most, more = int(0.8 * rows), int(0.9 * rows)
    return {
        "train": [most // 2, most - most // 2],
        "validation": [more - most],
        "test": [rows - more],
    }


def bundled(folder, data, **task):
    """One of scikit-learn's tables as a dataset, in a random order."""
    order = np.random.default_rng(0).permutation(len(data.target))
    columns = {
        name.replace(" ", "_"): (NUMERIC, data.data[order, column].tolist())
        for column, name in enumerate(data.feature_names)
    }
    return write_table(
        folder, columns, data.target[order].tolist(), files=split(len(order)), **task
    )


@pytest.mark.slow
def test_breast_cancer_is_told_from_its_30_numbers(train, tmp_path):
    metrics = train(bundled(tmp_path / "d", load_breast_cancer()), epochs=12, outputs="metrics")
    assert metrics["validation"]["accuracy"] >= 0.96
    assert metrics["validation"]["auc"] >= 0.99


def test_a_regression_beats_the_mean(train, tmp_path):
    data = load_diabetes(scaled=False)
    address = bundled(tmp_path / "d", data, task="regression")
    metrics = train(address, task="regression", epochs=12)
    assert metrics["test"]["loss"] < 0.75  # 1: predicting the train split's mean
    stored = predictions.read(tmp_path / "out/predictions.parquet")
    assert 80 < stored.values.mean() < 220
    assert metrics["test"]["mae"] == pytest.approx(np.abs(stored.values - stored.labels).mean())


def test_what_words_tell_is_learned(train, tmp_path):
    """Each word alone is as frequent in both classes; only pairs of words differ."""
    random = np.random.default_rng(0)
    notes, labels = [], []
    for row in range(600):
        told, other = ("no mass", "small scar") if row % 2 else ("small mass", "no scar")
        said = [told, other, *random.choice(["left", "right", "seen", "in", "the", "lobe"], 4)]
        notes.append(". ".join(random.permutation(said).tolist()).capitalize())
        labels.append(row % 2)
    files = {"train": [240, 240], "validation": [110], "test": [10]}
    address = write_table(tmp_path / "d", {"note": (TEXT, notes)}, labels, files=files)
    metrics = train(address, epochs=8, learning_rate=0.01, outputs="metrics")
    assert metrics["validation"]["auc"] >= 0.95


ORDER = {"epochs": 25, "outputs": "metrics", "metric": "auc", "learning_rate": 0.003}


def test_accuracy_keeps_an_epoch_that_never_says_rare_and_balanced_accuracy_does_not(train, rare):
    metrics = train(rare, metric="balanced_accuracy", **SPARSE | {"outputs": "metrics"})
    # The epoch that a training by accuracy keeps: of the highest the one with the lowest loss.
    kept = max(metrics["history"], key=lambda row: (row["val_accuracy"], -row["val_loss"]))
    assert kept["val_balanced_accuracy"] == 0.5
    assert metrics["validation"]["balanced_accuracy"] > 0.6
    assert metrics["validation"]["accuracy"] == kept["val_accuracy"]


@pytest.fixture(scope="module")
def rising(tmp_path_factory):
    """Is a sequence's last element larger than its first? Only its order tells."""
    random, rows = np.random.default_rng(1), 2000
    sequences = [random.normal(5, 2, random.integers(0, 16)).tolist() for _ in range(rows)]
    labels = [int(len(s) > 1 and s[0] < s[-1]) for s in sequences]
    columns = {
        "signal": (SEQUENCE, sequences),
        "noise": (NUMERIC, random.normal(size=rows).tolist()),
    }
    folder = tmp_path_factory.mktemp("d") / "rising"
    return write_table(folder, columns, labels, files=split(rows))


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        {"model": "recurrent"},
        {"model": "recurrent", "cell": "lstm", "bidirectional": True},
        {"model": "recurrent", "series": "together"},
        {"model": "transformer"},
    ],
)
def test_what_only_the_order_tells_is_learned(train, rising, model):
    assert train(rising, **model, **ORDER)["validation"]["auc"] > 0.97


@pytest.mark.slow
def test_dense_does_not_learn_what_only_the_order_tells(train, rising):
    assert train(rising, model="dense", **ORDER)["validation"]["auc"] < 0.75


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            {"model": "convolutional"},
            "is one of tables, which convolutional does not read for binary_classification: use "
            "--model dense, residual, ",
        ),
        (
            {"task": "regression"},
            r"--task.*binary_classification",
        ),
        (
            {"augment": True},
            "is one of tables, for binary_classification: augment would have no effect",
        ),
    ],
)
def test_what_does_not_fit_a_table_is_refused(train, few_rows, flags, message):
    with pytest.raises(TrainingError, match=message):
        train(few_rows, **flags)


def test_what_does_not_fit_its_label_or_features_is_refused(train, tmp_path):
    numbers = [float(n) for n in range(12)]
    files = {"train": [8], "validation": [2], "test": [2]}

    def table(name, label, columns=None, **options):
        columns = {"x": (NUMERIC, numbers)} if columns is None else columns
        return write_table(tmp_path / name, columns, label, files=files, **options)

    regression = table("values", numbers, task="regression")
    with pytest.raises(TrainingError, match=r"values as labels \(target\), and .* use --task reg"):
        train(regression)
    with pytest.raises(TrainingError, match="label_smoothing would have no effect"):
        train(regression, task="regression", label_smoothing=0.1)
    classes = table("classes", [0, 1, 2] * 4)
    with pytest.raises(TrainingError, match="has 3 classes; binary_classification has 2"):
        train(classes)
    with pytest.raises(
        TrainingError, match=r"has no sequence \(an ARRAY column\), which recurrent"
    ):
        train(classes, task="multiclass_classification", model="recurrent")
    with pytest.raises(TrainingError, match="has no features"):
        train(table("nothing", [0, 1] * 6, columns={}))
    absent = table("absent", [0, 1] * 4 + [0, 0] + [0, 1])
    with pytest.raises(
        TrainingError, match="has no example of a class in the validation split, so"
    ):
        train(absent, metric="auc")
    with pytest.raises(TrainingError, match="at least 10 examples of each class in the valid"):
        train(absent, decide='{"maximize": "f1"}')
    undefined = train(absent, epochs=1, outputs="metrics", batch_size=4)
    assert "auc" not in undefined["validation"]


@pytest.mark.slow
def test_neither_images_nor_columns_tell_alone():
    """Not even to a forest of trees."""
    columns, labels = pictured_rows(900)
    pixels = np.stack(columns["photo"][1]).reshape(900, -1)
    others = [columns["number"][1], np.array(columns["site"][1]) == "left"]
    for alone in (pixels, np.stack(others, axis=1)):
        forest = RandomForestClassifier(50, random_state=0).fit(alone[:600], labels[:600])
        found = forest.predict_proba(alone[600:800])[:, 1]
        assert roc_auc_score(labels[600:800], found) < 0.75


def test_images_and_columns_tell_together_what_neither_tells_alone(train, tmp_path, capsys):
    columns, labels = pictured_rows(900)
    files = {"train": [300, 300], "validation": [200], "test": [100]}
    address = write_table(tmp_path / "d", columns, labels, files=files)
    flags = {"metric": "auc", "epochs": 2, "learning_rate": 0.005, "outputs": "metrics"}
    small = {"model": "convolutional", "blocks": 1, "filters": 4}
    assert train(address, **flags, **small)["validation"]["auc"] > 0.9
    assert "without the images" not in capsys.readouterr().out


def test_a_model_of_columns_says_that_it_does_not_read_the_images(
    train, tmp_path, capsys, monkeypatch
):
    """Before its first step."""
    columns, labels = pictured_rows(80)
    files = {"train": [40], "validation": [20], "test": [20]}
    address = write_table(tmp_path / "both", columns, labels, files=files)
    interrupt(monkeypatch, loop, "fit", after=0)
    with pytest.raises(Interruption):
        train(address, augment=False)
    assert says(capsys.readouterr().out, "dense", "without the images photo")
    flags = {"output": tmp_path / "out", "task": "binary_classification", "augment": False}
    settings = parse_flags(arguments(address, **flags), "")
    inputs = checked_dataset(settings).inputs
    assert "augment" not in settings.read_hyperparameters(inputs)
