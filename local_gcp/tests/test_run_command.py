"""`local-gcp run`: a server for one command."""

import json
import shlex
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from local_gcp.run_command import Command

# What a command sees: the status document, and which home it is.
LOOK = """
import json, os, urllib.request
status = urllib.request.urlopen(os.environ["LOCAL_GCP_URL"] + "/local_gcp/status")
print(json.dumps({**json.load(status), "proxy": os.environ["https_proxy"]}))
"""


@pytest.fixture
def server(new_local_gcp):
    return new_local_gcp()


def test_one_that_is_up_stays_up(local_gcp):
    pid = local_gcp.pid
    local_gcp.command("run", sys.executable, "-c", LOOK)
    assert local_gcp.pid == pid
    assert local_gcp.status()["healthy"]


def test_a_temporary_one_leaves_nothing(server, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    options = ("--temporary", "--project", "research-7")
    seen = json.loads(server.command("run", *options, "--", sys.executable, "-c", LOOK).stdout)
    assert seen["project"] == "research-7"
    assert Path(seen["home"]).is_relative_to(tmp_path)
    assert not Path(seen["home"]).exists()
    assert not server.home.exists()
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(seen["endpoints"]["http"])  # it was stopped


def test_the_exit_code_is_the_commands(local_gcp):
    codes = [
        local_gcp.command("run", "--", *command, check=False).returncode
        for command in (["false"], ["sh", "-c", "kill -9 $$"], ["/no/such"])
    ]
    assert codes == [1, 137, 127]


def test_nothing_to_run_is_refused_before_a_server_starts(server):
    refused = server.command("run", check=False)
    assert "Usage: local-gcp run" in refused.stderr
    assert not server.home.exists()


@pytest.fixture
def start():
    """Starts a shell script below `local-gcp run`."""

    def start(server, script: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "local_gcp", "--home", str(server.home), "run", "--"]
        return subprocess.Popen([*command, "sh", "-c", script], stdout=subprocess.PIPE, text=True)

    return start


def test_a_server_is_started_and_sigterm_ends_the_command_and_then_the_server(server, start):
    look = shlex.join([sys.executable, "-c", LOOK])
    process = start(server, f"trap 'echo ended; exit 3' TERM; {look}; while :; do sleep 0.1; done")
    seen = json.loads(process.stdout.readline())
    assert seen["home"] == str(server.home)
    assert seen["proxy"] == seen["endpoints"]["proxy"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 3
    assert process.stdout.read() == "ended\n"
    assert "was not running" in server.command("down").stdout


def test_sigterm_in_the_commands_first_moment_too(local_gcp, start):
    script = "trap 'exit 3' TERM; kill -TERM $PPID; while :; do sleep 0.1; done"
    assert start(local_gcp, script).wait(60) == 3


def test_sigterm_before_the_command_keeps_it_from_starting():
    with Command(["/no/such"]) as command:  # which would be an error
        signal.raise_signal(signal.SIGTERM)  # while the server is being started
        assert command.run({}) == 128 + signal.SIGTERM


def test_the_commands_own_python_path_is_kept(local_gcp, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/mine")
    show = "import os; print(os.environ['PYTHONPATH'])"
    path = local_gcp.command("run", "--", sys.executable, "-c", show).stdout.strip().split(":")
    assert path[1:] == ["/mine"]
