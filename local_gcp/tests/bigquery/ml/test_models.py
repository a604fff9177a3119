"""Models on disk: trained by a process of their own, whole or not there, whatever is killed."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet
import pytest
from google.cloud.bigquery import Model

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.ml import ModelRecord, Models
from local_gcp.bigquery.ml.models import ROOT
from local_gcp.bigquery.refs import ModelRef
from local_gcp.bigquery.sql.translated import CreateModel

from .conftest import table

REF = ModelRef("p", "d", "m")


def statement(**options):
    return CreateModel(REF, options, "SELECT ...")


@pytest.fixture
def models(tmp_path):
    return Models(tmp_path / "models")


@pytest.fixture
def slow():
    """Rows that take minutes to learn from."""
    rng = np.random.default_rng(0)
    return table(rng.normal(size=(50_000, 20)), label=rng.random(50_000) < 0.5)


SLOW = {"model_type": "LOGISTIC_REG", "early_stop": False, "max_iterations": 1_000_000}


def trainings(folder: Path) -> list[psutil.Process]:
    """The training processes of a folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(str(folder) in word for word in process.info["cmdline"] or []):
            found.append(process)
    return [p for p in found if "local_gcp.bigquery.ml.train" in p.info["cmdline"]]


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "in vain"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, cancer):
    """What is left of a CREATE MODEL: the models, the new one's record, and its iterations."""
    folder, seen = tmp_path_factory.mktemp("trained") / "models", []
    models = Models(folder)
    options = {"model_type": "boosted_tree_classifier", "max_iterations": 3, "max_tree_depth": 2}
    stream = pa.RecordBatchReader.from_batches(cancer.schema, cancer.to_batches(max_chunksize=100))
    record = models.create(statement(**options), stream, seen.append)
    assert os.listdir(folder) == [record.artifact]
    return SimpleNamespace(models=models, folder=folder, record=record, seen=seen)


def test_a_model_is_trained_stored_used_and_removed(trained, tmp_path, cancer):
    models, record, seen = trained.models, trained.record, trained.seen
    assert [i["index"] for i in seen] == [1, 2, 3]
    assert seen[-1]["eval_loss"] < seen[0]["eval_loss"]

    again = ModelRecord.from_json(record.json)
    shutil.copytree(trained.folder, tmp_path / "models")
    fresh = Models(tmp_path / "models")  # as after a restart
    fresh.keep([again.artifact])
    found = fresh.call("ML.PREDICT", again, cancer, {"threshold": 0.4})
    assert found.equals(models.call("ML.PREDICT", record, cancer, {"threshold": 0.4}))
    fields = fresh.fields("ML.EVALUATE", again, None, {})
    assert [f.name for f in fields] == fresh.call("ML.EVALUATE", again, None, {}).column_names

    fresh.delete(again)
    fresh.delete(again)
    assert os.listdir(tmp_path / "models") == []


def test_the_official_client_reads_the_resource(trained):
    record = trained.record
    model = Model.from_api_repr(record.rest(REF))
    assert model.reference.path == "/projects/p/datasets/d/models/m"
    assert model.model_type == "BOOSTED_TREE_CLASSIFIER"
    assert model.created is not None
    assert model.etag
    assert [c.name for c in model.feature_columns] == [f"x{i}" for i in range(30)] + ["held"]
    assert model.feature_columns[0].type.type_kind == "FLOAT64"
    assert [c.name for c in model.label_columns] == ["label"]
    (run,) = model.training_runs
    assert run["trainingOptions"]["maxTreeDepth"] == "2"
    assert [r["index"] for r in run["results"]] == [1, 2, 3]  # as ML.TRAINING_INFO of trees
    metrics = run["evaluationMetrics"]["binaryClassificationMetrics"]
    assert (metrics["positiveLabel"], metrics["negativeLabel"]) == ("malignant", "benign")
    assert 0.9 < metrics["aggregateClassificationMetrics"]["rocAuc"] <= 1
    point = metrics["binaryConfusionMatrixList"][0]
    assert sum(int(v) for k, v in point.items() if k.endswith("tives")) == 114
    assert record.summary(REF)["modelReference"] == REF.api
    assert "trainingRuns" not in record.summary(REF)


def test_wrong_options_and_wrong_data_are_told_and_leave_nothing(models, tmp_path, iris):
    with pytest.raises(BigQueryError, match="Unknown option: speed"):
        models.create(statement(model_type="LINEAR_REG", speed=3), iris)
    with pytest.raises(BigQueryError, match="Unable to identify the label column") as caught:
        models.create(statement(model_type="LINEAR_REG", input_label_cols=["y"]), iris)
    assert caught.value.reason == "invalidQuery"
    assert os.listdir(tmp_path / "models") == []


def test_a_cancelled_training_is_killed_and_leaves_nothing(models, tmp_path, slow):
    cancelled, outcome = threading.Event(), []

    def create():
        try:
            models.create(statement(**SLOW), slow, cancelled=cancelled)
        except BigQueryError as error:
            outcome.append(error.reason)

    thread = threading.Thread(target=create)
    thread.start()
    wait_for(lambda: trainings(tmp_path))
    cancelled.set()
    thread.join(10)
    assert outcome == ["stopped"]
    assert trainings(tmp_path) == []
    assert os.listdir(tmp_path / "models") == []


def test_a_training_process_that_dies_is_an_error_and_leaves_nothing(models, tmp_path, slow):
    outcome = []

    def create():
        try:
            models.create(statement(**SLOW), slow)
        except BigQueryError as error:
            outcome.append(error)

    thread = threading.Thread(target=create)
    thread.start()
    wait_for(lambda: trainings(tmp_path))
    trainings(tmp_path)[0].kill()
    thread.join(10)
    assert outcome[0].reason == "resourcesExceeded"  # as by the kernel, when memory is full
    assert os.listdir(tmp_path / "models") == []


@pytest.mark.slow
def test_a_killed_server_takes_its_training_along_and_the_next_one_tidies_up(tmp_path, slow):
    folder = tmp_path / "models"
    program = f"""
import pathlib, sys
sys.path.insert(0, {str(ROOT)!r})
import pyarrow.parquet as pq
from types import SimpleNamespace
from local_gcp.bigquery.ml import Models
rows = pq.read_table({str(tmp_path / "rows.parquet")!r})
Models(pathlib.Path({str(folder)!r})).create(SimpleNamespace(options={SLOW!r}), rows)
"""
    pa.parquet.write_table(slow, tmp_path / "rows.parquet")
    server = subprocess.Popen([sys.executable, "-c", program])
    wait_for(lambda: trainings(folder))
    time.sleep(0.5)  # somewhere in its start or its training
    server.send_signal(signal.SIGKILL)
    server.wait()
    wait_for(lambda: not trainings(folder))
    assert os.listdir(folder) != []
    Models(folder)
    assert os.listdir(folder) == []


def test_files_that_no_record_names_go_at_the_next_start(models, tmp_path):
    for name in ("kept.pickle", "acknowledged-by-nobody.pickle"):
        (tmp_path / "models" / name).write_bytes(b"a model")
    Models(tmp_path / "models").keep(["kept.pickle"])
    assert os.listdir(tmp_path / "models") == ["kept.pickle"]
