"""Attempts and their shim, with real processes: ends, kills, and what a second server sees."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from local_gcp.jobs.attempts import Attempt

ENV = {"PATH": "/usr/bin:/bin"}


@pytest.fixture
def start(tmp_path):
    def start(script, grace=5.0):
        attempt = Attempt(tmp_path / "attempt-1")
        attempt.start(["/bin/sh", "-c", script], ENV, "/", tmp_path / "log", grace)
        return attempt

    return start


@pytest.fixture
def ended(until):
    def wait(attempt):
        return until(attempt.poll)

    return wait


def test_exit_code_and_both_outputs_are_kept(start, ended, tmp_path):
    attempt = start("echo out; echo err >&2; exit 7")
    assert ended(attempt).code == 7
    assert (tmp_path / "log").read_text() == "out\nerr\n"
    assert attempt.poll().code == 7  # and stays


def test_a_program_that_cannot_start_has_the_exit_code_of_a_shell(tmp_path, ended):
    attempt = Attempt(tmp_path / "a")
    attempt.start(["no-such-program"], ENV, "/", tmp_path / "log", 5)
    assert ended(attempt).code == 127
    assert "no-such-program" in (tmp_path / "log").read_text()


def test_a_signal_is_told_apart_from_an_exit_code(start, ended):
    assert ended(start("kill -9 $$")).signal is signal.SIGKILL


def test_the_signal_of_a_child_that_a_shell_reports_is_seen(start, ended):
    end = ended(start("sh -c 'kill -9 $$'; exit $?"))
    assert (end.code, end.signal) == (137, signal.SIGKILL)


@pytest.mark.parametrize("code", [1, 2, 127, 128, 255])
def test_plain_exit_codes_are_no_signals(start, ended, code):
    assert ended(start(f"exit {code}")).signal is None


def test_starting_twice_runs_once(start, ended, tmp_path):
    start("echo once; sleep 0.3")
    attempt = start("echo twice")
    assert ended(attempt).code == 0
    start("echo thrice")
    assert (tmp_path / "log").read_text() == "once\n"


def test_stop_lets_the_program_clean_up(start, ended, until, tmp_path):
    attempt = start("trap 'echo saved; exit 0' TERM; echo ready; sleep 60 & wait")
    log = tmp_path / "log"
    until(lambda: log.exists() and "ready" in log.read_text())
    attempt.stop()
    end = ended(attempt)
    assert (end.code, end.stopped is not None) == (0, True)
    assert (tmp_path / "log").read_text() == "ready\nsaved\n"


def test_a_program_that_does_not_heed_sigterm_is_killed_after_its_grace(start, ended, until):
    attempt = start("trap '' TERM; while :; do sleep 1; done", grace=0.3)
    until(lambda: attempt.pid)
    time.sleep(0.2)  # the trap is set
    attempt.stop()
    assert ended(attempt).signal is signal.SIGKILL


def test_grandchildren_end_with_the_program_even_in_sessions_of_their_own(start, ended, tmp_path):
    attempt = start(f"setsid sleep 61 & sleep 62 & echo $! > {tmp_path}/pid; exit 0")
    assert ended(attempt).code == 0
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))
    assert _sleepers(tmp_path) == []


def test_a_killed_shim_takes_its_program_along_and_counts_as_lost(start, ended, until, tmp_path):
    attempt = start("setsid sleep 63 & sleep 64")
    pid = until(lambda: attempt.pid)
    until(lambda: len(_sleepers(tmp_path)) == 2)
    os.kill(psutil.Process(pid).ppid(), signal.SIGKILL)
    assert ended(attempt).lost
    assert _sleepers(tmp_path) == []


def test_kill_ends_everything_at_once(start, ended, until, tmp_path):
    attempt = start("trap '' TERM; setsid sleep 65 & sleep 66")
    until(lambda: len(_sleepers(tmp_path)) == 2)
    attempt.kill()
    assert ended(attempt).lost
    assert _sleepers(tmp_path) == []


def test_an_attempt_that_nobody_started_is_lost(tmp_path):
    assert Attempt(tmp_path / "never").poll().lost


def test_it_outlives_the_process_that_started_it(tmp_path, until, ended):
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from local_gcp.jobs.attempts import Attempt\n"
        "a = Attempt(Path(sys.argv[1], 'a'))\n"
        "a.start(['/bin/sh', '-c', 'sleep 0.5; exit 5'], {}, '/', Path(sys.argv[1], 'log'), 5)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    dead = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert dead.returncode == -signal.SIGKILL
    attempt = Attempt(tmp_path / "a")
    assert attempt.poll() is None, "it should still run"
    attempt.start(["/bin/false"], {}, "/", tmp_path / "log", 5)
    assert ended(attempt).code == 5


def test_an_adopted_attempt_can_be_stopped(tmp_path, until, ended):
    code = (
        "import sys; from pathlib import Path; from local_gcp.jobs.attempts import Attempt\n"
        "Attempt(Path(sys.argv[1], 'a')).start(\n"
        "    ['/bin/sleep', '67'], {}, '/', Path(sys.argv[1], 'log'), 5)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    attempt = Attempt(tmp_path / "a")
    until(lambda: attempt.pid)
    attempt.stop()
    assert ended(attempt).signal is signal.SIGTERM


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root here")
def test_buckets_are_shown_at_gcs_to_the_program_only(tmp_path, ended):
    buckets = tmp_path / "buckets"
    (buckets / "b").mkdir(parents=True)
    (buckets / "b" / "o").write_text("hello")
    attempt = Attempt(tmp_path / "a")
    argv = ["/bin/sh", "-c", "cat /gcs/b/o; echo new > /gcs/b/p"]
    attempt.start(argv, ENV, "/", tmp_path / "log", 5, gcs_root=buckets)
    assert ended(attempt).code == 0
    assert (tmp_path / "log").read_text() == "hello"
    assert (buckets / "b" / "p").read_text() == "new\n"
    assert not os.path.exists("/gcs/b")


def test_where_gcs_cannot_be_shown_the_log_says_so_and_the_program_runs(tmp_path, ended):
    attempt = Attempt(tmp_path / "a")
    log = tmp_path / "log"
    attempt.start(["/bin/echo", "hello"], ENV, "/", log, 5, gcs_root=tmp_path / "missing")
    assert ended(attempt).code == 0
    note, hello = log.read_text().splitlines()
    assert note.startswith("local_gcp: no /gcs here (")
    assert note.endswith(f"use $GCS_ROOT, which is {tmp_path}/missing")
    assert hello == "hello"


def _sleepers(folder):
    found = []
    for process in psutil.process_iter():
        try:
            if process.name() == "sleep" and str(folder) in str(process.environ()):
                found.append(process)
        except psutil.Error:
            continue
    return found
