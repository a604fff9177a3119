"""The operators against a JobService that runs jobs for real."""

import asyncio
import datetime
import json
import threading
import time

import pytest
from airflow.sdk import DAG
from google.cloud.aiplatform_v1 import JobServiceClient

from local_gcp.jobs.machine import Machine
from tests.airflow_side import clear_and_run, run_dag
from tests.wording import says
from trellis import waiting
from trellis.identity import label_value
from trellis.vertex import triggers
from trellis.vertex.operators import CustomJobOperator, HyperparameterTuningJobOperator
from trellis.vertex.triggers import VertexJobTrigger

PLACE = {"project_id": "local-gcp", "region": "us-central1", "poll_interval": 0.2}


def pool(script):
    return {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        # The word after the script is its $0.
        "container_spec": {"image_uri": "example.com/test/sh:1", "args": [script, "job"]},
    }


def custom_job(script, scheduling=None):
    spec = {"worker_pool_specs": [pool(script)], "scheduling": scheduling or {}}
    return {"display_name": "a job", "job_spec": spec}


@pytest.fixture
def a_dag(request):
    """Makes a DAG of one custom job; its name is the test's, so that no two share a job."""

    def make(script, scheduling=None, **arguments):
        retries = {"retries": 2, "retry_delay": datetime.timedelta(0)}
        name = request.node.name.replace("[", "-").replace(" ", "-").strip("]")
        with DAG(name, default_args=retries) as dag:
            job = custom_job(script, scheduling)
            CustomJobOperator(task_id="job", custom_job=job, **PLACE, **arguments)
        return dag

    return make


@pytest.fixture
def jobs_of(google):
    """The jobs that a DAG's tasks made."""

    def find(dag):
        label = label_value(dag.dag_id)
        return [job for job in google.status()["jobs"] if job["labels"].get("airflow-dag") == label]

    return find


def task_instance(run):
    (ti,) = run.get_task_instances()
    return ti


def test_a_job_runs_and_the_task_succeeds(google, a_dag, jobs_of):
    dag = a_dag("echo hello")
    run = run_dag(dag)
    (job,) = jobs_of(dag)
    assert (run.state, job["state"]) == ("success", "JOB_STATE_SUCCEEDED")
    assert job["labels"]["airflow-task"] == "job"
    returned = task_instance(run).xcom_pull(task_ids="job")
    assert returned["name"] == job["name"]


def test_a_worker_that_dies_after_the_create_leaves_a_job_to_be_adopted(
    google, a_dag, jobs_of, monkeypatch
):
    attempts = []

    class DiesFirst(VertexJobTrigger):
        def __init__(self, **arguments):
            attempts.append(arguments["name"])
            if len(attempts) == 1:
                raise OSError("the worker is lost")
            super().__init__(**arguments)

    monkeypatch.setattr("trellis.vertex.operators.VertexJobTrigger", DiesFirst)
    dag = a_dag("sleep 1")
    run = run_dag(dag)
    assert run.state == "success"
    assert task_instance(run).try_number == 2
    assert len(jobs_of(dag)) == 1
    # A machine that is busy may find the job done when it tries again.
    assert set(attempts) == {attempts[0]}


def test_a_cleared_task_adopts_the_job_that_succeeded(google, a_dag, jobs_of):
    dag = a_dag("echo hello")
    run = run_dag(dag)
    assert clear_and_run(dag, run) == {"job": "success"}
    assert len(jobs_of(dag)) == 1


@pytest.mark.one_airflow
def test_another_generation_is_another_job(google, a_dag, jobs_of):
    run = run_dag(a_dag("echo hello"))
    second = a_dag("echo hello", generation=2)
    assert clear_and_run(second, run) == {"job": "success"}
    assert len(jobs_of(second)) == 2


def test_a_program_that_fails_is_not_run_again_until_the_task_is_cleared(google, a_dag, jobs_of):
    dag = a_dag("echo the reason; exit 3")
    run = run_dag(dag)
    assert run.state == "failed"
    assert task_instance(run).try_number == 1
    assert len(jobs_of(dag)) == 1
    assert "non-zero status of 3" in jobs_of(dag)[0]["error"]

    assert clear_and_run(dag, run) == {"job": "failed"}
    assert len(jobs_of(dag)) == 2


@pytest.fixture
def busy(google):
    """A job of someone else that has all machines; others wait while it runs."""
    hold = pool("sleep 600")
    workers = {**hold, "replica_count": Machine.from_environment().cores}
    jobs = JobServiceClient(
        client_options={"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    )
    sent = {"display_name": "busy", "job_spec": {"worker_pool_specs": [hold, workers]}}
    job = jobs.create_custom_job(parent="projects/local-gcp/locations/us-central1", custom_job=sent)
    while jobs.get_custom_job(name=job.name).state.name != "JOB_STATE_RUNNING":
        time.sleep(0.1)
    yield
    jobs.cancel_custom_job(name=job.name)
    while jobs.get_custom_job(name=job.name).state.name != "JOB_STATE_CANCELLED":
        time.sleep(0.1)


@pytest.mark.one_airflow
@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize(
    ("scheduling", "state"),
    [
        ({}, "JOB_STATE_CANCELLED"),
        ({"strategy": "FLEX_START", "max_wait_duration": "1s"}, "JOB_STATE_FAILED"),
    ],
    ids=["by us", "by Vertex AI"],
)
def test_a_job_that_gets_no_machines_is_stopped_and_not_tried_again(
    a_dag, jobs_of, monkeypatch, capsys, scheduling, state
):
    """The task says which machines it waited for, where, and what to do."""
    monkeypatch.setattr(waiting, "IN_TASK_SECONDS", 2)
    monkeypatch.setattr(waiting, "FIRST_POLL_SECONDS", 0)
    dag = a_dag("true", scheduling, wait=1)
    run = run_dag(dag)
    assert (run.state, task_instance(run).try_number) == ("failed", 1)
    (job,) = jobs_of(dag)
    assert job["state"] == state
    said = capsys.readouterr().out
    assert says(said, "within 1 s: ", "1 n1-standard-4", "us-central1")
    assert ("Vertex AI says: " in said) == (state == "JOB_STATE_FAILED")
    preemptible = "_preemptible" if scheduling else ""
    limit = f"custom_model_training{preemptible}_cpus: 2200"
    # The other job's machines, which have no quota of spot machines.
    used = () if scheduling else str(4 * (1 + Machine.from_environment().cores))
    assert says(said, limit, used, "quota", "clear this task")
    assert f"/{job['name'].rpartition('/')[2]}" in said


@pytest.mark.one_airflow
@pytest.mark.usefixtures("busy")
def test_a_job_without_machines_names_its_quotas_where_their_limits_cannot_be_read(
    google, a_dag, monkeypatch, capsys
):
    monkeypatch.setattr(waiting, "IN_TASK_SECONDS", 2)
    monkeypatch.setattr(waiting, "FIRST_POLL_SECONDS", 0)
    facts = google.home / "project.json"
    facts.write_text(json.dumps({"missing_permissions": ["serviceusage.quotas.get"]}))
    try:
        assert run_dag(a_dag("true", wait=1)).state == "failed"
    finally:
        facts.unlink()
    said = capsys.readouterr().out
    assert says(said, "custom_model_training_cpus", "cannot be read", "quotas?project=local-gcp")


def test_a_job_that_someone_cancels_is_not_started_again(google, a_dag, jobs_of):
    dag = a_dag("sleep 60")

    def cancel_when_it_runs():
        while not (jobs := jobs_of(dag)) or jobs[0]["state"] != "JOB_STATE_RUNNING":
            time.sleep(0.1)
        asyncio.run(trigger_of(jobs[0]).on_kill())

    someone = threading.Thread(target=cancel_when_it_runs)
    someone.start()
    run = run_dag(dag)
    someone.join()
    assert run.state == "failed"
    assert task_instance(run).try_number == 1
    (job,) = jobs_of(dag)
    assert job["state"] == "JOB_STATE_CANCELLED"


def trigger_of(job, **arguments):
    defaults = {"region": PLACE["region"], "poll_interval": 0.1, "kind": "custom_job"}
    return VertexJobTrigger(name=job["name"], **{**defaults, **arguments})


def fire(trigger):
    async def first():
        async for event in trigger.run():
            return event.payload

    return asyncio.run(asyncio.wait_for(first(), timeout=20))


def test_a_killed_task_cancels_its_job(google, a_dag, jobs_of):
    """The supervisor of a running task does so on SIGTERM; deferred, the trigger does it."""
    dag = a_dag("sleep 60")
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
    assert fire(trigger_of(job)) == {"name": job["name"], "state": "JOB_STATE_CANCELLED"}


def test_a_poll_that_fails_is_repeated(google, a_dag, jobs_of, monkeypatch):
    dag = a_dag("echo hello")
    run_dag(dag)
    real = triggers.CustomJobAsyncHook
    failures = iter([ConnectionError("no route"), TimeoutError("slow")])

    class Flaky(real):
        async def get_job_service_client(self, region=None):
            for failure in failures:
                raise failure
            return await super().get_job_service_client(region)

    monkeypatch.setattr(triggers, "CustomJobAsyncHook", Flaky)
    (job,) = jobs_of(dag)
    assert fire(trigger_of(job))["state"] == "JOB_STATE_SUCCEEDED"


def test_a_job_that_is_gone_ends_the_wait(google):
    gone = {"name": "projects/local-gcp/locations/us-central1/customJobs/1"}
    assert fire(trigger_of(gone))["state"] is None


def test_a_trigger_survives_its_way_through_the_database():
    trigger = trigger_of({"name": "n"}, gcp_conn_id="c")
    path, arguments = trigger.serialize()
    assert path == "trellis.vertex.triggers.VertexJobTrigger"
    assert VertexJobTrigger(**arguments).serialize() == (path, arguments)


TRIAL = """
for argument; do case $argument in --x=*) x=${argument#--x=};; esac; done
echo "{\\"trial\\": \\"$CLOUD_ML_TRIAL_ID\\", \\"global_step\\": 1, \\"score\\": $x, \
\\"timestamp\\": 0}" >> $CLOUD_ML_HP_METRIC_FILE
"""


SEARCH = {
    "display_name": "a search",
    "max_trial_count": "{{ 1 + 2 }}",
    "parallel_trial_count": 1,
    "study_spec": {
        "metrics": [{"metric_id": "score", "goal": "MAXIMIZE"}],
        "parameters": [{"parameter_id": "x", "discrete_value_spec": {"values": [1, 2, 3]}}],
        "algorithm": "GRID_SEARCH",
    },
    "trial_job_spec": {"worker_pool_specs": [pool(TRIAL)], "scheduling": {"strategy": "SPOT"}},
}


def a_search(name, **arguments):
    """A DAG with a search of three trials."""
    with DAG(name, render_template_as_native_obj=True) as dag:
        HyperparameterTuningJobOperator(
            task_id="tune", hyperparameter_tuning_job=SEARCH, **PLACE, **arguments
        )
    return dag


@pytest.mark.one_airflow
@pytest.mark.usefixtures("busy")
def test_a_search_whose_trials_get_no_machines_is_stopped(monkeypatch, capsys):
    monkeypatch.setattr(waiting, "IN_TASK_SECONDS", 2)
    monkeypatch.setattr(waiting, "FIRST_POLL_SECONDS", 0)
    assert run_dag(a_search("a_search_without_machines", wait=1)).state == "failed"
    assert says(capsys.readouterr().out, "within 1 s: ", "n1-standard-4", "preemptible_cpus: 2200")


def test_a_tuning_job_returns_its_trials(google):
    run = run_dag(a_search("a_tuning_dag"))
    assert run.state == "success"
    trials = task_instance(run).xcom_pull(task_ids="tune")["trials"]
    assert [t["id"] for t in trials] == ["1", "2", "3"]
    assert all(t["state"] == "SUCCEEDED" for t in trials)
    assert {t["parameters"]["x"] for t in trials} == {1.0, 2.0, 3.0}
    assert all(t["final"]["metrics"]["score"] == t["parameters"]["x"] for t in trials)
