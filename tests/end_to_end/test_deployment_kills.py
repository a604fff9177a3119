"""kill -9 of every part, during every step of a deployment: nothing is served twice or not at all.

Each case is one deployment, in each of whose steps one part is killed, at a random moment of the
step (the seed is printed), while the endpoint is watched; over all cases, each part in each step.
In the end the run's model serves, or the one before does and the run says why; whatever happens,
traffic sums to 100 and goes to models that are deployed, nothing is left behind, and the run has
made one version.
"""

import itertools
import os
import random
import signal
import time

import psutil
import pytest

from testbed import redeployment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

STEPS = (
    *("register", "endpoint", "canary_10", "smoke_10", "shift_50", "smoke_50"),
    *("shift_100", "smoke_100", "champion", "undeploy", "retention"),
)
SMOKE = [step for step in STEPS if step.startswith("smoke")]
RUNNING = ("running", "deferred", "up_for_retry")
_numbers = itertools.count(1)


def supervised(program):
    """Finds a server by what supervisord started; while it is started again it has no process."""
    return lambda demo, task: demo.supervised_pid(program) or None


def task_process(demo, task):
    """The process that runs the task, while there is one."""
    try:
        airflow = "airflow" in " ".join(psutil.Process(task["pid"]).cmdline())
    except (psutil.NoSuchProcess, TypeError, ValueError):
        return None
    return task["pid"] if airflow and task["state"] == "running" else None


def model_server(demo, task):
    """A process that serves: the newest model's, which is the challenger's once there is one."""
    servers = demo.jobs("endpoint", "digits")
    servers.sort(key=lambda served: int(served["model"].rpartition("@")[2]))
    replicas = servers[-1]["replicas"] if servers else []
    return replicas[0]["pid"] if replicas else None


VICTIMS = {
    "model server": model_server,
    "local_gcp": supervised("local_gcp"),
    "scheduler": supervised("airflow:scheduler"),
    "triggerer": supervised("airflow:triggerer"),
    "task process": task_process,
}


def in_turn(first):
    """A victim for each step, beginning with the one numbered `first`."""
    names = list(VICTIMS)
    chosen = {step: names[(n + first) % len(names)] for n, step in enumerate(STEPS)}
    # A challenger that dies while it is tested may have failed its test: a case of its own.
    return {s: v for s, v in chosen.items() if not (s in SMOKE and v == "model server")}


CASES = {f"round {first}": in_turn(first) for first in range(len(VICTIMS))}
CASES["smoke"] = {"smoke_10": "model server"}


@pytest.mark.parametrize("case", CASES)
def test_a_deployment_survives_kills(case, demo, served_run):
    seed = os.environ.get("TRELLIS_KILL_SEED", str(time.time_ns()))
    print(f"TRELLIS_KILL_SEED={seed}")
    moments = random.Random(f"{seed} {case}")
    before, airflow = demo.serving(), demo.operator
    run = f"kills-{int(time.time())}-{next(_numbers)}"

    with demo.watched() as watch:
        folder = redeployment.start(airflow, served_run, run, before)
        for step, victim in CASES[case].items():
            task = wait_for_step(airflow, run, step)
            if task is None:
                print(f"{step} was not reached")
                break
            time.sleep(moments.uniform(0, 0.5))
            kill(demo, airflow, run, victim, task)
        state = airflow.wait("digits", run)
        settle(demo)

    record = redeployment.read(folder / "deployment.json")
    print(f"{run}: {state}, {record['state']}, {watch.looks} looks, {watch.changes}")
    assert watch.wrong == []
    made = [version for version in demo.versions() if version["run"] == run]
    assert len(made) == 1
    (served,) = demo.serving()["models"]
    assert served["traffic"] == 100
    assert "champion" in served["aliases"]
    if state == "success":
        assert (served["version"], record["state"]) == (made[0]["version"], "serving")
    else:
        assert (served["version"], record["state"]) == (before["models"][0]["version"], "retreated")
        assert record["reason"]
    # Nothing is left of what is not served.
    left = [job["model"].rpartition("@")[2] for job in demo.jobs("endpoint", "digits")]
    assert left == [served["version"]]
    assert len(demo.serving_processes()) == 1


def wait_for_step(airflow, run, step):
    """The task when it has begun; None if the deployment has been given up before it."""
    while True:
        tasks = {task["task_id"]: task for task in airflow.task_instances("digits", run)}
        task = tasks[f"deploy.{step}"]
        if task["state"] in RUNNING:
            return task
        if task["state"] in ("failed", "skipped", "upstream_failed"):
            return None
        if task["state"] == "success":
            return task  # too quick for a look: the kill comes right after it
        time.sleep(0.05)


def kill(demo, airflow, run, victim, task):
    """kill -9 of the victim, as soon as it is there."""
    deadline = time.monotonic() + 60
    while (pid := VICTIMS[victim](demo, task)) is None:
        assert time.monotonic() < deadline, f"no {victim} during {task['task_id']}"
        time.sleep(0.05)
        tasks = airflow.task_instances("digits", run)
        task = next(t for t in tasks if t["task_id"] == task["task_id"])
        if task["state"] == "success":
            print(f"{task['task_id']} ended before its process was seen")
            return
    os.kill(pid, signal.SIGKILL)
    print(f"{task['task_id']} ({task['state']}): killed the {victim}, pid {pid}")


def settle(demo, seconds=60):
    """Until whatever was killed last serves again."""
    deadline = time.monotonic() + seconds
    while True:
        replicas = [r for job in demo.jobs("endpoint", "digits") for r in job["replicas"]]
        if replicas and all(replica["state"] == "ready" for replica in replicas):
            return
        assert time.monotonic() < deadline, replicas
        time.sleep(0.5)
