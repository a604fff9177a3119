"""kill -9 of the server in the middle of a study: no trial is lost, none runs twice."""

import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from local_gcp.state import State as Database
from local_gcp.vertex.tuning.store import Store
from local_gcp.vertex.tuning.trials import State

SERVER = Path(__file__).with_name("programs") / "tuning_process.py"
TRIALS = 8

# Notes that it was started and with what, then reports three measurements.
TRIAL = """
import json, os, sys, time
with open(sys.argv[0] + ".started", "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
for step in (1, 2, 3):
    time.sleep(0.15)
    with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "a") as file:
        entry = {"timestamp": time.time(), "accuracy": step / 10, "global_step": step}
        file.write(json.dumps(entry) + "\\n")
"""


@pytest.fixture
def server(home, tmp_path):
    """server(): the next server on the same home, once it is up."""
    program = tmp_path / "trial.py"
    program.write_text(TRIAL)
    processes = []

    def start():
        process = subprocess.Popen(
            [sys.executable, str(SERVER), str(home.root), str(program), str(TRIALS)],
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stdout.readline() == "up\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_study_survives_kills_at_random_moments(server, home, tmp_path):
    moments = random.Random(7)
    for _ in range(4):
        process = server()
        try:
            # Ends the wait at a random moment, unless the job is finished before.
            process.wait(moments.uniform(0, 0.6))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert server().stdout.readline() == "finished\n"

    database = Database(home.state)
    (job,) = Store(database).list()
    trials = Store(database).trials(job.name)
    database.close()
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert [trial.id for trial in trials] == [str(i + 1) for i in range(TRIALS)]
    assert {trial.state for trial in trials} == {State.SUCCEEDED}
    assert all([m.value for m in trial.measurements] == [0.1, 0.2, 0.3] for trial in trials)
    started = (tmp_path / "trial.py.started").read_text().splitlines()
    assert Counter(started) == Counter(f"{t.id} --x={t.parameters['x']}" for t in trials)
