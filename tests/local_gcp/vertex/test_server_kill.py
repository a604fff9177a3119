"""The whole server: killed while a job runs, stopped while a job runs."""

import json
import urllib.request
from pathlib import Path

import psutil

SUBMIT = Path(__file__).with_name("programs") / "submit.py"


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
