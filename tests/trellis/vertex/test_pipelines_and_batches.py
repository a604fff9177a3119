"""Training pipelines and batch predictions: one job per task, whatever dies, on real services."""

import asyncio
import datetime
import sys
import threading
import time

import pytest
from airflow.sdk import DAG
from google.cloud import aiplatform_v1 as api

from tests.airflow_side import ROOT, clear_and_run, run_dag
from tests.trellis.programs.killed_tasks import pipeline, prediction
from trellis.identity import label_value
from trellis.vertex.operators import AutoMLTabularOperator, BatchPredictionJobOperator
from trellis.vertex.triggers import VertexJobTrigger

PARENT = "projects/local-gcp/locations/us-central1"
PLACE = {"project_id": "local-gcp", "region": "us-central1", "poll_interval": 0.2}
SERVE = ROOT / "local_gcp/tests/vertex/programs/serve.py"
SCRIPTS = {"works": "echo hello", "fails": "echo the reason; exit 3", "waits": "sleep 60"}
CONTAINERS = SCRIPTS | {"works": f"exec {sys.executable} {SERVE}"}


@pytest.fixture(scope="session")
def clients(google):
    """Vertex AI's own clients: (pipelines, jobs, models)."""
    options = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    kinds = (api.PipelineServiceClient, api.JobServiceClient, api.ModelServiceClient)
    return tuple(kind(client_options=options) for kind in kinds)


@pytest.fixture(scope="session")
def models(google, clients):
    """Models whose containers behave as `CONTAINERS` says, and an instance to ask them about."""
    folder = google.buckets / "batches"
    folder.mkdir(exist_ok=True)
    (folder / "in.jsonl").write_text("[1, 2]\n")

    def upload(name, script):
        model = {
            "display_name": name,
            "artifact_uri": "gs://batches",
            "container_spec": {"image_uri": "example.com/test/sh:1", "args": [script, "serve"]},
        }
        operation = clients[2].upload_model(request={"parent": PARENT, "model": model})
        return operation.result(timeout=20).model

    return {name: upload(name, script) for name, script in CONTAINERS.items()}


@pytest.fixture(params=["pipeline", "batch"])
def kind(request):
    return request.param


@pytest.fixture
def a_dag(request, models, kind):
    """Makes a DAG of one job that works, fails or waits; its name is the test's."""

    def make(behaviour, **arguments):
        name = request.node.name.replace("[", "-").strip("]")
        retries = {"retries": 2, "retry_delay": datetime.timedelta(0)}
        with DAG(name, default_args=retries) as dag:
            if kind == "pipeline":
                job = pipeline(SCRIPTS[behaviour])
                AutoMLTabularOperator(task_id="job", training_pipeline=job, **PLACE, **arguments)
            else:
                BatchPredictionJobOperator(
                    task_id="job",
                    batch_prediction_job=prediction(models[behaviour], "batches"),
                    **PLACE,
                    **arguments,
                )
        return dag

    return make


@pytest.fixture
def jobs_of(clients, kind):
    """The jobs that a DAG's tasks made."""
    pipelines, jobs, _ = clients
    listed = {
        "pipeline": pipelines.list_training_pipelines,
        "batch": jobs.list_batch_prediction_jobs,
    }[kind]

    def find(dag):
        wanted = f"labels.airflow-dag={label_value(dag.dag_id)}"
        return list(listed(request={"parent": PARENT, "filter": wanted}))

    return find


def task_instance(run):
    (ti,) = run.get_task_instances()
    return ti


def state(job):
    return job.state.name.split("_STATE_")[1]


def test_a_job_runs_once_and_a_cleared_task_adopts_it(google, a_dag, jobs_of, kind):
    dag = a_dag("works")
    run = run_dag(dag)
    (job,) = jobs_of(dag)
    assert (run.state, state(job)) == ("success", "SUCCEEDED")
    returned = task_instance(run).xcom_pull(task_ids="job")
    assert returned["name"] == job.name
    if kind == "batch":
        (results,) = google.buckets.glob(
            returned["output"].removeprefix("gs://") + "/prediction.results-*"
        )
        assert '"prediction": 6' in results.read_text()
    else:
        assert returned["model"] == ""

    assert clear_and_run(dag, run) == {"job": "success"}
    assert len(jobs_of(dag)) == 1
    assert clear_and_run(a_dag("works", generation=2), run) == {"job": "success"}
    assert len(jobs_of(dag)) == 2


def test_a_failure_of_its_own_is_not_repeated_until_the_task_is_cleared(a_dag, jobs_of):
    dag = a_dag("fails")
    run = run_dag(dag)
    assert run.state == "failed"
    assert task_instance(run).try_number == 1
    (job,) = jobs_of(dag)
    assert state(job) == "FAILED"
    assert "3" in job.error.message

    assert clear_and_run(dag, run) == {"job": "failed"}
    assert len(jobs_of(dag)) == 2


def trigger_of(job, kind):
    field = {"pipeline": "training_pipeline", "batch": "batch_prediction_job"}[kind]
    return VertexJobTrigger(kind=field, name=job.name, region=PLACE["region"], poll_interval=0.1)


def test_a_deferred_task_that_is_killed_cancels_its_job(a_dag, jobs_of, kind):
    """The trigger's part, which does the same for a person who cancels in the console."""
    dag = a_dag("waits")

    def kill_when_it_runs():
        while not (jobs := jobs_of(dag)) or state(jobs[0]) != "RUNNING":
            time.sleep(0.1)
        asyncio.run(trigger_of(jobs[0], kind).on_kill())

    someone = threading.Thread(target=kill_when_it_runs, daemon=True)
    someone.start()
    run = run_dag(dag)
    someone.join()
    assert run.state == "failed"
    assert task_instance(run).try_number == 1, "no retry undoes what a person did"
    assert [state(job) for job in jobs_of(dag)] == ["CANCELLED"]


def test_a_running_task_that_is_killed_cancels_its_job(a_dag, jobs_of, kind):
    dag = a_dag("waits")
    operator = dag.get_task("job")

    class Context:
        dag_id, run_id, task_id, map_index, max_tries = dag.dag_id, "run", "job", -1, 0

        @staticmethod
        def xcom_push(key, value):
            raise OSError("killed here: after the create, before the deferral")

    with pytest.raises(OSError, match="killed"):
        operator.execute({"ti": Context})
    operator.on_kill()
    (job,) = jobs_of(dag)

    async def end():
        return await anext(aiter(trigger_of(job, kind).run()))

    event = asyncio.run(asyncio.wait_for(end(), timeout=20))
    assert event.payload == {"name": job.name, "state": "JOB_STATE_CANCELLED"}


def test_a_run_may_do_without(google, kind):
    with DAG(f"without_{kind}") as dag:
        if kind == "pipeline":
            AutoMLTabularOperator(task_id="job", training_pipeline=None, **PLACE)
        else:
            BatchPredictionJobOperator(task_id="job", batch_prediction_job=None, **PLACE)
    assert task_instance(run_dag(dag)).state == "skipped"


@pytest.mark.parametrize("kind", ["batch"], indirect=True)
def test_a_batch_prediction_is_stopped_after_its_limit(a_dag, jobs_of, capfd):
    dag = a_dag("waits", limit=1.5)
    run = run_dag(dag)
    assert run.state == "failed"
    assert task_instance(run).try_number == 1
    (job,) = jobs_of(dag)
    assert state(job) == "CANCELLED"
    assert "was stopped after its 2 s" in capfd.readouterr().out
