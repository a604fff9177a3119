"""The exported model of rows, as a client sees it: raw values in, the training's own answer out."""

import json

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from testbed.tables import mixed_rows
from testbed.trainings import arguments
from tests.trainer.exporting.tables.helpers import feature, write_table
from trainer import dataset_description, export, predictions
from trainer.estimators import run
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trainer.training.raw_rows import input_names
from trellis_contracts.dataset_features import NULL_TEXT, NULL_TIMESTAMP

ROWS = 300


def raw(kind, values):
    """A column as the signature takes it."""
    if kind in ("categorical", "text"):
        return tf.constant([NULL_TEXT if value is None else value.encode() for value in values])
    if kind == "timestamp":
        return tf.constant([NULL_TIMESTAMP if value is None else value for value in values])
    if kind == "sequence":
        ragged = tf.ragged.constant([value or [] for value in values], tf.float64, ragged_rank=1)
        return ragged.to_tensor(np.nan)
    return tf.constant([np.nan if value is None else float(value) for value in values], tf.float64)


def as_arrow(kind, values):
    """A column as BigQuery exports it."""
    if kind == "timestamp":
        return pa.array(values, pa.timestamp("us", "UTC"))
    return pa.array(values, pa.list_(pa.float64())) if kind == "sequence" else pa.array(values)


TYPES = {
    "numeric": "FLOAT64",
    "boolean": "BOOL",
    "categorical": "STRING",
    "timestamp": "TIMESTAMP",
    "sequence": "ARRAY<FLOAT64>",
    "text": "STRING",
}


@pytest.fixture(
    scope="module",
    params=[
        ("binary_classification", "dense"),
        pytest.param(("regression", "recurrent"), marks=pytest.mark.slow),
    ],
    ids="-".join,
)
def trained(request, tmp_path_factory):
    """Raw columns of every kind, exported by trainer.export and trained on by trainer.task.

    Returns the columns, the dataset's description, and the training's output folder.
    """
    (task, model), folder = request.param, tmp_path_factory.mktemp("trained")
    columns, classes = mixed_rows(ROWS, seed=3)
    numbers = [1e6 + 3 * c + i % 7 for i, c in enumerate(classes)]
    table = {
        "key": [str(row) for row in range(ROWS)],
        "label": numbers if task == "regression" else [str(c) for c in classes],
        **{name: as_arrow(*column) for name, column in columns.items()},
    }
    features = [feature(name, kind, TYPES[kind]) for name, (kind, _) in columns.items()]
    source = write_table(folder / "source", table, features, task=task, vocabulary=4)
    flags = {"source": source, "output": folder / "dataset", "fingerprint": "f", "shards": 2}
    assert export.main([f"--{name}={value}" for name, value in flags.items()]) == 0
    argv = arguments(folder / "dataset", output=folder, model=model, task=task, epochs=1)
    settings = parse_flags(argv, "")
    assert run.train(settings, checked_dataset(settings)) == 0
    return columns, dataset_description.load(settings.dataset), folder


@pytest.fixture(scope="module")
def signatures(trained):
    loaded = tf.saved_model.load(str(trained[2] / "model"))
    yield loaded.signatures
    del loaded  # a signature alone does not keep its model alive


def test_a_raw_row_gets_the_answer_that_its_record_got(trained, signatures):
    columns, dataset, folder = trained
    stored = predictions.read(folder / "predictions.parquet")
    rows = [int(key) for key in stored.keys]
    told = signatures["features"]()
    names = [name.decode() for name in told["input"].numpy()]
    assert [column.decode() for column in told["column"].numpy()] == list(columns)
    assert [kind.decode() for kind in told["kind"].numpy()] == [k for k, _ in columns.values()]
    inputs = {
        name: raw(kind, [values[row] for row in rows])
        for name, (kind, values) in zip(names, columns.values(), strict=True)
    }
    answers = signatures["serving_default"](**inputs)
    if dataset.is_regression:
        np.testing.assert_allclose(answers["value"], stored.values, rtol=0, atol=1e-5)
    else:
        probabilities = answers["probabilities"].numpy()
        np.testing.assert_allclose(probabilities, stored.probabilities, rtol=0, atol=1e-5)
        chosen = [dataset.classes[i].encode() for i in probabilities.argmax(axis=1)]
        assert answers["label"].numpy().tolist() == chosen
        names = signatures["classes"]()["classes"].numpy()
        assert [name.decode() for name in names] == list(dataset.classes)


def test_every_kind_of_trouble_is_in_the_rows_that_were_compared(trained):
    columns, dataset, folder = trained
    rows = [int(key) for key in predictions.read(folder / "predictions.parquet").keys]
    for _, values in columns.values():
        assert any(values[row] is None for row in rows)
    ward = next(feature for feature in dataset.features if feature.column == "_ward")
    assert {columns["_ward"][1][row] for row in rows} - {None, *ward.vocabulary}  # unknown terms
    assert any(value < 0 for value in columns["taken"][1] if value)


def test_the_record_of_a_training_has_its_tasks_metrics(trained):
    _, dataset, folder = trained
    metrics = json.loads((folder / "metrics.json").read_text())
    if dataset.is_regression:
        # The median orders all errors: on the validation split only if it is the training's metric.
        assert set(metrics["validation"]) == {"loss", "rmse", "mae", "r2"}
        assert set(metrics["test"]) == {*metrics["validation"], "median_absolute_error"}
    else:
        ranked, of_classes = {"auc", "average_precision"}, {"accuracy", "balanced_accuracy", "f1"}
        assert set(metrics["validation"]) == {"loss", "brier", *ranked, *of_classes}
        assert metrics["test"].keys() == metrics["validation"].keys()
    assert metrics["metric"] == ("rmse" if dataset.is_regression else "accuracy")
    stored = predictions.read(folder / "predictions.parquet")
    if dataset.is_regression:
        errors = stored.values - stored.labels
        assert metrics["test"]["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
        assert metrics["test"]["mae"] == pytest.approx(np.abs(errors).mean())
    row = metrics["history"][metrics["best_epoch"] - 1]
    assert {f"val_{name}" for name in metrics["validation"]} <= set(row)


def test_names_that_tensorflow_does_not_take_are_changed_as_little_as_can_be():
    columns = ["age", "class", "_id", "self", "class_", "x_id", "None", "Age"]
    names = ["age", "class__", "x_id_", "self_", "class_", "x_id", "None_", "Age"]
    assert input_names(columns) == names


@given(st.lists(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,3}", fullmatch=True), unique=True))
def test_names_stay_different(columns):
    names = input_names(columns)
    assert len(set(names)) == len(columns)
