"""Managed datasets from Airflow, and the way from one to predictions, on real services."""

import datetime
import random

import pytest
from airflow.sdk import DAG
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api

from tests.airflow_side import clear_and_run, run_dag
from trellis.identity import label_value
from trellis.vertex.datasets import DatasetOperator
from trellis.vertex.operators import AutoMLTabularOperator, BatchPredictionJobOperator

PARENT = "projects/local-gcp/locations/us-central1"
PLACE = {"project_id": "local-gcp", "region": "us-central1", "poll_interval": 0.2}
SCHEMA = "gs://google-cloud-aiplatform/schema"
IMAGES = {
    "display_name": "pictures",
    "metadata_schema_uri": f"{SCHEMA}/dataset/metadata/image_1.0.0.yaml",
}
TABLE = {
    "display_name": "cells",
    "metadata_schema_uri": f"{SCHEMA}/dataset/metadata/tabular_1.0.0.yaml",
    "metadata": {"inputConfig": {"gcsSource": {"uri": ["gs://datasets-tests/cells.csv"]}}},
}


@pytest.fixture(scope="session")
def bucket(google):
    """A table of 60 cells, and a manifest of two pictures."""
    folder = google.buckets / "datasets-tests"
    folder.mkdir(exist_ok=True)
    dice, lines = random.Random(1), ["size,label,ml_use"]
    for n in range(60):
        size = dice.uniform(0, 10)
        use = ("training", "training", "validation", "test")[n % 4]
        lines.append(f"{size},{'malignant' if size > 5 else 'benign'},{use}")
    (folder / "cells.csv").write_text("\n".join(lines))
    test = [line.split(",")[0] for line in lines if line.endswith("test")]
    (folder / "test.csv").write_text("\n".join(["size", *test]))
    for name in ("a.png", "b.png"):
        (folder / name).write_text("pixels")
    (folder / "manifest.csv").write_text("gs://datasets-tests/a.png,a\ngs://datasets-tests/b.png,b")
    return folder


@pytest.fixture
def a_dag(request, bucket):
    """Makes a DAG of one dataset; its name is the test's."""

    def make(dataset, manifest=None, **arguments):
        configs = manifest and [
            {
                "gcs_source": {"uris": [f"gs://datasets-tests/{manifest}"]},
                "import_schema_uri": f"{SCHEMA}/dataset/ioformat/"
                "image_classification_single_label_io_format_1.0.0.yaml",
            }
        ]
        # Shorter than a creation takes, which a list of datasets does not show meanwhile.
        retries = {"retries": 2, "retry_delay": datetime.timedelta(0)}
        name = request.node.name.replace("[", "-").replace(" ", "-").strip("]")
        with DAG(name, default_args=retries) as dag:
            DatasetOperator(
                task_id="job", dataset=dataset, import_configs=configs, **PLACE, **arguments
            )
        return dag

    return make


@pytest.fixture
def made(google):
    """The datasets that a DAG's tasks made, with all that is known of each."""
    options = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    client = api.DatasetServiceClient(client_options=options)

    def find(dag):
        wanted = f"labels.airflow-dag={label_value(dag.dag_id)}"
        found = client.list_datasets(request={"parent": PARENT, "filter": wanted})
        return [client.get_dataset(name=dataset.name) for dataset in found]

    return find


@pytest.fixture
def lose_first_answer(monkeypatch):
    """Lets a worker die when Vertex AI has answered its first call of a method; returns where the
    answers are collected.
    """

    def lose(method):
        ask, answers = getattr(api.DatasetServiceClient, method), []

        def dies_once(client, **arguments):
            answers.append(ask(client, **arguments))
            if len(answers) == 1:
                raise OSError("the worker is lost")
            return answers[-1]

        monkeypatch.setattr(api.DatasetServiceClient, method, dies_once)
        return answers

    return lose


def task_instance(run):
    (ti,) = run.get_task_instances()
    return ti


def test_a_dataset_is_made_and_filled_once(a_dag, made):
    dag = a_dag(IMAGES, "manifest.csv")
    run = run_dag(dag)
    (dataset,) = made(dag)
    assert task_instance(run).xcom_pull(task_ids="job") == {"name": dataset.name}
    assert (dataset.display_name, dataset.data_item_count) == ("pictures", 2)

    assert clear_and_run(dag, run) == {"job": "success"}
    assert made(dag) == [dataset]
    assert clear_and_run(a_dag(IMAGES, "manifest.csv", generation=2), run) == {"job": "success"}
    assert len(made(dag)) == 2


@pytest.mark.parametrize("call", ["create_dataset", "import_data"])
def test_a_worker_that_dies_once_vertex_ai_has_answered_leaves_one_dataset(
    a_dag, made, lose_first_answer, call
):
    answers = lose_first_answer(call)
    dag = a_dag(IMAGES, "manifest.csv")
    run = run_dag(dag)
    assert (run.state, task_instance(run).try_number) == ("success", 2)
    (dataset,) = made(dag)
    assert dataset.data_item_count == 2
    assert len(answers) == 1


def test_where_operations_are_not_listed_a_second_one_stays_empty(
    a_dag, made, lose_first_answer, monkeypatch
):
    def unlisted(*_, **__):
        raise exceptions.MethodNotImplemented("Operation is not implemented")

    ask, calls = api.DatasetServiceClient.list_datasets, []

    def after_the_second_attempt(client, **arguments):
        """A busy machine may take longer to try again than the creation takes."""
        calls.append(arguments)
        return ask(client, **arguments) if len(calls) > 2 else []

    monkeypatch.setattr(api.DatasetServiceClient, "list_operations", unlisted)
    monkeypatch.setattr(api.DatasetServiceClient, "list_datasets", after_the_second_attempt)
    lose_first_answer("create_dataset")
    dag = a_dag(IMAGES, "manifest.csv")
    run = run_dag(dag)
    older, newer = sorted(made(dag), key=lambda dataset: dataset.create_time)
    assert task_instance(run).xcom_pull(task_ids="job") == {"name": older.name}
    assert (older.data_item_count, newer.data_item_count) == (2, 0)


@pytest.mark.parametrize(
    ("dataset", "manifest", "created"),
    [(IMAGES, "test.csv", 1), ({**IMAGES, "display_name": ""}, "manifest.csv", 0)],
    ids=["no image", "no name"],
)
def test_what_will_not_change_is_not_tried_again(a_dag, made, dataset, manifest, created):
    dag = a_dag(dataset, manifest)
    run = run_dag(dag)
    assert run.state == "failed"
    assert task_instance(run).try_number == 1
    assert len(made(dag)) == created


def test_a_run_may_do_without(a_dag, made):
    dag = a_dag(None)
    assert task_instance(run_dag(dag)).state == "skipped"
    assert made(dag) == []


@pytest.mark.slow
def test_from_a_table_to_predictions_of_automl(google, bucket):
    with DAG("from_a_table_to_predictions") as dag:
        dataset = DatasetOperator(task_id="dataset", dataset=TABLE, **PLACE)
        pipeline = {
            "display_name": "cells",
            "training_task_definition": f"{SCHEMA}/trainingjob/definition/"
            "automl_tabular_1.0.0.yaml",
            "training_task_inputs": {
                "targetColumn": "label",
                "predictionType": "classification",
                "trainBudgetMilliNodeHours": 1000,
                "transformations": [{"numeric": {"column_name": "size"}}],
            },
            "input_data_config": {
                "dataset_id": "{{ ti.xcom_pull('dataset')['name'].split('/')[-1] }}",
                "predefined_split": {"key": "ml_use"},
            },
            "model_to_upload": {"display_name": "cells"},
        }
        train = AutoMLTabularOperator(task_id="train", training_pipeline=pipeline, **PLACE)
        prediction = {
            "display_name": "cells",
            "model": "{{ ti.xcom_pull('train')['model'] }}",
            "input_config": {
                "instances_format": "csv",
                "gcs_source": {"uris": ["gs://datasets-tests/test.csv"]},
            },
            "output_config": {
                "predictions_format": "csv",
                "gcs_destination": {"output_uri_prefix": "gs://datasets-tests/out"},
            },
        }
        predict = BatchPredictionJobOperator(
            task_id="predict", batch_prediction_job=prediction, **PLACE
        )
        dataset >> train >> predict
    run = run_dag(dag)
    assert run.state == "success"
    (ti,) = [ti for ti in run.get_task_instances() if ti.task_id == "predict"]
    output = ti.xcom_pull(task_ids="predict")["output"].removeprefix("gs://")
    header, *rows = (google.buckets / output / "predictions_1.csv").read_text().splitlines()
    assert header.split(",") == ["size", "label_benign_score", "label_malignant_score"]
    values = [[float(cell) for cell in row.split(",")] for row in rows]
    assert len(values) == 15
    assert sum((size > 5) == (malignant > 0.5) for size, _, malignant in values) > 13
