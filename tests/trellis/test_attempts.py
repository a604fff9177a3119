"""The attempts of a task whose jobs Google fails: together they cost no more than the plan says.

A second is 1 USD here, of a search one of a trial. Each test waits for its jobs' machines: 4 s.
"""

import datetime
import os
import threading
import time
import urllib.request

import pytest
from airflow.sdk import DAG
from google.cloud import aiplatform_v1 as api
from google.rpc import code_pb2

from tests.airflow_side import run_dag
from tests.trellis.programs.killed_tasks import pool, prediction
from tests.wording import says
from trellis.identity import label_value
from trellis.vertex import operators

pytestmark = pytest.mark.one_airflow

PLACE = {"project_id": "local-gcp", "region": "us-central1", "poll_interval": 0.2}
PARENT = "projects/local-gcp/locations/us-central1"
PLAN = 8.0
WAITS = "sleep 60"
TRIALS = 2


def custom():
    spec = {"worker_pool_specs": [pool(WAITS)], "scheduling": {"timeout": f"{PLAN}s"}}
    return {"custom_job": {"display_name": "a job", "job_spec": spec}}


def search():
    """Two trials at once, which share the plan's seconds."""
    spec = {"worker_pool_specs": [pool(WAITS)], "scheduling": {"timeout": f"{PLAN / TRIALS}s"}}
    x = {"parameter_id": "x", "double_value_spec": {"min_value": 0, "max_value": 1}}
    job = {
        "display_name": "a search",
        "max_trial_count": TRIALS,
        "parallel_trial_count": TRIALS,
        "study_spec": {
            "metrics": [{"metric_id": "score", "goal": "MAXIMIZE"}],
            "parameters": [x],
        },
        "trial_job_spec": spec,
    }
    return {"hyperparameter_tuning_job": job}


def batch():
    """A model whose container never answers; such a job of Vertex AI has no time limit."""
    options = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    folder = "gs://attempts"
    model = {
        "display_name": "waits",
        "artifact_uri": folder,
        "container_spec": {"image_uri": "example.com/test/sh:1", "args": [WAITS, "serve"]},
    }
    models = api.ModelServiceClient(client_options=options)
    upload = models.upload_model(request={"parent": PARENT, "model": model})
    job = prediction(upload.result(timeout=20).model, "attempts")
    return {"batch_prediction_job": job, "limit": PLAN}


OPERATORS = {
    custom: operators.CustomJobOperator,
    search: operators.HyperparameterTuningJobOperator,
    batch: operators.BatchPredictionJobOperator,
}


@pytest.fixture(params=OPERATORS, ids=lambda kind: kind.__name__)
def dag(request, google):
    """A DAG of one job, whose attempts may take `PLAN` seconds together."""
    folder = google.buckets / "attempts"
    folder.mkdir(exist_ok=True)
    (folder / "in.jsonl").write_text("[1, 2]\n")
    kind = request.param
    with DAG(f"attempts_of_{kind.__name__}") as dag:
        cost = {"at_most": PLAN, "usd_per_hour": 3600.0}
        again = {"retries": 5, "retry_delay": datetime.timedelta(0)}
        OPERATORS[kind](task_id="job", **kind(), **cost, **again, **PLACE)
    return dag


def jobs_of(dag):
    """The jobs that the DAG's task made, oldest first."""
    options = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    client = api.JobServiceClient(client_options=options)
    listed = getattr(client, f"list_{dag.get_task('job').kind.field}s")
    label = f"labels.airflow-dag={label_value(dag.dag_id)}"
    return sorted(listed(request={"parent": PARENT, "filter": label}), key=lambda j: j.create_time)


def seconds(job):
    """Time of a job with its machines; of a search, that of its trials together."""
    now = datetime.datetime.now(datetime.UTC)
    parts = [part for part in getattr(job, "trials", [job]) if part.start_time]
    return sum(((part.end_time or now) - part.start_time).total_seconds() for part in parts)


def fail(job):
    url = f"{os.environ['LOCAL_GCP_URL']}/local_gcp/fail?job={job.name}"
    urllib.request.urlopen(urllib.request.Request(url, method="POST")).close()


def test_jobs_that_google_fails_cost_no_more_than_the_plan_says(dag, capsys):
    """Each attempt gets what the jobs before have left; the fourth would get too little."""

    def fail_them():
        for count, paid in enumerate((1, 2, PLAN / 2 + 0.1), start=1):
            while len(made := jobs_of(dag)) < count or sum(map(seconds, made)) < paid:
                time.sleep(0.15)
            fail(made[-1])

    fault = threading.Thread(target=fail_them, daemon=True)
    fault.start()
    run = run_dag(dag)
    fault.join(timeout=60)
    (task,) = run.get_task_instances()
    assert (run.state, task.try_number) == ("failed", 4)
    jobs = jobs_of(dag)
    assert [job.error.code for job in jobs] == [code_pb2.INTERNAL] * 3
    billed = [seconds(job) for job in jobs]
    said = capsys.readouterr().out
    assert says(said, f"have used {sum(billed):.2f} USD", f"{PLAN:.2f} USD")
    kind = dag.get_task("job").kind
    if kind.spec:
        limits = [getattr(job, kind.spec).scheduling.timeout.total_seconds() for job in jobs]
        trials = getattr(jobs[0], "max_trial_count", 1)
        assert limits[0] * trials == PLAN
        for count, limit in enumerate(limits):
            # Vertex AI's limit has whole seconds.
            assert sum(billed[:count]) + limit * trials < PLAN + trials
