"""kill -9 of the server, at any moment: nothing is lost, nothing runs twice, nothing hangs."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from local_gcp.jobs.attempts import Attempt
from local_gcp.jobs.run import Ending, Run
from local_gcp.state import State

PROGRAM = Path(__file__).with_name("programs") / "runner_process.py"
UNTIL_GO = "while ! test -e go; do sleep 0.05; done"


@pytest.fixture
def server(home, tmp_path):
    """server({run: script}): a process to be killed, once it has taken on these runs."""
    processes = []

    def start(runs, cores=3):
        requests = tmp_path / "requests.json"
        requests.write_text(json.dumps(runs))
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(home.root), str(cores)],
            stdin=requests.open(),
            stdout=subprocess.PIPE,
        )
        processes.append(process)
        assert process.stdout.readline() == b"up\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def runs(home):
    state = State(home.state)
    try:
        return [Run.from_json(record) for _, record in state.table("runs", dict).list()]
    finally:
        state.close()


def test_a_server_that_dies_again_and_again_runs_everything_exactly_once(server, home):
    script = "echo start {n} >> journal; sleep 0.3; echo end {n} >> journal"
    wanted = {str(n): script.format(n=n) for n in range(10)}
    dice, kills = random.Random(1), 0
    process = server(wanted)
    while not all(run.final for run in runs(home)):
        time.sleep(dice.uniform(0.0, 0.4))
        kill(process)
        kills += 1
        process = server(wanted)
    lines = Counter((home.root / "journal").read_text().splitlines())
    assert {run.state for run in runs(home)} == {"succeeded"}
    assert lines == Counter({f"{what} {n}": 1 for n in wanted for what in ("start", "end")})
    assert kills > 2


def test_a_running_program_is_adopted_and_its_end_is_seen(server, home, make_runner, final, until):
    process = server({"1": f"{UNTIL_GO}; exit 5"})
    until(lambda: runs(home)[0].state == "running")
    kill(process)
    runner = make_runner()
    (home.root / "go").touch()
    assert "workerpool0-0 exited with a non-zero status of 5" in final(runner, "1").error["message"]
    assert runner.get("1").replicas[0].attempt == 1


def test_an_end_while_no_server_ran_is_seen_by_the_next(server, home, make_runner, final, until):
    process = server({"1": "sleep 0.3; echo done"})
    attempt = Attempt(home.jobs / "1/workerpool0-0/attempt-1")
    until(lambda: attempt.pid)
    kill(process)
    until(lambda: (attempt.folder / "exit.json").exists())
    assert final(make_runner(), "1").state == "succeeded"


def test_a_queued_run_starts_under_the_next_server(server, home, make_runner, final, until):
    process = server({"1": UNTIL_GO, "2": "echo second"}, cores=1)
    until(lambda: runs(home)[0].state == "running")
    kill(process)
    assert runs(home)[1].state == "queued"
    (home.root / "go").touch()
    runner = make_runner(cores=1)
    assert final(runner, "2").state == "succeeded"
    assert runner.get("1").replicas[0].attempt == 1


def test_a_program_and_its_shim_killed_while_no_server_ran_are_not_left_running(
    server, home, make_runner, final, until
):
    process = server({"1": "test -e again && exit 0; touch again; sleep 77"})
    attempt = Attempt(home.jobs / "1/workerpool0-0/attempt-1")
    pid = until(lambda: attempt.pid)
    until(lambda: (home.root / "again").exists())
    kill(process)
    shim = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(shim, signal.SIGKILL)
    runner = make_runner()
    run = final(runner, "1")
    assert (run.state, run.replicas[0].attempt, run.replicas[0].restarts) == ("succeeded", 2, 1)


def test_a_cancel_is_stored_when_it_returns(make_runner, shell, final, until):
    runner = make_runner()
    runner.submit("1", shell("sleep 60"))
    until(lambda: runner.get("1").state == "running")
    with runner.state.lock:  # the loop waits
        runner.cancel("1")
        assert runner.get("1").ending.then == "cancelled"
    assert final(runner, "1").state == "cancelled"


def test_a_stored_decision_is_carried_out_by_the_next_server(make_runner, shell, final, until):
    first = make_runner()
    first.submit("1", shell("sleep 60"))
    until(lambda: first.get("1").state == "running")
    with first.state.lock:  # as if it had died between the decision and the signal
        first._active.clear()
        run = first.get("1")
        run.state, run.ending = "cancelling", Ending("cancelled", time.time())
        first.state.table("runs", dict).put("1", run.to_json())
    assert final(make_runner(), "1").state == "cancelled"


def test_a_decision_to_restart_is_carried_out_by_the_next_server(
    make_runner, home, peers, final, until, program_pid
):
    first = make_runner()
    first.submit("1", peers(steps=60, spot=True))
    log = home.jobs / "1/workerpool0-0/log"
    until(lambda: log.exists() and "step 3\n" in log.read_text())
    with first.state.lock:  # the loop waits: as if the server had died right after storing it
        first.preempt("1")
        first._active.clear()
    second = make_runner()
    run = final(second, "1")
    assert (run.state, run.preemptions) == ("succeeded", 1)
    assert [replica.attempt for replica in run.replicas] == [2, 2]
    assert log.read_text().count("step 60\n") == 1


def test_a_worker_killed_while_no_server_ran_is_no_failure_of_the_survivors(
    make_runner, home, peers, final, until, program_pid
):
    first = make_runner()
    first.submit("1", peers(steps=40))
    log = home.jobs / "1/workerpool0-0/log"
    until(lambda: log.exists() and "step 3\n" in log.read_text())
    worker = program_pid(first, "1", 1)
    with first.state.lock:
        first._active.clear()  # nobody watches
    os.kill(worker, signal.SIGKILL)
    until(lambda: (log.parent / "attempt-1" / "exit.json").exists())
    run = final(make_runner(), "1")
    assert run.state == "succeeded", run.error
    assert [replica.restarts for replica in run.replicas] == [0, 1]
