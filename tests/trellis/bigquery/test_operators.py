"""The operator against a BigQuery that runs jobs for real."""

import asyncio
import datetime
import threading
import time

import pytest
from airflow.sdk import DAG

from tests.airflow_side import clear_and_run, run_dag
from trellis.bigquery.operators import BigQueryJobOperator
from trellis.bigquery.submission import JOB_TIMEOUT_MS
from trellis.bigquery.triggers import BigQueryJobTrigger

PLACE = {"project_id": "local-gcp", "location": "US", "poll_interval": 0.2}


@pytest.fixture(scope="session")
def client(google):
    """BigQuery's own client, and a dataset for the tests' tables."""
    from google.cloud import bigquery

    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("plugins", exists_ok=True)
    return client


def query(sql, table=None):
    """A query job's configuration; its result goes to a table of the tests' dataset."""
    content = {"query": sql, "useLegacySql": False}
    if table:
        place = {"projectId": "local-gcp", "datasetId": "plugins", "tableId": table}
        content |= {"destinationTable": place, "writeDisposition": "WRITE_EMPTY"}
    return {"query": content}


@pytest.fixture
def a_dag(request, client):
    """Makes a DAG of one BigQuery job; its name is the test's, so that no two share a job."""

    def make(configuration, **arguments):
        retries = {"retries": 2, "retry_delay": datetime.timedelta(0)}
        with DAG(request.node.name.replace("[", "-").strip("]"), default_args=retries) as dag:
            BigQueryJobOperator(
                task_id="job", configuration=configuration, **{**PLACE, **arguments}
            )
        return dag

    return make


@pytest.fixture
def jobs_of(client):
    """The jobs that a DAG's tasks made."""

    def find(dag):
        return [j for j in client.list_jobs() if j.job_id.startswith(f"{dag.dag_id}_job_")]

    return find


def task_instance(run):
    (ti,) = run.get_task_instances()
    return ti


def test_a_job_runs_and_the_task_succeeds(a_dag, jobs_of):
    dag = a_dag(query("SELECT 1 AS one"))
    run = run_dag(dag)
    (job,) = jobs_of(dag)
    assert (run.state, job.state) == ("success", "DONE")
    assert job.labels["airflow-task"] == "job"
    # Of its own it names no limit.
    assert int(job.configuration.job_timeout_ms) == JOB_TIMEOUT_MS
    assert task_instance(run).xcom_pull(task_ids="job")["job"] == job.job_id


@pytest.mark.slow
def test_a_worker_that_dies_after_the_insert_leaves_a_job_to_be_adopted(
    a_dag, jobs_of, monkeypatch
):
    attempts = []

    class DiesFirst(BigQueryJobTrigger):
        def __init__(self, **arguments):
            attempts.append(arguments["job_id"])
            if len(attempts) == 1:
                raise OSError("the worker is lost")
            super().__init__(**arguments)

    monkeypatch.setattr("trellis.bigquery.operators.BigQueryJobTrigger", DiesFirst)
    dag = a_dag(query(SLOW))
    run = run_dag(dag)
    assert run.state == "success"
    assert task_instance(run).try_number == 2
    assert len(jobs_of(dag)) == 1
    assert attempts[0] == attempts[-1]


# A few seconds of work, whatever the machine.
SLOW = (
    "SELECT SUM(SIN(a) * COS(b)) AS s FROM UNNEST(GENERATE_ARRAY(1, 12000)) AS a, "
    "UNNEST(GENERATE_ARRAY(1, 12000)) AS b"
)


def test_a_cleared_task_adopts_the_job_that_succeeded(a_dag, jobs_of):
    dag = a_dag(query("SELECT 1 AS one"))
    run = run_dag(dag)
    assert clear_and_run(dag, run) == {"job": "success"}
    assert len(jobs_of(dag)) == 1


@pytest.mark.one_airflow
def test_another_generation_is_another_job(a_dag, jobs_of):
    run = run_dag(a_dag(query("SELECT 1 AS one")))
    second = a_dag(query("SELECT 1 AS one"), generation=2)
    assert clear_and_run(second, run) == {"job": "success"}
    assert len(jobs_of(second)) == 2


def test_a_query_that_is_wrong_is_not_run_again_until_the_task_is_cleared(a_dag, jobs_of):
    dag = a_dag(query("SELECT CAST('the reason' AS INT64) AS x"))
    run = run_dag(dag)
    assert run.state == "failed"
    assert task_instance(run).try_number == 1
    (job,) = jobs_of(dag)
    assert "the reason" in job.error_result["message"]
    assert clear_and_run(dag, run) == {"job": "failed"}
    assert len(jobs_of(dag)) == 2


@pytest.mark.one_airflow
def test_a_query_that_bigquery_does_not_take_is_not_tried_again(a_dag, jobs_of):
    dag = a_dag(query("SELECT FROM WHERE"))
    run = run_dag(dag)
    assert run.state == "failed"
    assert task_instance(run).try_number == 1


@pytest.mark.one_airflow
def test_runs_that_share_a_key_share_the_job(a_dag, jobs_of):
    dag = a_dag(query("SELECT 1 AS one"), key="shared")
    assert run_dag(dag).state == "success"
    assert run_dag(dag).state == "success"
    assert len(jobs_of(dag)) == 1


@pytest.mark.one_airflow
def test_work_whose_product_is_gone_is_done_again(a_dag, jobs_of, client):
    table = "local-gcp.plugins.product"
    client.query_and_wait("CREATE OR REPLACE TABLE plugins.source AS SELECT 1 AS one")
    job = query("SELECT one FROM plugins.source", "product")
    job["query"]["maximumBytesBilled"] = str(10 * 2**20)  # as much as one query of a run is billed
    dag = a_dag(job, key="product", product=table)
    run_dag(dag)
    assert run_dag(dag).state == "success"
    assert len(jobs_of(dag)) == 1
    client.delete_table(table)
    assert run_dag(dag).state == "success"
    assert len(jobs_of(dag)) == 2
    assert client.get_table(table).num_rows == 1


@pytest.mark.one_airflow
def test_work_that_was_done_by_others_is_skipped(a_dag, jobs_of, google):
    (google.buckets / "plugins-tests").mkdir(exist_ok=True)
    (google.buckets / "plugins-tests/mark.json").write_text("{}")
    dag = a_dag(query("SELECT 1 AS one"), unless="gs://plugins-tests/mark.json")
    run = run_dag(dag)
    assert task_instance(run).state == "skipped"
    assert jobs_of(dag) == []


def test_a_run_may_do_without(a_dag, jobs_of):
    dag = a_dag(None)
    assert task_instance(run_dag(dag)).state == "skipped"
    assert jobs_of(dag) == []


def test_a_job_that_someone_cancels_is_not_started_again(a_dag, jobs_of, client):
    dag = a_dag(query(SLOW.replace("12000", "90000")))

    def cancel_when_it_runs():
        while not (jobs := jobs_of(dag)) or jobs[0].state == "PENDING":
            time.sleep(0.1)
        asyncio.run(trigger_of(jobs[0]).on_kill())

    someone = threading.Thread(target=cancel_when_it_runs, daemon=True)
    someone.start()
    run = run_dag(dag)
    someone.join()
    assert run.state == "failed"
    assert task_instance(run).try_number == 1
    (job,) = jobs_of(dag)
    assert job.error_result["reason"] == "stopped"


def trigger_of(job, job_id=None):
    return BigQueryJobTrigger(
        conn_id="google_cloud_default",
        project_id="local-gcp",
        location="US",
        job_id=job_id or job.job_id,
        poll_interval=0.1,
    )


def test_a_job_that_is_gone_ends_the_wait(google):
    async def first_event():
        return await anext(aiter(trigger_of(None, "never-inserted").run()))

    assert asyncio.run(first_event()).payload == {"job_id": "never-inserted", "found": False}
