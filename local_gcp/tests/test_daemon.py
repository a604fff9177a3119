"""The life of the server process, through its command line."""

import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import psutil
import pytest

from local_gcp import daemon
from local_gcp.__main__ import main
from local_gcp.home import Home


@pytest.fixture
def server(new_local_gcp):
    return new_local_gcp()


def processes_of(server) -> list[int]:
    """Server processes that serve this home."""
    arguments = ["--home", str(server.home), "up", "--foreground"]
    return [
        p.pid
        for p in psutil.process_iter(["cmdline"])
        if (p.info["cmdline"] or [])[-4:] == arguments
    ]


def test_up_and_down_do_no_harm_twice(server):
    assert "local_gcp is up" in server.command("up").stdout
    pid = server.pid
    assert "is already up" in server.command("up").stdout
    assert server.pid == pid
    status = server.status()
    assert (status["healthy"], status["project"], status["jobs"]) == (True, "local-gcp", [])
    assert "stopped" in server.command("down").stdout
    assert not psutil.pid_exists(pid)
    assert "was not running" in server.command("down").stdout
    refused = server.command("status", check=False)
    assert refused.returncode == 1
    assert "run `local-gcp up`" in refused.stderr


def test_a_home_that_was_never_started_says_so(server):
    refused = server.command("status", check=False)
    assert (refused.returncode, "was never started" in refused.stderr) == (1, True)
    assert server.command("down").returncode == 0


def test_a_reader_that_has_enough_is_no_error(tmp_path):
    command = f"{sys.executable} -m local_gcp --home {tmp_path} env | true"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert ended.stderr == ""


@pytest.mark.slow
def test_clients_keep_their_environment_over_restarts(server):
    before = server.client_env  # may be asked for before the first start
    server.up()
    server.kill()
    server.up()
    assert json.loads(server.command("env", "--json").stdout) == before
    with urllib.request.urlopen(f"{before['LOCAL_GCP_URL']}/local_gcp/health") as answer:
        assert json.load(answer) == {"healthy": True, "home": str(server.home), "pid": server.pid}


def test_env_is_for_shells_and_programs(server):
    lines = server.command("env").stdout.splitlines()
    script = "\n".join(lines) + "\necho $AIRFLOW_CONN_GOOGLE_CLOUD_DEFAULT"
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    assert json.loads(shown)["extra"] == {"project": "local-gcp"}
    assert set(server.client_env) == {line.split("=")[0].removeprefix("export ") for line in lines}


def test_of_two_that_start_at_once_one_serves(server):
    threads = [threading.Thread(target=server.up) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    deadline = time.monotonic() + 60
    while len(processes_of(server)) > 1 and time.monotonic() < deadline:
        time.sleep(0.1)  # the one that lost ends
    assert processes_of(server) == [server.pid]


def test_a_pid_file_that_names_another_program_is_stale(server):
    server.home.mkdir()
    (server.home / "server.pid").write_text(json.dumps({"pid": os.getpid(), "started": 1.0}))
    assert daemon.running(Home(server.home)) is None, "so `up` starts one"
    assert "was not running" in server.command("down").stdout  # and this test lives on


def test_a_port_that_somebody_took_is_named(server):
    port = int(server.client_env["LOCAL_GCP_URL"].rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)):
        refused = server.command("up", check=False)
    assert refused.returncode == 1
    assert f"Port {port} on 127.0.0.1" in refused.stderr
    assert f"process {os.getpid()} " in refused.stderr
    assert "endpoints.json" in refused.stderr


def test_another_programs_error_is_no_answer(server):
    port = int(server.client_env["LOCAL_GCP_URL"].rpartition(":")[2])

    class Refuses(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(503, "Service Unavailable")

    with http.server.HTTPServer(("127.0.0.1", port), Refuses) as other:
        threading.Thread(target=other.handle_request, daemon=True).start()
        refused = server.command("status", check=False)
    assert refused.returncode == 1
    assert "does not answer" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_the_foreground_server_ends_in_order(server, number):
    command = [sys.executable, "-m", "local_gcp", "--home", server.home]
    with (server.home.parent / "stderr").open("w+") as stderr:
        process = subprocess.Popen([*command, "up", "--foreground"], stderr=stderr)
        deadline = time.monotonic() + 60
        home = Home(server.home)
        while not home.endpoints():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        daemon.wait_healthy(home, process)  # `up` could start one of its own
        assert server.pid == process.pid
        process.send_signal(number)
        assert process.wait(60) == 0
        stderr.seek(0)
        assert "Traceback" not in stderr.read()


def test_help_teaches():
    shown = subprocess.run(
        [sys.executable, "-m", "local_gcp", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    commands = ("up", "env", "run", "status", "logs", "preempt", "fail", "down")
    for word in (*commands, "LOCAL_GCP_HOME", "loopback"):
        assert word in shown


@pytest.mark.slow
def test_a_project_and_regions_of_ones_own(server):
    assert "research-7" in server.command("up", "--project", "research-7").stdout
    assert server.client_env["GOOGLE_CLOUD_PROJECT"] == "research-7"
    assert server.status()["project"] == "research-7"
    server.down()
    refused = server.command("up", "--project", "research-8", check=False)
    assert "belongs to the project research-7" in refused.stderr
    server.up()  # keeps it
    assert server.status()["project"] == "research-7"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--project", "No"], "'No' is not a project ID"),
        (["--regions", "europe-west4,,"], "'' is not a region such as europe-west4"),
        (["--images", "/no/such/images.yaml"], "/no/such/images.yaml: No such file or directory"),
        (["--cores", "0"], "1 is the least"),
    ],
)
def test_a_bad_option_is_refused(tmp_path, monkeypatch, capsys, options, complaint):
    monkeypatch.setattr(os, "environ", os.environ.copy())  # where the options go
    assert main(["--home", str(tmp_path), "up", *options]) == 1
    assert complaint in capsys.readouterr().err
