"""`trellis clean` against a real local_gcp: what it lists, removes and keeps."""

import argparse
import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from google.api_core.exceptions import NotFound
from google.cloud import aiplatform_v1 as api
from google.cloud import bigquery, storage

from tests.airflow_side import ROOT
from tests.trellis.results.made import a_board, a_plan_of, a_run, write_files
from tests.wording import says
from trellis.identity import label_value
from trellis.retention import command
from trellis.workflow.spec import bqml
from trellis.workflow.spec.platform import load

REGION = "europe-west4"
BUCKET = "clean-tests"
DATASET = "clean_tests"
OPTIONS = {"api_endpoint": f"{REGION}-aiplatform.googleapis.com"}


@pytest.fixture
def tables(google):
    """BigQuery, with a snapshot of each of two datasets and a view of one for AutoML."""
    client = bigquery.Client(project="local-gcp", location="US")
    client.delete_dataset(DATASET, delete_contents=True, not_found_ok=True)
    client.create_dataset(DATASET)
    for fingerprint in ("aaaa", "bbbb"):
        client.query_and_wait(f"CREATE TABLE {DATASET}.snapshot_{fingerprint} AS SELECT 1 AS x")
    client.query_and_wait(
        f"CREATE VIEW {DATASET}.automl_bbbb AS SELECT * FROM {DATASET}.snapshot_bbbb"
    )
    return client


@pytest.fixture
def project(google, tables, digits):
    """Two runs: a model's version came from the first, and the newest result is of the third."""
    bucket = google.buckets / BUCKET
    bucket.mkdir(exist_ok=True)
    client = storage.Client(project="local-gcp")
    for folder, fingerprint in (("one", "aaaa"), ("two", "bbbb"), ("three", "aaaa")):
        plan = a_plan_of(digits, folder, bucket=BUCKET)
        write_files(google.buckets, plan, board=a_board())
        record = a_run(digits, folder, board=a_board(), bucket=BUCKET)
        ended = {"one": "2026-01-01", "two": "2026-01-02", "three": "2026-01-03"}[folder]
        result = record.result.model_copy(update={"ended": f"{ended}T00:00:00+00:00"})
        record = record.model_copy(update={"dataset": fingerprint, "result": result})
        record.upload(client.bucket(BUCKET).blob(f"_index/digits/runs/{folder}.json"))
        dataset = bucket / "digits/datasets" / fingerprint
        dataset.mkdir(parents=True, exist_ok=True)
        (dataset / "dataset.json").write_text("{}")
    (bucket / "dataflow/tmp").mkdir(parents=True, exist_ok=True)
    (bucket / "dataflow/tmp/x").write_text("x")
    model = {
        "display_name": "digits",
        "artifact_uri": f"gs://{BUCKET}/digits/runs/one/",
        "container_spec": {"image_uri": "example.com/test/serve:1"},
        "labels": {"trellis-experiment": "digits"},
        "version_description": json.dumps({"run": f"gs://{BUCKET}/digits/runs/one/"}),
    }
    models = api.ModelServiceClient(client_options=OPTIONS)
    parent = f"projects/local-gcp/locations/{REGION}"
    models.upload_model(parent=parent, model=model).result(timeout=60)
    return bucket


@pytest.fixture
def clean(project, tmp_path, capsys):
    """clean(YES): exit code and output, a year after the runs."""
    text = (ROOT / "dags/platform.yaml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith(("bucket:", "dataset:"))]
    own = [f"bucket: {BUCKET}", f"dataset: {DATASET}", "retention: {runs: 30}"]
    text = "\n".join([*lines, *own]).replace("us-central1", REGION)
    (tmp_path / "platform.yaml").write_text(text + "\n")

    def run(yes=False, days=400):
        options = argparse.Namespace(command="clean", folder=tmp_path, yes=yes, kept=True)
        code = command.clean_up(options, datetime.now(UTC) + timedelta(days=days))
        return code, capsys.readouterr().out

    return run


def test_what_nobody_needs_is_named_then_removed(clean, project, tables):
    code, listed = clean()
    assert code == 0
    assert f"Would remove gs://{BUCKET}/digits/runs/two/" in listed
    assert f"Would remove gs://{BUCKET}/digits/datasets/bbbb/" in listed
    assert f"Would remove BigQuery table local-gcp.{DATASET}.snapshot_bbbb" in listed
    assert f"Would remove BigQuery table local-gcp.{DATASET}.automl_bbbb" in listed
    assert f"Would remove gs://{BUCKET}/dataflow/tmp/" in listed
    assert "Nothing was removed" in listed
    assert "models/" in next(line for line in listed.splitlines() if "/runs/one/" in line)
    for kept in ("runs/one/", "runs/three/", "datasets/aaaa", "snapshot_aaaa", "_index"):
        assert not [n for n in listed.splitlines() if n.startswith("Would") and kept in n]
    assert (project / "digits/runs/two/plan.json").exists()

    code, _ = clean(yes=True)
    assert code == 0
    assert not (project / "digits/runs/two/plan.json").exists()
    assert (project / "digits/runs/one/plan.json").exists()
    assert (project / "digits/runs/three/leaderboard").exists()
    assert (project / "digits/datasets/aaaa/dataset.json").exists()
    assert (project / "_index/digits/runs/two.json").exists()
    assert [table.table_id for table in tables.list_tables(DATASET)] == ["snapshot_aaaa"]
    assert clean()[1].splitlines()[-1].startswith("0 items")


def test_tables_of_predictions_expire(clean, project, tables):
    """Those that runs of EXPERIMENT-predict have made; those of the same name of others stay."""
    labels = "OPTIONS (labels = [('experiment', 'digits'), ('owner', 'trellis')])"
    own = f"{DATASET}.predictions_digits_r"
    tables.query_and_wait(f"CREATE TABLE {own} {labels} AS SELECT 'a' AS key, 'x' AS label")
    tables.query_and_wait(f"CREATE TABLE {DATASET}.predictions_of_ada AS SELECT 1 AS x")
    tables.query_and_wait(f"CREATE TABLE {DATASET}.anything {labels} AS SELECT 1 AS x")
    assert f"Would remove BigQuery table local-gcp.{own}: the predict" in clean()[1]
    # They are kept for 90 days.
    assert own not in clean(days=80)[1]
    assert clean(yes=True)[0] == 0
    names = {table.table_id for table in tables.list_tables(DATASET)}
    assert names == {"snapshot_aaaa", "predictions_of_ada", "anything"}


@pytest.fixture
def automl(project, tables, digits):
    """What AutoML's jobs of the run `two` have left: pipeline, job of the batch prediction."""
    group = load(ROOT / "dags")
    record = a_run(digits, "two", bucket=BUCKET)
    labels = {
        "airflow-run": label_value(record.run_id),
        "airflow-dag": label_value(group.dag_id(digits.name)),
        "experiment": "digits",
        "airflow-task": label_value("automl.predict"),
    }
    tables.query_and_wait(f"""
        CREATE TABLE {DATASET}.cells AS
        SELECT n AS size, IF(n > 30, 'ill', 'well') AS label,
          ['training', 'training', 'validation', 'test'][OFFSET(MOD(n, 4))] AS ml_use
        FROM UNNEST(GENERATE_ARRAY(1, 60)) AS n
    """)
    table = f"bq://local-gcp.{DATASET}.cells"
    parent = f"projects/local-gcp/locations/{REGION}"
    schemas = "gs://google-cloud-aiplatform/schema"
    dataset = api.DatasetServiceClient(client_options=OPTIONS).create_dataset(
        parent=parent,
        dataset={
            "display_name": "cells",
            "metadata_schema_uri": f"{schemas}/dataset/metadata/tabular_1.0.0.yaml",
            "metadata": {"inputConfig": {"bigquerySource": {"uri": table}}},
            "labels": labels,
        },
    )
    pipelines = api.PipelineServiceClient(client_options=OPTIONS)
    task = f"{schemas}/trainingjob/definition/automl_tabular_1.0.0.yaml"
    pipeline = pipelines.create_training_pipeline(
        parent=parent,
        training_pipeline={
            "display_name": "cells",
            "training_task_definition": task,
            "training_task_inputs": {
                "targetColumn": "label",
                "predictionType": "classification",
                "trainBudgetMilliNodeHours": 1000,
                "transformations": [{"auto": {"column_name": "size"}}],
            },
            "input_data_config": {
                "dataset_id": dataset.result(timeout=60).name.rpartition("/")[2],
                "predefined_split": {"key": "ml_use"},
            },
            "model_to_upload": {"display_name": "cells"},
            "labels": labels,
        },
    )
    trained = ended(lambda: pipelines.get_training_pipeline(name=pipeline.name))
    jobs = api.JobServiceClient(client_options=OPTIONS)
    job = jobs.create_batch_prediction_job(
        parent=parent,
        batch_prediction_job={
            "display_name": "cells",
            "model": trained.model_to_upload.name,
            "input_config": {
                "instances_format": "bigquery",
                "bigquery_source": {"input_uri": table},
            },
            "output_config": {
                "predictions_format": "bigquery",
                "bigquery_destination": {"output_uri": f"bq://local-gcp.{DATASET}"},
            },
            "labels": labels,
        },
    )
    return trained, ended(lambda: jobs.get_batch_prediction_job(name=job.name))


def ended(get):
    """The job when it has succeeded."""
    for _ in range(240):
        job = get()
        if job.end_time:
            assert job.state.name.endswith("SUCCEEDED"), job.error
            return job
        time.sleep(0.5)
    raise AssertionError(f"{job.name} has not ended")


def test_what_automl_left_is_removed_with_its_run(automl, clean, tables):
    pipeline, job = automl
    model = pipeline.model_to_upload.name
    table = f"local-gcp.{DATASET}.{job.output_info.bigquery_output_table}"
    expired = "digits/two has expired"
    listed = clean()[1]
    assert f"Would remove AutoML model {model}: {expired}" in listed
    assert f"Would remove BigQuery table {table}: {expired}" in listed
    assert "Would remove Vertex AI dataset " in listed

    assert clean(yes=True)[0] == 0
    assert not [t for t in tables.list_tables(DATASET) if table.endswith(f".{t.table_id}")]
    models = api.ModelServiceClient(client_options=OPTIONS)
    with pytest.raises(NotFound):
        models.get_model(name=model)
    datasets = api.DatasetServiceClient(client_options=OPTIONS)
    parent = f"projects/local-gcp/locations/{REGION}"
    run = pipeline.labels["airflow-run"]
    request = {"parent": parent, "filter": f"labels.airflow-run={run}"}
    assert not list(datasets.list_datasets(request=request))
    assert "AutoML model" not in clean()[1]


def test_models_of_bigquery_ml_go_with_their_run(clean, tables):
    """Without folds, and in each fold; those of other runs stay."""
    names = {
        bqml.model_name("digits", type_, folder, part)
        for type_, folder, part in (
            ("logistic_reg", "two", None),
            ("boosted_tree_classifier", "two", "1-1"),
            ("boosted_tree_classifier", "two", "2-10"),
            ("logistic_reg", "three", None),
            ("logistic_reg", "two-b", "1-1"),
        )
    }
    for name in names:
        tables.query_and_wait(
            f"CREATE MODEL {DATASET}.{name} OPTIONS (model_type = 'LINEAR_REG') "
            "AS SELECT x, 2 * x AS label FROM UNNEST([1, 2, 3, 4]) AS x"
        )
    assert says(clean()[1], "ML model", f"{DATASET}.digits_logistic_reg_two: digits/two")
    assert clean(yes=True)[0] == 0
    left = {model.model_id for model in tables.list_models(DATASET)}
    assert left == {"digits_logistic_reg_three", "digits_logistic_reg_two_b_fold_1_1"}


def test_an_unreadable_record_stops_it(clean, project):
    (project / "_index/digits/runs/broken.json").write_text("{}")
    assert clean(yes=True)[0] == 1
    assert (project / "digits/runs/two/plan.json").exists()
