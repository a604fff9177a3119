"""The flex template operator against a Dataflow that runs the template's program."""

import asyncio
import datetime
import math
import threading
import time

import pytest
from airflow.providers.google.cloud.hooks.dataflow import DataflowHook
from airflow.sdk import DAG, Asset

from tests.airflow_side import clear_and_run, run_dag
from trellis import waiting
from trellis.dataflow import jobs
from trellis.dataflow.operators import FlexTemplateOperator
from trellis.dataflow.triggers import FlexTemplateTrigger
from trellis.identity import label_value

BUCKET = "flex-tests"
PLACE = {"project_id": "local-gcp", "location": "us-central1", "poll_sleep": 1}


@pytest.fixture(autouse=True)
def bucket(google):
    (google.buckets / BUCKET).mkdir(parents=True, exist_ok=True)


@pytest.fixture
def a_dag(request):
    """Makes a DAG of one launch; its commit mark is the test's own."""

    def make(**parameters):
        mark = f"gs://{BUCKET}/{request.node.name}/mark.json"
        if parameters.pop("writes", True):
            parameters["output"] = mark
        body = {
            "launchParameter": {
                "jobName": "a-job",
                "containerSpec": {
                    "image": "example.com/test/flex:1",
                    "sdkInfo": {"language": "PYTHON"},
                },
                "parameters": parameters,
            }
        }
        retries = {"retries": 2, "retry_delay": datetime.timedelta(0)}
        with DAG(request.node.name, default_args=retries) as dag:
            FlexTemplateOperator(
                task_id="export",
                body=body,
                commit_mark=mark,
                outlets=[Asset(name=request.node.name, uri=f"gs://{BUCKET}/{request.node.name}")],
                outlet_extra={"fingerprint": "3f2a"},
                **PLACE,
            )
        return dag

    return make


@pytest.fixture
def launches(google):
    """The jobs that a DAG launched."""

    def find(dag):
        label = label_value(dag.dag_id)
        jobs = [job for job in google.status()["jobs"] if job["kind"] == "dataflow"]
        return [job for job in jobs if job["labels"].get("airflow-dag") == label]

    return find


def events(dag):
    """Return the events that the DAG's outlet announced."""
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        found = session.scalars(
            select(AssetEvent).where(AssetEvent.source_dag_id == dag.dag_id)
        ).all()
        return [event.extra for event in found]


def task_instance(run):
    (ti,) = run.get_task_instances()
    return ti


def test_a_job_that_wrote_its_mark_is_announced(a_dag, launches):
    dag = a_dag()
    assert run_dag(dag).state == "success"
    (job,) = launches(dag)
    assert job["state"] == "JOB_STATE_DONE"
    assert events(dag) == [{"fingerprint": "3f2a"}]


def test_a_job_that_ends_within_seconds_needs_no_deferral(a_dag, launches, monkeypatch):
    monkeypatch.setattr(waiting, "IN_TASK_SECONDS", 30.0)
    monkeypatch.setattr(FlexTemplateOperator, "defer", lambda *_, **__: pytest.fail("deferred"))
    dag = a_dag()
    assert run_dag(dag).state == "success"
    assert len(launches(dag)) == 1
    assert events(dag) == [{"fingerprint": "3f2a"}]


def test_work_that_is_done_already_is_skipped_and_not_announced(a_dag, launches, google):
    dag = a_dag()
    mark = google.buckets / dag.get_task("export").commit_mark.removeprefix("gs://")
    mark.parent.mkdir()
    mark.write_text("{}")
    run = run_dag(dag)
    assert task_instance(run).state == "skipped"
    assert launches(dag) == []
    assert events(dag) == []


def test_a_worker_that_dies_after_the_launch_leaves_a_job_to_be_adopted(
    a_dag, launches, monkeypatch
):
    attempts = []

    class DiesFirst(FlexTemplateTrigger):
        def __init__(self, **arguments):
            attempts.append(arguments["job_id"])
            if len(attempts) == 1:
                raise OSError("the worker is lost")
            super().__init__(**arguments)

    monkeypatch.setattr("trellis.dataflow.operators.FlexTemplateTrigger", DiesFirst)
    dag = a_dag(seconds="1")
    assert run_dag(dag).state == "success"
    # A machine that is busy may find the job done when it tries again.
    assert set(attempts) == {attempts[0]}
    assert len(launches(dag)) == 1


def test_a_retry_finds_its_finished_job_and_announces_it(a_dag, launches, monkeypatch):
    """The job ended while nobody watched: its dataset is this run's, not an earlier one's."""
    real = FlexTemplateOperator._succeed
    calls = []

    def die_once(self, context, job):
        calls.append(job["id"])
        if len(calls) == 1:
            raise OSError("the worker is lost")
        return real(self, context, job)

    monkeypatch.setattr(FlexTemplateOperator, "_succeed", die_once)
    dag = a_dag()
    run = run_dag(dag)
    assert (run.state, task_instance(run).state) == ("success", "success")
    assert len(launches(dag)) == 1
    assert events(dag) == [{"fingerprint": "3f2a"}]


@pytest.mark.one_airflow
def test_a_launch_whose_answer_got_lost_is_found_by_its_name(a_dag, launches, monkeypatch):
    """The client repeats the request by itself; Dataflow answers that the name is taken."""
    real = DataflowHook.launch_job_with_flex_template

    def twice(self, **arguments):
        real(self, **arguments)
        return real(self, **arguments)

    monkeypatch.setattr(DataflowHook, "launch_job_with_flex_template", twice)
    dag = a_dag(seconds="2")
    assert run_dag(dag).state == "success"
    assert len(launches(dag)) == 1


def test_a_failed_job_says_why_and_is_not_repeated_until_cleared(a_dag, launches, capfd):
    dag = a_dag(fail="30 percent of the images are corrupt")
    run = run_dag(dag)
    assert "30 percent of the images are corrupt" in capfd.readouterr().out
    assert run.state == "failed"
    assert task_instance(run).try_number == 1
    assert len(launches(dag)) == 1
    assert clear_and_run(dag, run) == {"export": "failed"}
    # Both launches have cost something.
    made = jobs.named(DataflowHook(), "local-gcp", "us-central1", launches(dag)[0]["display_name"])
    assert [jobs.hours_worked(job) > 0 for job in made] == [True, True]
    assert len(launches(dag)) == 2


@pytest.fixture
def a_priced_dag(a_dag):
    """Makes a DAG whose job Google fails after 1.5 seconds, at 1 USD an hour of a small worker and
    4 of a large one, with a limit of `longest` seconds.
    """

    def make(*machines, at_most, longest, workers=1):
        dag = a_dag(fail="Internal error", seconds="1.5")
        task = dag.get_task("export")
        task._per_hour = lambda machine, workers, _: workers * {"small": 1.0, "large": 4.0}[machine]
        task.at_most = at_most
        launch = task.body["launchParameter"]

        def render(context, jinja_env=None):
            # The group changes its platform file between the attempts.
            machine = machines[min(context["ti"].try_number, len(machines)) - 1]
            limit = f"{jobs.LIMIT}={longest}"
            return {
                "launchParameter": {
                    **launch,
                    "environment": {
                        "machineType": machine,
                        "maxWorkers": workers,
                        "additionalExperiments": ["shuffle_mode=service", limit],
                    },
                }
            }

        task.body = render
        return dag

    return make


@pytest.fixture
def limits(monkeypatch):
    """The time limits of the launches, in seconds."""
    given = []
    real = DataflowHook.launch_job_with_flex_template

    def launch(self, body, **arguments):
        *others, own = body["launchParameter"]["environment"]["additionalExperiments"]
        assert others == ["shuffle_mode=service"]
        given.append(int(own.removeprefix(f"{jobs.LIMIT}=")))
        return real(self, body=body, **arguments)

    monkeypatch.setattr(DataflowHook, "launch_job_with_flex_template", launch)
    return given


@pytest.mark.one_airflow
def test_jobs_that_google_fails_share_one_sum(a_priced_dag, launches, limits, capfd):
    dag = a_priced_dag("small", workers=2, at_most=2 * 4 / 3600, longest=4)
    run = run_dag(dag)
    assert run.state == "failed"
    assert limits[0] == 4
    assert limits == sorted(limits, reverse=True)
    assert len({*limits}) == len(launches(dag)) < 3, "of three attempts the last got no job"
    assert "of the 0.00 USD that its plan has" in capfd.readouterr().out
    # A person decides on new costs.
    clear_and_run(dag, run)
    assert limits.count(4) == 2


@pytest.mark.one_airflow
def test_each_job_counts_at_the_price_of_its_own_machines(a_priced_dag, launches, limits):
    """The plan is of the small one: a second of the large one takes four of its seconds."""
    dag = a_priced_dag("large", "small", at_most=1 / 6, longest=600)
    run_dag(dag)
    made = jobs.named(DataflowHook(), "local-gcp", "us-central1", launches(dag)[0]["display_name"])
    first, second, _ = (3600 * jobs.hours_worked(job) for job in reversed(made))
    assert limits == [150, math.ceil(600 - 4 * first), math.ceil(600 - 4 * first - second)]


@pytest.mark.one_airflow
def test_a_launch_that_dataflow_refuses_is_not_repeated(a_dag, launches, capfd):
    dag = a_dag()
    launch = dag.get_task("export").body["launchParameter"]
    launch["containerSpec"]["image"] = "example.com/nobody/knows:1"
    run = run_dag(dag)
    assert (run.state, task_instance(run).try_number) == ("failed", 1)
    assert "Dataflow refuses this launch" in capfd.readouterr().out


@pytest.mark.one_airflow
def test_done_without_the_mark_is_no_success(a_dag):
    run = run_dag(a_dag(writes=False))
    assert run.state == "failed"
    assert task_instance(run).try_number == 1


def test_a_cancelled_job_ends_the_wait(a_dag, launches):
    """The provider's trigger would wait for it forever."""
    dag = a_dag(seconds="60")

    def cancel_when_it_runs():
        while not (jobs := launches(dag)) or jobs[0]["state"] != "JOB_STATE_RUNNING":
            time.sleep(0.1)
        trigger = FlexTemplateTrigger(
            job_id=jobs[0]["name"].rsplit("/", 1)[-1],
            project_id=PLACE["project_id"],
            location=PLACE["location"],
        )
        asyncio.run(trigger.on_kill())

    someone = threading.Thread(target=cancel_when_it_runs)
    someone.start()
    run = run_dag(dag)
    someone.join()
    assert run.state == "failed"
    assert task_instance(run).try_number == 1
    assert launches(dag)[0]["state"] == "JOB_STATE_CANCELLED"
