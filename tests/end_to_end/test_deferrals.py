"""Deferrals of jobs that end soon: no task loses an attempt.

What can go wrong is Airflow's (https://github.com/apache/airflow/issues/72716): a task that resumes
before the scheduler has read that the process which deferred is over costs the task an attempt. See
trellis/waiting.py for what is done about it. The scheduler reads it up to 5 s late; here it is
later still, as on a busy machine.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from testbed.installed_airflow import ROOT, InstalledAirflow
from trellis import waiting

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

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
with DAG("deferrals", schedule=None, max_active_tasks=4, default_args=retries):
    CustomJobOperator.partial(
        task_id="job", project_id="local-gcp", region="us-central1", poll_interval=0.2
    ).expand(custom_job=[job] * {jobs})
"""

# Only the scheduler's processes run tasks.
READ_LATE = """
import time

from airflow.executors.base_executor import BaseExecutor

run_workload = BaseExecutor.run_workload


def run_workload_and_wait(*arguments, **options):
    try:
        return run_workload(*arguments, **options)
    finally:
        time.sleep({seconds})


BaseExecutor.run_workload = staticmethod(run_workload_and_wait)
"""

WITHOUT_PAUSES = """
from trellis import waiting

waiting.IN_TASK_SECONDS = waiting.FIRST_POLL_SECONDS = 0.0
"""


@pytest.fixture
def deferrals(new_local_gcp, monkeypatch):
    """Defers that many jobs of that many seconds: the attempts that were lost.

    late: how many seconds late the scheduler reads that a process is over.
    """
    # A job only sleeps: all of them run at once.
    monkeypatch.setenv("LOCAL_GCP_CORES", "1000")
    monkeypatch.setenv("LOCAL_GCP_IMAGES", str(ROOT / "tests/trellis/images.yaml"))
    google = new_local_gcp()
    google.up()
    # Not pytest's tmp_path: Airflow's log paths are long.
    home = Path(tempfile.mkdtemp(prefix="trellis-deferrals-"))
    # Enough that a task can resume while others are read late.
    airflow = InstalledAirflow(home, google.client_env, parallelism=12)

    def run(jobs, seconds, late, settings=""):
        (home / "venv").symlink_to(ROOT / ".venv/airflow")
        airflow.dags.mkdir(parents=True)
        (airflow.dags / "deferrals.py").write_text(DAG.format(jobs=jobs, seconds=seconds))
        airflow.start(READ_LATE.format(seconds=late) + settings)
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
    """Count the attempts that the scheduler gave up because it took the deferral for the end of the
    task.
    """
    log = airflow.log("scheduler").read_text(errors="replace")
    # Each is reported more than once; an attempt has an ID of its own.
    lost = set(re.findall(r"ti_id=(\S+)> finished with state success, but", log))
    tasks = airflow.api.task_instances("deferrals", "all")
    retried = sum(task["try_number"] - 1 for task in tasks)
    print(f"{len(tasks)} deferrals: {len(lost)} attempts lost; {retried} retries for any reason")
    return len(lost)


def test_no_attempt_is_lost(deferrals):
    # Each job ends just after its task has deferred.
    assert deferrals(300, seconds=waiting.IN_TASK_SECONDS + 1, late=1) == 0


def test_airflow_still_needs_the_pauses(deferrals):
    """If this fails, Airflow has mended it: trellis/waiting.py can do without pauses."""
    assert deferrals(40, seconds=0, late=4, settings=WITHOUT_PAUSES) > 0
