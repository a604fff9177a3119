"""The whole server, killed while a model is being deployed and while it serves."""

import json
import subprocess
import urllib.request
from pathlib import Path

import psutil
import pytest

CLIENT = Path(__file__).with_name("programs") / "client.py"


@pytest.fixture
def server(new_local_gcp):
    started = new_local_gcp()
    started.up()
    return started


@pytest.fixture
def client(server):
    """client("predict", endpoint): what programs/client.py, one process for all, answers."""
    python = Path(__file__).parents[4] / ".venv/local_gcp/bin/python"
    process = subprocess.Popen(
        [python, CLIENT],
        env=server.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def ask(*words):
        process.stdin.write(" ".join(words) + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    with process:
        yield ask
        process.stdin.close()


@pytest.mark.slow
def test_serving_outlives_the_server(server, client, until):
    url = server.client_env["LOCAL_GCP_URL"]

    def pids():
        with urllib.request.urlopen(f"{url}/local_gcp/status") as answer:
            (deployed,) = json.load(answer)["jobs"]
        found = [replica["pid"] for replica in deployed["replicas"]]
        return sorted(found) if all(found) else []

    endpoint, operation = client("deploy", "killed", "2").split()
    first = until(pids)
    server.kill()
    server.up()
    assert pids() == first  # the processes that were starting are adopted
    until(lambda: client("wait", operation) == "done")  # the deployment goes on
    shown = json.loads(client("show", endpoint))
    assert shown == {"models": [*shown["split"]], "split": {shown["models"][0]: 100}}
    server.kill()
    psutil.Process(first[0]).kill()  # while there is no server
    server.up()
    until(lambda: client("predict", endpoint) == str(first[1]))  # served by the one that is left
    second = until(lambda: first[0] not in pids() and len(pids()) == 2 and pids())
    assert first[1] in second, "and the other is started again"
    server.down()
    assert not any(psutil.pid_exists(pid) for pid in second), "down ends them"
    server.up()
    until(lambda: client("predict", endpoint).isdecimal())
    assert json.loads(client("show", endpoint)) == shown
    last = pids()
    operation = client("undeploy", endpoint)
    server.kill()
    server.up()
    until(lambda: client("wait", operation) == "done")  # the undeployment goes on
    assert json.loads(client("show", endpoint)) == {"models": [], "split": {}}
    assert not any(psutil.pid_exists(pid) for pid in last)
