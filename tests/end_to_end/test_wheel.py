"""Whole runs where only the wheel brings Trellis to Airflow: see installed_airflow.py."""

import datetime
import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from demo import experiments
from testbed.installed_airflow import InstalledAirflow
from testbed.local_run import SMALL
from tests.end_to_end import lineage_drawing
from tests.trellis.workflow.assembly.mail_server import mail_server
from tests.wording import says

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


NOTIFY = """
notify:
  mail:
    class: airflow.providers.smtp.notifications.smtp.SmtpNotifier
    arguments:
      to: lab@example.org
      smtp_conn_id: mail
      subject: "{{ trellis_subject }}"
      html_content: "{{ trellis_message }}"
watch: {schedule: manual}
"""


@pytest.fixture(scope="module")
def mails():
    """Collect the mails that were sent, and their connection as a variable."""
    with mail_server() as (port, mails):
        extra = "disable_ssl=true&disable_tls=true&from_email=airflow@example.org"
        yield mails, {"AIRFLOW_CONN_MAIL": f"smtp://127.0.0.1:{port}/?{extra}"}


@pytest.fixture(scope="module")
def airflow(local_gcp, mails):
    google = local_gcp.client_env | mails[1]
    experiments.make_bucket(google)
    experiments.load_data("digits", google)
    # Not pytest's tmp_path: Airflow's log paths are long.
    home = Path(tempfile.mkdtemp(prefix="trellis-wheel-"))
    (home / "lineage").mkdir()
    # A file for each event: many processes write.
    transport = {"type": "file", "log_file_path": str(home / "lineage/event")}
    lineage = {"AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport)}
    airflow = InstalledAirflow(home, google | lineage)
    try:
        airflow.install()
        (airflow.dags / "experiments/daily.yaml").write_text(daily(airflow.dags))
        (airflow.dags / "experiments/waiting.yaml").write_text(waiting(airflow.dags))
        platform = airflow.dags / "platform.yaml"
        platform.write_text(platform.read_text() + NOTIFY)
        airflow.start()
        yield airflow
    finally:
        airflow.stop()
        if not os.environ.get("TRELLIS_KEEP"):
            shutil.rmtree(home, ignore_errors=True)


def daily(dags: Path) -> str:
    """Copy digits with a schedule that ends in two days; its runs are late after 10 seconds."""
    until = datetime.date.today() + datetime.timedelta(days=2)
    return small(dags, f'schedule: "@daily"\nuntil: {until}\ndeadline: 10 seconds')


def waiting(dags: Path) -> str:
    """Copy digits with a schedule on changes of its manifest."""
    return small(dags, "schedule: new data")


def small(dags: Path, schedule: str) -> str:
    """The experiment file of digits: small, by this schedule, not served."""
    text, _, _ = (dags / "experiments/digits.yaml").read_text().partition("\ndeploy:")
    for old, new in {
        "schedule: manual": schedule,
        "trials: 6": "trials: 2",
        "epochs: 4": "epochs: 1",
        "top: 2": "top: 1",
        "epochs: 25": "epochs: 2",
    }.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def test_trellis_is_installed_and_no_folder_holds_it(airflow):
    where = Path(airflow.python("import trellis; print(trellis.__file__)"))
    assert where.is_relative_to(airflow.home / "venv/lib")
    assert not list((airflow.home / "no plugins").iterdir())
    assert not (airflow.home / "no DAG folder").exists()


def test_the_scheduler_lives_with_a_schedule_that_ends_and_tells_of_late_runs(airflow, mails):
    airflow.unpause("daily")

    (run,) = airflow.wait("a scheduled run", lambda: airflow.api.runs("daily"))
    assert run["run_type"] == "scheduled"
    (mail,) = airflow.wait("the mail", lambda: mails[0])
    assert says(mail["subject"], "TRELLIS LATE: daily", "10 seconds")
    assert run["dag_run_id"] in mail.get_body(("html",)).get_content()
    assert ended(airflow, "daily", run["dag_run_id"]) == "success"
    assert len(mails[0]) == 1
    assert airflow.ended() == []
    assert airflow.api.healthy()


def test_a_run_goes_from_the_plan_to_a_served_model(airflow, local_gcp):
    airflow.unpause("digits")
    # Trials one after the other: a task waits in its own process for what takes up to 10 s.
    airflow.api.trigger("digits", "small", {**SMALL, "parallel": 1})

    assert ended(airflow, "digits", "small") == "success"
    tasks = airflow.api.task_instances("digits", "small")
    assert {"tune", "train", "deploy.champion"} <= {
        task["task_id"] for task in tasks if task["state"] == "success"
    }
    assert {"tune", "train"} <= airflow.deferred("digits", "small")
    assert airflow.ended() == []


def test_openlineage_events_lead_from_the_manifest_to_the_endpoint(airflow):
    events = (json.loads(file.read_text()) for file in (airflow.home / "lineage").iterdir())
    # Rows that are the same are frozen once, by the run that came first.
    edges, failed = lineage_drawing.edges_of(
        event for event in events if event["job"]["name"].startswith(("daily.", "digits."))
    )
    assert not failed
    (manifest,) = {start for start, _ in edges if start[-1].endswith("digits/manifest.csv")}
    reached = {manifest}
    for _ in edges:
        reached |= {end for start, end in edges if start in reached}
    chain = ("plan", "snapshot", "extract", "export", "train", "deploy.register")
    assert {(task,) for task in (*chain, "deploy.canary_10")} <= reached
    assert ("vertex_ai", "endpoint:local-gcp.us-central1.digits") in reached
    assert {end for start, end in edges if start == manifest} == {("plan",)}


def test_each_change_of_the_data_is_one_run(airflow, local_gcp):
    airflow.unpause("waiting")
    airflow.unpause("watch")

    def look(name: str) -> str | None:
        """A look, and the state of its task."""
        airflow.api.trigger("watch", name, {})
        assert ended(airflow, "watch", name) == "success"
        tasks = airflow.api.task_instances("watch", name)
        (state,) = [task["state"] for task in tasks if task["task_id"] == "waiting.source"]
        return state

    assert look("first") == "success"
    (first,) = airflow.wait("a run", lambda: airflow.api.runs("waiting"))
    assert first["run_type"] == "asset_triggered"
    assert ended(airflow, "waiting", first["dag_run_id"]) == "success"
    assert look("second") == "skipped"

    (manifest,) = local_gcp.buckets.glob("*/digits/manifest.csv")
    *lines, last = manifest.read_text().splitlines(keepends=True)
    manifest.write_text("".join(lines))
    assert look("third") == "success"
    runs = airflow.wait(
        "a second run", lambda: r if len(r := airflow.api.runs("waiting")) > 1 else None
    )
    assert len(runs) == 2
    (second,) = [run for run in runs if run["dag_run_id"] != first["dag_run_id"]]
    assert ended(airflow, "waiting", second["dag_run_id"]) == "success"
    assert look("fourth") == "skipped"
    assert len(airflow.api.runs("waiting")) == 2
    # Late data make a new dataset, and the old run keeps its own.
    assert len(list(local_gcp.buckets.glob("*/waiting/datasets/*/dataset.json"))) == 2
    manifest.write_text("".join([*lines, last]))


def ended(airflow: InstalledAirflow, dag: str, run: str) -> str:
    """Return how the run ended: success or failed."""

    def state() -> str | None:
        now = airflow.api.state(dag, run)
        return now if now in ("success", "failed") else None

    return airflow.wait(f"run {run} of {dag}", state, seconds=900)
