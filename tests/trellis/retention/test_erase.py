"""`trellis erase` against a real local_gcp: rows of one patient in all that was made of a table."""

import argparse
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.cloud import aiplatform_v1 as api
from google.cloud import bigquery, storage

from tests.airflow_side import ROOT
from tests.trellis.results.made import a_board, a_plan_of, a_run, write_files
from tests.wording import says
from trellis.bigquery.submission import JOB_TIMEOUT_MS
from trellis.retention import command
from trellis.workflow.pricing.queries import LEAST
from trellis.workflow.spec import bqml
from trellis_contracts.start import Start

REGION = "europe-west1"
BUCKET = "erase-tests"
DATASET = "erase_tests"
OPTIONS = {"api_endpoint": f"{REGION}-aiplatform.googleapis.com"}
ROWS = """
    SELECT CONCAT('visit-', CAST(n AS STRING)) AS key, CONCAT('patient_', CAST(MOD(n, 5) AS STRING))
      AS split_by, 'train' AS split
    FROM UNNEST(GENERATE_ARRAY(1, 20)) AS n
"""


@pytest.fixture
def tables(google):
    """BigQuery: a snapshot with groups, one whose split_by is a class, and predictions."""
    client = bigquery.Client(project="local-gcp", location="US")
    client.delete_dataset(DATASET, delete_contents=True, not_found_ok=True)
    client.create_dataset(DATASET)
    for name in ("snapshot_aaaa", "snapshot_cccc"):
        client.query_and_wait(f"CREATE TABLE {DATASET}.{name} AS {ROWS}")
    client.query_and_wait(
        f"CREATE TABLE {DATASET}.predictions_cells_r AS "
        f"SELECT key, 'ill' AS label FROM {DATASET}.snapshot_aaaa"
    )
    client.query_and_wait(f"CREATE TABLE {DATASET}.other AS SELECT 'patient_3' AS name")
    return client


def add_runs(bucket, digits, folders, dataset):
    """Runs of the experiment digits on a dataset, with their files and records."""
    client = storage.Client(project="local-gcp")
    for folder in folders:
        plan = a_plan_of(digits, folder, bucket=BUCKET)
        write_files(bucket.parent, plan, board=a_board())
        record = a_run(digits, folder, board=a_board(), bucket=BUCKET)
        record = record.model_copy(update={"dataset": dataset})
        record.upload(client.bucket(BUCKET).blob(f"_index/digits/runs/{folder}.json"))


@pytest.fixture
def project(google, tables, digits):
    """Runs `served`, whose model is registered, and `tried`, both on that snapshot."""
    bucket = google.buckets / BUCKET
    bucket.mkdir(exist_ok=True)
    add_runs(bucket, digits, ("served", "tried"), "aaaa")
    for fingerprint, split in (("aaaa", {"by": "patient"}), ("cccc", {})):
        source = bucket / "digits/datasets" / fingerprint / "source"
        source.mkdir(parents=True, exist_ok=True)
        (source / "columns.json").write_text(json.dumps({"split": {"rule": "x", **split}}))
    model = {
        "display_name": "digits",
        "artifact_uri": f"gs://{BUCKET}/digits/runs/served/",
        "container_spec": {"image_uri": "example.com/test/serve:1"},
        "labels": {"trellis-experiment": "digits"},
        "version_description": json.dumps({"run": f"gs://{BUCKET}/digits/runs/served/"}),
    }
    models = api.ModelServiceClient(client_options=OPTIONS)
    parent = f"projects/local-gcp/locations/{REGION}"
    models.upload_model(parent=parent, model=model).result(timeout=60)
    return bucket


@pytest.fixture
def erase(project, tmp_path, capsys):
    """erase(GROUP, YES): exit code and output."""
    text = (ROOT / "dags/platform.yaml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith(("bucket:", "dataset:"))]
    text = "\n".join([*lines, f"bucket: {BUCKET}", f"dataset: {DATASET}"])
    (tmp_path / "platform.yaml").write_text(text.replace("us-central1", REGION) + "\n")

    def run(group, yes=False):
        options = argparse.Namespace(command="erase", folder=tmp_path, group=group, yes=yes)
        return command.erase_group(options), capsys.readouterr().out

    return run


def rows(tables, name, where="TRUE"):
    (row,) = tables.query_and_wait(f"SELECT COUNT(*) AS n FROM {DATASET}.{name} WHERE {where}")
    return row["n"]


def test_all_that_holds_a_patients_rows_is_found_and_removed(erase, project, tables):
    code, listed = erase("patient_3")
    assert code == 0
    assert "Dataset aaaa: 4 rows" in listed
    assert says(listed, "Would remove 4 rows", f"local-gcp.{DATASET}.predictions_cells_r")
    assert f"Would remove gs://{BUCKET}/digits/datasets/aaaa/" in listed
    assert f"Would remove gs://{BUCKET}/digits/runs/tried/" in listed
    assert says(listed, "To be retrained", ": projects/")
    # There the column decides the split, and is no group.
    assert "cccc" not in listed
    assert rows(tables, "predictions_cells_r") == 20

    assert erase("patient_3", yes=True)[0] == 0
    assert rows(tables, "predictions_cells_r") == 16
    names = {table.table_id for table in tables.list_tables(DATASET)}
    assert names == {"snapshot_cccc", "predictions_cells_r", "other"}
    assert not (project / "digits/runs/tried/plan.json").exists()
    # Its model is in the registry: it must be retrained first.
    assert (project / "digits/runs/served/plan.json").exists()
    assert not (project / "digits/datasets/aaaa/source/columns.json").exists()


def test_what_began_with_weights_that_learned_from_the_rows_is_named_and_removed(
    erase, project, digits
):
    """Two runs on another dataset have: one by the other's weights."""
    folders = ("continued", "again", "beside", "anew")
    add_runs(project, digits, folders, "bbbb")
    runs = f"gs://{BUCKET}/digits/runs"
    before = {"continued": "served", "again": "continued", "beside": "anew"}
    for folder, other in before.items():
        start = Start(f"{folder}@1", f"{runs}/{other}/training/1/", "weights", "bbbb", {})
        (project / f"digits/runs/{folder}/start.json").write_text(json.dumps(start.to_document()))

    listed = erase("patient_3", yes=True)[1]
    for folder in ("continued", "again"):
        weights = f"{runs}/{before[folder]}/training/1/"
        assert says(listed, f"Began with weights that learned from them: {runs}/{folder}/", weights)
        assert f"Removed {runs}/{folder}/" in listed
    left = {path.parent.name for path in project.glob("digits/runs/*/plan.json")}
    assert left == {"served", "beside", "anew"}


def test_every_query_has_a_limit_of_bytes_and_of_time(erase, tables):
    tables.query_and_wait(f"CREATE TABLE {DATASET}.files_0 AS SELECT 'patient_3' AS p")
    began = datetime.now(UTC)
    assert erase("patient_3", yes=True)[0] == 0
    jobs = [job for job in tables.list_jobs(min_creation_time=began) if job.job_type == "query"]
    kinds = {job.query.partition(" ")[0] for job in jobs}
    assert kinds == {"SELECT", "DELETE"}
    for job in jobs:
        assert job.maximum_bytes_billed == (2 if job.query.startswith("DELETE") else 1) * LEAST
        assert job.to_api_repr()["configuration"]["jobTimeoutMs"] == str(JOB_TIMEOUT_MS)


def test_models_of_bigquery_ml_are_named_or_removed(erase, tables):
    """Those of a run whose version stays are named; the others go."""
    for folder in ("served", "tried"):
        name = bqml.model_name("digits", "logistic_reg", folder, "1-2")
        tables.query_and_wait(
            f"CREATE MODEL {DATASET}.{name} OPTIONS (model_type = 'LINEAR_REG') "
            "AS SELECT x, 2 * x AS label FROM UNNEST([1, 2, 3, 4]) AS x"
        )
    model = f"BigQuery ML model local-gcp.{DATASET}.digits_logistic_reg_"
    said = f"stays as long as that version: {model}served_fold_1_2, by gs://{BUCKET}/digits/runs/served/"
    listed = erase("patient_3", yes=True)[1]
    assert f"Removed {model}tried_fold_1_2" in listed
    assert said in listed
    left = [model.model_id for model in tables.list_models(DATASET)]
    assert left == ["digits_logistic_reg_served_fold_1_2"]


def test_rows_of_a_manifest_and_loaded_files_are_found(erase, project, tables):
    """A manifest's dataset is a snapshot as a table's; what was loaded to make it holds the lines
    until it expires.
    """
    tables.query_and_wait(f"""
        CREATE TABLE {DATASET}.snapshot_eeee AS
        SELECT CONCAT('scans/', CAST(n AS STRING), '.png') AS key,
          CONCAT('patient_', CAST(MOD(n, 5) AS STRING)) AS split_by, 'train' AS split
        FROM UNNEST(GENERATE_ARRAY(1, 10)) AS n
    """)
    tables.query_and_wait(f"""
        CREATE TABLE {DATASET}.manifest_0 AS
        SELECT 'gs://b/scans/3.png,ill,patient_3' AS line UNION ALL SELECT 'gs://b/scans/4.png,well,x'
    """)
    tables.query_and_wait(f"CREATE TABLE {DATASET}.manifest_1 AS SELECT 'gs://b/9.png,ill' AS line")
    tables.query_and_wait(f"CREATE TABLE {DATASET}.files_0 AS SELECT 'patient_3' AS p, 1.5 AS x")
    tables.query_and_wait(f"CREATE TABLE {DATASET}.files_1 AS SELECT 7 AS p, ['patient_3'] AS x")
    source = project / "digits/datasets/eeee/source"
    source.mkdir(parents=True)
    (source / "columns.json").write_text(json.dumps({"split": {"rule": "x", "by": "group"}}))

    _, listed = erase("patient_3")
    assert "Dataset eeee: 2 rows" in listed
    loaded = [line for line in listed.splitlines() if "loads the source again" in line]
    assert [line.split()[4] for line in loaded] == [
        f"local-gcp.{DATASET}.{name}:" for name in ("files_0", "manifest_0")
    ]
    assert erase("patient_3", yes=True)[0] == 0
    names = {table.table_id for table in tables.list_tables(DATASET)}
    assert {"manifest_1", "files_1"} <= names
    assert not {"manifest_0", "files_0", "snapshot_eeee"} & names
    assert not (source / "columns.json").exists()


def test_files_that_name_a_patients_images_are_found(erase, project, tables):
    """The whole folder of predictions goes, masks too; of a run what its messages have left out."""
    predictions, run = project / "digits/predictions", project / "digits/runs/refused"
    files = {
        predictions / "one/instances.jsonl": '{"image": "gs://b/scans/visit-3"}\n',
        predictions / "one/masks/0a.png": "",
        predictions / "two/instances.jsonl": '{"image": "gs://b/scans/visit-33"}\n',
        predictions / "three/masks.jsonl": '{"key": "visit-3", "mask": null}\n',
        run / "plan.json": "{}",
        run / "examples/check.txt": "visit-3: no label\n",
        project / "digits/runs/other/examples/check.txt": "visit-31: no label\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    parquet = predictions / "four/labelled/0.parquet"
    parquet.parent.mkdir(parents=True)
    pq.write_table(pa.table({"key": ["visit-8", "x"]}), parquet)

    assert erase("patient_3", yes=True)[0] == 0
    kept = {path for path in (*files, parquet) if path.exists()}
    assert kept == {
        predictions / "two/instances.jsonl",
        run / "plan.json",
        project / "digits/runs/other/examples/check.txt",
    }


def test_a_group_that_is_nowhere(erase):
    code, listed = erase("patient_99")
    assert code == 0
    assert "0 items" in listed
