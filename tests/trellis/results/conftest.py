import io
import json

import pandas as pd
import pytest
import yaml

from tests.airflow_side import ROOT
from tests.contracts.datasets import categorical, dataset, numeric
from tests.trellis.results.a_run import KEYS, TABLE, TRAINED, TRIALS, epochs, metrics, predictions
from tests.trellis.results.made import a_board, a_contender, a_plan_of, roc
from tests.trellis.workflow.conftest import breast_cancer, digits
from trellis.workflow.spec import platform

__all__ = ["breast_cancer", "digits"]


@pytest.fixture
def bucket(google, request):
    """A bucket of the test's own: its name."""
    name = f"results-{request.node.name.replace('_', '-')}"[:60].rstrip("-")
    (google.buckets / name).mkdir()
    return name


@pytest.fixture
def client(google):
    from google.cloud.storage import Client

    return Client(project="local-gcp")


@pytest.fixture
def add(client, bucket):
    """Adds a record to the index."""

    def add(record, kind="runs", name=None, metadata=True):
        name = name or getattr(record, "folder", None) or record.run_id
        blob = client.bucket(bucket).blob(f"_index/{record.experiment}/{kind}/{name}.json")
        blob.metadata = record.metadata if metadata else None
        blob.upload_from_string(record.text)

    return add


@pytest.fixture
def dags(tmp_path, bucket):
    """A folder with a platform.yaml that names the bucket."""
    committed = platform.load(ROOT / "dags").model_dump(mode="json", exclude_none=True)
    values = {**committed, "bucket": bucket}
    (tmp_path / "platform.yaml").write_text(yaml.safe_dump(values))
    return tmp_path


@pytest.fixture
def put(client, bucket):
    """Writes an object of the bucket: JSON, text or bytes."""

    def put(name, content):
        if isinstance(content, dict):
            content = json.dumps(content)
        client.bucket(bucket).blob(name).upload_from_string(content)

    return put


@pytest.fixture
def run(digits, client, bucket, put):
    """A run on a table, with two contenders: its address."""
    folder, data = "digits/runs/r/", "digits/datasets/3f2a/"
    board = a_board(
        a_contender(
            "training/1",
            0.9,
            0.8,
            0.95,
            rank=1,
            trial="2",
            training=TRAINED,
            hyperparameters={"units": 16},
        ),
        a_contender("baselines/bqml-logistic_reg", 0.8, 0.7, 0.9, rank=2),
    )
    put(f"{folder}plan.json", a_plan_of(digits, "r", bucket) | {"table": TABLE})
    put(f"{folder}leaderboard/leaderboard.json", board)
    put(f"{folder}leaderboard/figures.json", {"schema": 1, "figures": {"roc": roc()}})
    put(f"{folder}trials.json", TRIALS)
    put(f"{folder}training/1/metrics.json", metrics(epochs(3)))
    put(f"{folder}training/1/predictions.parquet", predictions())
    put(f"{folder}training/1/model/saved_model.pb", "a model")
    put(f"{folder}training/1/model/variables/variables.index", "its weights")
    age = numeric("age at visit", [30, 50]) | {"column": "age_at_visit"}
    put(f"{data}dataset.json", dataset(age, categorical("site", "aab")))
    table = pd.DataFrame(
        {
            "key": [*KEYS, "other"],
            "split": ["test"] * 6 + ["train"],
            "label": "ill",
            "age_at_visit": [31.0, 42.0, 53.0, None, 75.0, 86.0, 1.0],
            "site": list("abababa"),
        }
    )
    for part, rows in enumerate((table[:3], table[3:])):
        sink = io.BytesIO()
        rows.to_parquet(sink)
        put(f"{data}source/rows-00000000000{part}.parquet", sink.getvalue())
    return f"gs://{bucket}/{folder}"
