"""Experiments with a champion that answers in an instant, and their DAGs EXPERIMENT-predict."""

import dataclasses
import io
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.cloud import aiplatform_v1 as api
from google.cloud import bigquery

from tests.airflow_side import ROOT, run_dag
from tests.trellis.workflow import platforms
from tests.trellis.workflow.plans import a_plan
from trellis.identity import EXPERIMENT_LABEL
from trellis.workflow.assembly import prediction
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.table import Column, Feature, Table
from trellis.workflow.validation.file import with_changes
from trellis_contracts.baseline import Baseline

BUCKET = "prediction-tests"
OPTIONS = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
PARENT = "projects/local-gcp/locations/us-central1"
SERVER = ROOT / "tests/trellis/workflow/programs/answering_server.py"

LEARNED = Table(
    Column("sample", "INT64"),
    Column("y", "BOOL"),
    None,
    [
        Feature("x", "x", "FLOAT64", "numeric"),
        Feature("stage", "stage", "STRING", "categorical"),
        Feature("taken at", "taken", "TIMESTAMP", "timestamp"),
    ],
    False,
)
"""What the champions of the tests' tables learned from."""


@dataclasses.dataclass
class Predictions:
    """The DAG of one experiment's predictions, and what it leaves."""

    folder: object
    experiment: object
    platform: object
    bucket: str = BUCKET

    @property
    def dag(self):
        return prediction.build(self.experiment, self.platform)

    def run(self, **conf):
        return run_dag(self.dag, **conf)

    def promote(self, *aliases, table=None, learned=None, answered=None):
        """The next version of the model, as a deployment leaves it. learned: its dataset.json.
        answered: what it said of the test split, the number of examples by class.
        """
        name = self.experiment.name
        models = api.ModelServiceClient(client_options=OPTIONS)
        run = self.leave_run(table)
        addresses = layout.Run(self.bucket, name, "r")
        if learned is not None:
            plan = a_plan(self.experiment, addresses, table)
            folder = self.folder / plan.dataset.uri.removeprefix(f"gs://{self.bucket}/")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "dataset.json").write_text(json.dumps(learned))
        if answered is not None:
            (run / "leaderboard").mkdir(exist_ok=True)
            provenance = {"run": addresses.uri, "dataset": "3f2a"}
            challenger = {
                "schema": 1,
                "contender": "training/1",
                "model": f"{addresses.uri}training/1/model/",
                "examples": [
                    {
                        "key": "1",
                        "instance": {"x": 1.0},
                        "prediction": {"label": "true", "probabilities": {"true": 1.0}},
                    }
                ],
                "hyperparameters": {},
                "provenance": {**provenance, "versions": {}, "code_sha256": "0" * 64},
            }
            (run / "leaderboard/challenger.json").write_text(json.dumps(challenger))
            (run / "training/1").mkdir(parents=True, exist_ok=True)
            (run / "training/1/predictions.parquet").write_bytes(of_test_split(answered))
        columns = ",".join(f.column for f in table.features) if table else ""
        sent = {
            "display_name": name,
            "labels": {EXPERIMENT_LABEL: name},
            "version_aliases": aliases,
            "version_description": json.dumps({"run": f"gs://{self.bucket}/{name}/runs/r/"}),
            "artifact_uri": f"gs://{self.bucket}/{name}/runs/r/model",
            "container_spec": {
                "image_uri": "example.com/test/sh:1",
                "args": [f"exec {sys.executable} -I {SERVER}", "serve"],
                "env": [{"name": "COLUMNS", "value": columns}] if columns else [],
            },
        }
        request = {"parent": PARENT, "model": sent}
        there = [m for m in models.list_models(parent=PARENT) if m.name.endswith(f"/{name}")]
        request |= {"parent_model": there[0].name} if there else {"model_id": name}
        models.upload_model(request=request).result(timeout=20)

    def leave_run(self, table):
        """The folder of a run that has trained a model."""
        name = self.experiment.name
        run = self.folder / name / "runs/r"
        (run / "model").mkdir(parents=True, exist_ok=True)
        (run / "model/weights").write_text("1")
        plan = a_plan(self.experiment, layout.Run(self.bucket, name, "r"), table)
        (run / "plan.json").write_text(json.dumps(plan.file().to_document()))
        return run

    def promote_bqml(self, model, table):
        """A model of BigQuery ML's as the champion. model: PROJECT.DATASET.MODEL."""
        name, contender = self.experiment.name, "baselines/bqml-logistic_reg"
        folder = self.leave_run(table) / contender
        folder.mkdir(parents=True)
        trained = Baseline("bqml-logistic_reg", "bqml", "succeeded", model=model)
        (folder / "baseline.json").write_text(json.dumps(trained.to_document()))
        client = bigquery.Client(project="local-gcp", location="US")
        client.query_and_wait(f"ALTER MODEL `{model}` SET OPTIONS (vertex_ai_model_id = '{name}')")
        models = api.ModelServiceClient(client_options=OPTIONS)
        version = models.get_model(name=f"{PARENT}/models/{name}")
        origin = {"run": f"gs://{self.bucket}/{name}/runs/r/", "contender": contender}
        version.labels[EXPERIMENT_LABEL] = name
        version.version_description = json.dumps(origin)
        paths = ["labels", "version_description"]
        models.update_model(model=version, update_mask={"paths": paths})
        models.merge_version_aliases(name=version.name, version_aliases=["champion"])

    @property
    def record(self):
        """predictions.json of the last run."""
        return self.written("predictions")

    def written(self, name):
        """NAME.json of the last run."""
        runs = (self.folder / self.experiment.name / "predictions").iterdir()
        newest = max(runs, key=lambda run: run.stat().st_mtime)
        return json.loads((newest / f"{name}.json").read_text())


def of_test_split(answered):
    """predictions.parquet by which so many examples are of each class."""
    places = [place for place, count in enumerate(answered.values()) for _ in range(count)]
    shares = [[float(place == one) for one in range(len(answered))] for place in places]
    columns = {
        "key": pa.array([str(n) for n in range(len(places))]),
        "label": pa.array(places, pa.int32()),
        "probabilities": pa.array(shares, pa.list_(pa.float32())),
    }
    metadata = {"schema": "1", "classes": json.dumps(list(answered))}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, metadata=metadata), sink)
    return sink.getvalue()


@pytest.fixture(scope="session")
def predictions(google, digits, breast_cancer, group):
    """Makes Predictions: predictions("name", images="folder")."""
    (google.buckets / BUCKET).mkdir(exist_ok=True)
    platform = platforms.of_tests(group, bucket=BUCKET)

    def make(name, **predict):
        experiment = digits if "images" in predict else breast_cancer
        changed = with_changes(experiment, {("predict",): predict})
        return Predictions(
            google.buckets / BUCKET, changed.model_copy(update={"name": name}), platform
        )

    return make


@pytest.fixture
def states():
    """{task: state} of a run."""
    return lambda run: {ti.task_id: str(ti.state) for ti in run.get_task_instances()}
