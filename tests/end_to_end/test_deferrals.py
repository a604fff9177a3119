"""Deferrals of jobs that end soon: no task loses an attempt.

What can go wrong is Airflow's (https://github.com/apache/airflow/issues/72716): a trigger that
fires before the scheduler has read that the task has deferred costs the task an attempt. See
trellis/waiting.py for what is done about it.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.end_to_end.installed_airflow import ROOT, InstalledAirflow

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

# Each job ends just after its task has deferred.
DAG = """
import datetime

from airflow.sdk import DAG

from trellis.vertex.operators import CustomJobOperator

pool = {{
    "machine_spec": {{"machine_type": "n1-standard-4"}},
    "replica_count": 1,
    "container_spec": {{"image_uri": "example.com/test/sh:1", "args": ["sleep {seconds}", "job"]}},
}}
job = {{"display_name": "short", "job_spec": {{"worker_pool_specs": [pool]}}}}
retries = {{"retries": 9, "retry_delay": datetime.timedelta(seconds=1)}}
with DAG("deferrals", schedule=None, max_active_tasks={jobs}, default_args=retries):
    CustomJobOperator.partial(
        task_id="job", project_id="local-gcp", region="us-central1", poll_interval=1
    ).expand(custom_job=[job] * {jobs})
"""

WITHOUT_PAUSES = """
from trellis import waiting

waiting.IN_TASK_SECONDS = waiting.FIRST_LOOK_SECONDS = 0.0
"""


@pytest.fixture
def deferrals(new_local_gcp, monkeypatch):
    """Defers that many jobs of that many seconds: the attempts that were lost."""
    # A job only sleeps: all of them run at once.
    monkeypatch.setenv("LOCAL_GCP_CORES", "1000")
    monkeypatch.setenv("LOCAL_GCP_IMAGES", str(ROOT / "tests/trellis/images.yaml"))
    google = new_local_gcp()
    google.up()
    # Not pytest's tmp_path: Airflow's log paths are long.
    home = Path(tempfile.mkdtemp(prefix="trellis-deferrals-"))
    airflow = InstalledAirflow(home, google.client_env)

    def run(jobs, seconds, settings=""):
        (home / "venv").symlink_to(ROOT / ".venv/airflow")
        airflow.dags.mkdir(parents=True)
        (airflow.dags / "deferrals.py").write_text(DAG.format(jobs=jobs, seconds=seconds))
        airflow.start(settings)
        airflow.unpause("deferrals")
        airflow.api.trigger("deferrals", "all")
        ended = ("success", "failed")
        airflow.wait("all jobs", lambda: airflow.api.state("deferrals", "all") in ended, 1800)
        assert airflow.api.state("deferrals", "all") == "success"
        logs = airflow.home / "airflow/logs/dag_id=deferrals"
        assert len(list(logs.rglob("*.log.trigger.*"))) >= jobs, "each task has deferred"
        return lost_attempts(airflow)

    yield run
    airflow.stop()
    if not os.environ.get("TRELLIS_KEEP"):
        shutil.rmtree(home, ignore_errors=True)


def lost_attempts(airflow):
    """How many the scheduler gave up because it took the deferral for the end of the task."""
    log = airflow.log("scheduler").read_text(errors="replace")
    # Each is reported more than once; an attempt has an ID of its own.
    lost = set(re.findall(r"ti_id=(\S+)> finished with state success, but", log))
    tasks = airflow.api.task_instances("deferrals", "all")
    retried = sum(task["try_number"] - 1 for task in tasks)
    print(f"{len(tasks)} deferrals: {len(lost)} attempts lost; {retried} retries for any reason")
    return len(lost)


def test_no_attempt_is_lost(deferrals):
    assert deferrals(300, seconds=5) == 0


def test_airflow_still_needs_the_pauses(deferrals):
    """If this fails, Airflow has mended it: trellis/waiting.py can do without pauses."""
    assert deferrals(100, seconds=1, settings=WITHOUT_PAUSES) > 0
