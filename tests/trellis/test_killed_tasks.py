"""A task's process is lost by kill -9, which lets neither Airflow nor the operator tidy up: what
goes on in its place adopts the one job. After each call of a whole deployment:
vertex/test_killed_deployments.py.
"""

import json
import os
import signal
import subprocess
import sys

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api
from google.cloud import bigquery

from tests.airflow_side import ROOT, retry_lost, take_over
from tests.trellis.programs import killed_tasks
from tests.trellis.programs.killed_tasks import BUCKET, KINDS, MOMENTS, PARENT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

OPTIONS = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
LISTS = {
    "custom": (api.JobServiceClient, "list_custom_jobs"),
    "tuning": (api.JobServiceClient, "list_hyperparameter_tuning_jobs"),
    "pipeline": (api.PipelineServiceClient, "list_training_pipelines"),
    "batch": (api.JobServiceClient, "list_batch_prediction_jobs"),
    "dataset": (api.DatasetServiceClient, "list_datasets"),
}
# The call that starts these returns an operation; they are listed once that has ended.
BY_OPERATIONS = {"dataset", "version", "endpoint", "deployment"}


@pytest.fixture(scope="module")
def served(google):
    """A model, files for jobs to read, and an endpoint for each deployment."""
    folder = google.buckets / BUCKET
    (folder / "model").mkdir(parents=True)
    (folder / "model/weights").write_text("1")
    (folder / "in.jsonl").write_text("1\n")
    (folder / "cells.csv").write_text("size,label\n1,a\n2,b\n")
    models = api.ModelServiceClient(client_options=OPTIONS)
    sent = {"parent": PARENT, "model": killed_tasks.model("killed"), "model_id": "killed"}
    models.upload_model(request=sent).result(timeout=60)
    endpoints = api.EndpointServiceClient(client_options=OPTIONS)
    for moment in MOMENTS:
        name = killed_tasks.a_dag("deployment", moment).dag_id
        sent = {"parent": PARENT, "endpoint": {"display_name": name}, "endpoint_id": name}
        endpoints.create_endpoint(request=sent).result(timeout=60)


@pytest.fixture(scope="module")
def lose(served):
    """Runs a kind's DAG in a process that is lost at a moment; returns how that ended."""
    with subprocess.Popen(
        [sys.executable, killed_tasks.__file__],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "plugins")])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:

        def run(kind, moment):
            program.stdin.write(f"{kind} {moment}\n")
            program.stdin.flush()
            return json.loads(program.stdout.readline())

        yield run
        program.stdin.close()


def started(google, kind, name):
    """Names or ids of the jobs, versions and so on that the DAG's task has started."""
    if kind == "bigquery":
        client = bigquery.Client(project="local-gcp", location="US")
        return [j.job_id for j in client.list_jobs() if j.job_id.startswith(f"{name}_job_")]
    if kind == "dataflow":
        jobs = google.status()["jobs"]
        return [j["name"] for j in jobs if j["labels"].get("airflow-dag") == name]
    if kind == "version":
        models = api.ModelServiceClient(client_options=OPTIONS)
        try:
            found = list(models.list_model_versions(name=f"{PARENT}/models/{name}"))
        except exceptions.NotFound:
            found = []
        return [f"{version.name}@{version.version_id}" for version in found]
    endpoints = api.EndpointServiceClient(client_options=OPTIONS)
    if kind == "endpoint":
        label = f"labels.trellis-experiment={name}"
        found = endpoints.list_endpoints(request={"parent": PARENT, "filter": label})
        return [endpoint.name for endpoint in found]
    if kind == "deployment":
        endpoint = endpoints.get_endpoint(name=f"{PARENT}/endpoints/{name}")
        return [deployed.id for deployed in endpoint.deployed_models]
    client, method = LISTS[kind]
    wanted = {"parent": PARENT, "filter": f"labels.airflow-dag={name}"}
    return [each.name for each in getattr(client(client_options=OPTIONS), method)(request=wanted)]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("kind", KINDS)
def test_one_job_however_the_process_is_lost(google, lose, kind, moment):
    from airflow.models import DagRun

    dag = killed_tasks.a_dag(kind, moment)
    assert lose(kind, moment) == -signal.SIGKILL
    before = started(google, kind, dag.dag_id)
    assert len(before) == 1 or (kind in BY_OPERATIONS and not before)

    (run,) = DagRun.find(dag_id=dag.dag_id)
    go_on = take_over if moment == "deferred" else retry_lost
    assert go_on(dag, run) == {"job": "success"}
    (only,) = started(google, kind, dag.dag_id)
    assert before in ([only], [])
