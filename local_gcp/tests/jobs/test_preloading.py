"""Programs that begin as forks of a process with their libraries, with real processes."""

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from local_gcp.jobs import preloading
from local_gcp.jobs.attempts import Attempt
from local_gcp.jobs.images import Image

SLOW = """\
import os
print("imported by", os.getpid(), flush=True)
server = os.getpid()
"""
PROGRAM = """\
import os, sys, slow
print("forked" if slow.server != os.getpid() else "started anew", flush=True)
"""


@pytest.fixture
def image(tmp_path):
    """An image whose programs import the module `slow`, and print whether it was there already."""
    (tmp_path / "slow.py").write_text(SLOW)
    python = Path(sys.executable).parent
    yield Image("x", str(python), env={"PYTHONPATH": str(tmp_path)}, preload=["slow"])
    preloading.stop()


@pytest.fixture
def start(tmp_path, image):
    """start(program, *arguments, NAME=value): an attempt of that program in the image."""

    def start(program, *arguments, grace=5.0, **variables):
        number = len(list(tmp_path.glob("attempt-*"))) + 1
        (tmp_path / f"program_{number}.py").write_text(PROGRAM + program)
        attempt = Attempt(tmp_path / f"attempt-{number}")
        argv = ["python", "-m", f"program_{number}", *arguments]
        log = tmp_path / f"log-{number}"
        attempt.start(argv, {**image.environment(), **variables}, str(tmp_path), log, grace)
        return attempt

    return start


def lines(attempt):
    return attempt.folder.with_name(f"log-{attempt.folder.name[8:]}").read_text().splitlines()


def alive(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.fixture
def ended(until):
    return lambda attempt: until(attempt.poll)


def test_what_an_image_preloads_is_imported_once_for_all_its_programs(start, ended, capfd):
    attempts = [start("") for _ in range(3)]
    assert [ended(attempt).code for attempt in attempts] == [0, 0, 0]
    assert [lines(attempt) for attempt in attempts] == [["forked"]] * 3
    assert capfd.readouterr().out.count("imported by") == 1


def test_a_fork_has_its_own_arguments_variables_folder_and_exit_code(start, ended, tmp_path):
    attempt = start(
        "print(sys.argv[1:], os.environ['OWN'], os.getcwd(), __name__); sys.exit(7)", "a b", OWN="x"
    )
    assert ended(attempt).code == 7
    assert lines(attempt) == ["forked", f"['a b'] x {tmp_path} __main__"]


def test_an_exception_ends_a_fork_with_its_traceback_alone(start, ended):
    attempt = start("raise ValueError('no')")
    assert ended(attempt).code == 1
    assert lines(attempt)[-1] == "ValueError: no"
    assert "Forked" not in "\n".join(lines(attempt))


def test_a_signal_ends_a_fork_as_any_program(start, ended, until):
    attempt = start("import time; time.sleep(60)")
    until(lambda: attempt.pid and lines(attempt))
    os.kill(attempt.pid, signal.SIGKILL)
    assert ended(attempt).signal is signal.SIGKILL
    stopped = start("import time; time.sleep(60)")
    until(lambda: stopped.pid and lines(stopped))
    stopped.stop()
    assert (ended(stopped).signal, ended(stopped).stopped is not None) == (signal.SIGTERM, True)


def test_the_system_shows_a_forks_command_line(start, ended, until):
    attempt = start("import time; time.sleep(60)", "--epochs=3")
    until(lambda: attempt.pid and lines(attempt))
    shown = [word for word in psutil.Process(attempt.pid).cmdline() if word]
    assert shown == ["python", "-m", "program_1", "--epochs=3"]
    attempt.kill()


def test_a_forks_processes_end_with_its_shim(start, ended, until):
    attempt = start("import time; os.fork(); print(os.getpid(), flush=True); time.sleep(60)")
    until(lambda: attempt.pid and len(lines(attempt)) == 3)
    processes = [int(line) for line in lines(attempt)[1:]]
    attempt.kill()
    assert ended(attempt).lost
    assert not any(map(alive, processes))


def test_a_program_starts_anew_when_its_libraries_may_not_be_the_same(start, ended):
    assert ended(start("")).code == 0
    other = start("", TF_ENABLE_ONEDNN_OPTS="0")
    assert ended(other).code == 0
    assert lines(other)[-1] == "started anew"


def test_a_server_that_was_killed_is_replaced(start, ended, until):
    assert ended(start("")).code == 0
    (server,) = preloading._servers.values()
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: server.ended)
    attempt = start("")
    assert (ended(attempt).code, lines(attempt)) == (0, ["forked"])


def test_a_server_with_other_packages_is_replaced(start, ended, monkeypatch):
    assert ended(start("")).code == 0
    (before,) = preloading._servers.values()
    monkeypatch.setattr(preloading, "_packages", lambda python: before.packages + 1)
    assert ended(start("")).code == 0
    (after,) = preloading._servers.values()
    assert after.pid != before.pid


def test_a_module_that_cannot_be_imported_is_the_programs_to_report(start, ended, tmp_path):
    (tmp_path / "slow.py").write_text("raise RuntimeError('broken')")
    attempt = start("")
    assert ended(attempt).code == 1
    assert lines(attempt)[-1] == "RuntimeError: broken"


def test_a_folder_that_is_not_there_ends_a_fork_as_any_program(image, ended, tmp_path):
    attempt = Attempt(tmp_path / "attempt-1")
    log = tmp_path / "log-1"
    argv = ["python", "-m", "slow"]
    attempt.start(argv, image.environment(), str(tmp_path / "no"), log, 5)
    assert ended(attempt).code == 127
    assert f"cannot start python: [Errno 2] No such file or directory: '{tmp_path / 'no'}'" in (
        log.read_text()
    )
