"""A runner in this process, with real processes as jobs; short times."""

import sys
import time
from pathlib import Path

import psutil
import pytest

from local_gcp.home import Home
from local_gcp.jobs.run import Pool, Program, Spec
from local_gcp.jobs.runner import Runner
from local_gcp.state import State

PROGRAMS = Path(__file__).with_name("programs")


@pytest.fixture
def impatient(monkeypatch):
    """The waits of recovery and of stopping, shortened; their order is kept."""
    monkeypatch.setattr("local_gcp.jobs.runner.TICK", 0.02)
    monkeypatch.setattr("local_gcp.jobs.supervisor.GRACE", 2.0)
    monkeypatch.setattr("local_gcp.jobs.recovery.SETTLE", 0.5)
    monkeypatch.setattr("local_gcp.jobs.recovery.PRIMARY_HAS_THE_WORD", 2.0)


@pytest.fixture
def nothing_is_left(tmp_path):
    """No process of a job outlives its test."""
    yield
    left = processes_of(tmp_path)
    for process in left:
        process.kill()
    assert left == []


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    home.create()
    return home


@pytest.fixture
def make_runner(home, impatient):
    """Runners on the same home, one after the other, as after restarts of the server."""
    runners = []

    def make(**options):
        state = State(home.state)
        runner = Runner(home, state, {"GCS_ROOT": str(home.buckets)}, **{"cores": 4, **options})
        runner.start()
        runners.append(runner)
        return runner

    yield make
    for runner in runners:
        runner.stop()


@pytest.fixture
def runner(make_runner):
    return make_runner()


@pytest.fixture
def shell(tmp_path):
    """shell("exit 3", "sleep 1"): a Spec with one single-replica pool for each script."""

    def spec(*scripts, **options):
        environment = {"PATH": "/usr/bin:/bin"}
        pools = [
            Pool(Program(["/bin/sh", "-c", text], environment, str(tmp_path))) for text in scripts
        ]
        return Spec(pools, **options)

    return spec


@pytest.fixture
def peers():
    """peers(steps=20, workers=1): a distributed program, see programs/peers.py."""

    def spec(*, steps=20, workers=1, **options):
        argv = [sys.executable, "-I", "-S", str(PROGRAMS / "peers.py"), str(steps)]
        program = Program(argv, {}, "/")
        return Spec([Pool(program), Pool(program, workers)], **options)

    return spec


@pytest.fixture
def until():
    """until(condition): waits for it to hold, at most 30 s; returns its value."""

    def wait(condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            assert time.monotonic() < deadline, "it never came true"
            time.sleep(0.02)
        return value

    return wait


@pytest.fixture
def final(until):
    """final(runner, "1"): the run when it is over."""

    def wait(runner, run_id):
        until(lambda: runner.get(run_id).final)
        return runner.get(run_id)

    return wait


@pytest.fixture
def program_pid(until):
    """program_pid(runner, "1", 0): process id of a replica's program once it runs."""

    def wait(runner, run_id, replica=0):
        def pid():
            run = runner.get(run_id)
            return run.replicas and runner.replicas(run)[replica]["pid"]

        return until(pid)

    return wait


def processes_of(folder):
    """Processes of attempts below `folder`, and their shims."""
    found = []
    for process in psutil.process_iter():
        try:
            words = [*process.environ().values(), *process.cmdline()]
            if process.pid != psutil.Process().pid and any(str(folder) in word for word in words):
                found.append(process)
        except psutil.Error:
            continue
    return found
