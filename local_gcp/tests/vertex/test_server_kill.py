"""The whole server: killed while a job runs, stopped while a job runs."""

import json
import urllib.request
from pathlib import Path

import psutil
import pytest

from tests.vertex import cases

PROGRAMS = Path(__file__).with_name("programs")
SUBMIT = PROGRAMS / "submit.py"


@pytest.mark.slow
def test_kill_adopts_and_down_restarts(new_local_gcp, until, tmp_path):
    server = new_local_gcp()
    server.up()
    url = server.client_env["LOCAL_GCP_URL"]

    def job():
        with urllib.request.urlopen(f"{url}/local_gcp/status") as answer:
            (job,) = json.load(answer)["jobs"]
        return job

    def pid():
        replicas = job()["replicas"]
        return replicas and replicas[0]["last_line"] == "start" and replicas[0]["pid"]

    name = server.run(SUBMIT, str(tmp_path / "go")).splitlines()[-1]
    first = until(pid)
    server.kill()
    assert psutil.pid_exists(first), "a training outlives the server"
    server.up()
    assert job()["name"] == name
    assert pid() == first, "and is adopted"
    server.down()
    assert not psutil.pid_exists(first), "down ends it"
    server.up()
    second = until(pid)
    assert second != first, "up starts it again"
    (tmp_path / "go").touch()
    until(lambda: job()["state"] == "JOB_STATE_SUCCEEDED")
    log = Path(job()["replicas"][0]["log"]).read_text().splitlines()
    assert [line for line in log if not line.startswith("local_gcp")] == ["start", "start", "end"]


@pytest.mark.slow
def test_an_automl_training_outlives_the_server_and_its_own_death(new_local_gcp, until):
    server = new_local_gcp()
    server.up()
    server.buckets.joinpath("pictures").mkdir()
    cases.write_images(server.buckets / "pictures")
    url = server.client_env["LOCAL_GCP_URL"]
    program = PROGRAMS / "submit_automl.py"
    root = str(Path(__file__).resolve().parents[2])

    def replica():
        with urllib.request.urlopen(f"{url}/local_gcp/status") as answer:
            (job,) = json.load(answer)["jobs"]
        return {**(job["replicas"] or [{"pid": None}])[0], "job": job["state"]}

    name = server.run(program, "start", "pictures", PYTHONPATH=root).splitlines()[-1]
    first = until(lambda: replica()["pid"])
    for process in (psutil.Process(first), *psutil.Process(first).children(recursive=True)):
        process.suspend()  # or it may be done before the server is there again
    server.kill()
    server.up()
    assert replica()["pid"] == first, "the training is adopted"
    psutil.Process(first).kill()
    second = until(lambda: (pid := replica()["pid"]) and pid != first and pid)
    assert replica()["attempt"] == 2
    server.kill()
    until(lambda: not psutil.pid_exists(second), 120)  # it ends while there is no server
    server.up()
    until(lambda: replica()["job"] not in ("JOB_STATE_RUNNING", "JOB_STATE_PENDING"))
    said = server.run(program, "model", name, PYTHONPATH=root)
    assert said.startswith("PIPELINE_STATE_SUCCEEDED ")


@pytest.mark.slow
def test_an_operation_ends_although_the_server_was_killed_meanwhile(new_local_gcp, monkeypatch):
    monkeypatch.setenv("LOCAL_GCP_VARIANTS", "operation-seconds=8")
    server = new_local_gcp()
    server.up()
    program = PROGRAMS / "begin_endpoint.py"
    operation = server.run(program).split()[-1]
    server.kill()
    server.up()
    endpoint = server.run(program, operation).split()[-1]
    assert operation.startswith(f"{endpoint}/operations/")
