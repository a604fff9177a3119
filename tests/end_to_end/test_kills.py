"""kill -9 of every part while it works: the run still succeeds, and nothing is done twice.

Each case kills its victim once, at a random moment of a run's full training (the seed is printed).
The run must make exactly the planned jobs and lose no trial, and its weights must be, bit for bit,
those of the same training left alone.
"""

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PARAMS = {"trials": 2, "parallel": 2, "top": 1, "tune_epochs": 2}
# It goes on for longer than the moment of the kill is away, on fast machines, too.
PARAMS |= {"train_epochs": 90, "early_stopping_patience": 0}
PARAMS |= {"deploy": False}  # test_deployment_kills.py


def supervised(program):
    """Finds a server by what supervisord started."""

    def find(demo):
        return demo.supervised_pid(program)

    return find


def replica(kind):
    """Finds the process of a running replica of the full training."""

    def find(demo):
        for job in demo.jobs("custom"):
            for one in job["replicas"]:
                if "training/" in job["display_name"] and one["type"] == kind and one["pid"]:
                    return one["pid"]
        return None

    return find


VICTIMS = {
    "worker": replica("worker"),
    "chief": replica("chief"),
    "local_gcp": supervised("local_gcp"),
    "scheduler": supervised("airflow:scheduler"),
    "triggerer": supervised("airflow:triggerer"),
}


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("moment", range(3))
def test_a_run_survives_the_death_of(victim, moment, demo):
    seed = os.environ.get("TRELLIS_KILL_SEED", str(time.time_ns()))
    print(f"TRELLIS_KILL_SEED={seed}")
    before = {kind: names(demo, kind) for kind in ("tuning", "custom")}

    running = demo.command("run", "digits", "--conf", json.dumps(PARAMS))
    wait_for(lambda: replica("worker")(demo), seconds=300)
    time.sleep(random.Random(f"{seed} {victim} {moment}").uniform(0, 20))
    pid = wait_for(lambda: VICTIMS[victim](demo), seconds=30)
    os.kill(pid, signal.SIGKILL)
    print(f"killed {victim}, pid {pid}")
    out, _ = running.communicate(timeout=900)

    assert running.returncode == 0, out
    run = demo.runs()[-1]
    made = {kind: names(demo, kind) - before[kind] for kind in before}
    planned = read(run / "plan.json")["jobs"]
    assert {kind: len(made[kind]) for kind in made} == {kind: planned[kind] for kind in made}
    trials = read(run / "trials.json")["trials"]
    assert [trial["state"] for trial in trials] == ["SUCCEEDED"] * PARAMS["trials"]
    assert weights(run / "training" / "1") == weights(left_alone(demo, made["custom"]))


def names(demo, kind):
    return {job["name"] for job in demo.jobs(kind)}


def left_alone(demo, custom_jobs):
    """Return the results' folder of the run's training, submitted once more and not disturbed."""
    (training,) = [
        job["name"]
        for job in demo.jobs("custom")
        if job["name"] in custom_jobs and "training/" in job["display_name"]
    ]
    folder = f"undisturbed/{training.rpartition('/')[2]}"
    program = Path(__file__).with_name("rerun_training.py")
    demo.with_google_client(program, training, f"gs://{demo.bucket.name}/{folder}/")
    return demo.bucket / folder


def wait_for(look, seconds):
    deadline = time.monotonic() + seconds
    while (found := look()) is None:
        assert time.monotonic() < deadline, f"not seen within {seconds} s"
        time.sleep(0.5)
    return found


def read(path):
    return json.loads(path.read_text())


def weights(folder):
    return read(folder / "metrics.json")["weights_sha256"]
