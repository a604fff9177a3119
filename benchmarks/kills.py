"""Random kill -9 of every part over whole runs of both demo experiments: half an hour to an hour.

    PYTHONPATH=. .venv/airflow/bin/python benchmarks/kills.py [--kills 40] [--seed 1]

Runs the demo's two experiments one after the other, as `make demo` does but smaller, in a folder of
their own. Meanwhile one part after the other is killed at a random moment: the scheduler, the
triggerer, the dag-processor, the api-server, the process of a running task, or local_gcp.
supervisord starts the servers again, Airflow the tasks. Prints what was killed when, and what ran
then; and of each run, whether it succeeded with exactly its planned jobs, all trials and an intact
leaderboard. Fails if one did not.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import psutil

from testbed.local_run import Demo

EXPERIMENTS = {
    "digits": {"trials": 2, "parallel": 2, "top": 1, "tune_epochs": 2, "train_epochs": 12},
    "breast-cancer": {"trials": 2, "parallel": 2, "top": 1, "tune_epochs": 2, "train_epochs": 20},
}
SERVERS = {
    "scheduler": "airflow:scheduler",
    "triggerer": "airflow:triggerer",
    "dag-processor": "airflow:dag-processor",
    "api-server": "airflow:api-server",
    "local_gcp": "local_gcp",
}
TASK = "task"
_OF_TASK = re.compile(r"airflow worker -- [0-9a-f-]{36}")
PAUSE_SECONDS = (8.0, 25.0)
"""Between two kills. A task has three retries: without a pause, one task could lose them all."""


class Killer(threading.Thread):
    """Kills until it is stopped, or has killed so many."""

    def __init__(self, demo: Demo, chance: random.Random, most: int):
        super().__init__(daemon=True)
        self.demo, self.chance, self.most = demo, chance, most
        self.done: list[tuple[str, float, str]] = []
        self.begun = time.monotonic()
        self.enough = threading.Event()

    def run(self) -> None:
        while len(self.done) < self.most:
            if self.enough.wait(self.chance.uniform(*PAUSE_SECONDS)):
                return
            victim = self.chance.choice([*SERVERS, TASK])
            going_on = ", ".join(running_tasks(self.demo)) or "no task"
            if self.kill(victim):
                self.done.append((victim, time.monotonic() - self.begun, going_on))

    def kill(self, victim: str) -> bool:
        """Return whether there was such a process."""
        try:
            if victim == TASK:
                pid = self.chance.choice(sorted(one.pid for one in task_processes(self.demo)))
            else:
                pid = self.demo.supervised_pid(SERVERS[victim])
            os.kill(pid, signal.SIGKILL)
        except (IndexError, ProcessLookupError, ValueError, psutil.Error, OSError):
            return False
        return pid > 0


def task_processes(demo: Demo) -> list[psutil.Process]:
    """The processes that execute tasks: below the scheduler, titled with the id of a task."""
    scheduler = psutil.Process(demo.supervised_pid(SERVERS["scheduler"]))
    return [
        process
        for process in scheduler.children(recursive=True)
        if _OF_TASK.fullmatch(" ".join(process.cmdline()).strip())
    ]


def running_tasks(demo: Demo) -> list[str]:
    """Tasks that are running or deferred, by Airflow's database."""
    database = demo.local / "airflow/airflow.db"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as base:
        found = base.execute(
            "SELECT DISTINCT task_id || CASE state WHEN 'deferred' THEN ' (deferred)' ELSE '' END "
            "FROM task_instance WHERE state IN ('running', 'deferred') ORDER BY 1"
        )
        return [name for (name,) in found]


def run(demo: Demo, name: str, chance: random.Random, most: int) -> tuple[Killer, list[str]]:
    """One run under fire: the killer, and what is wrong."""
    before = {job["name"] for job in demo.jobs()}
    running = demo.command("run", name, "--conf", json.dumps(EXPERIMENTS[name]))
    killer = Killer(demo, chance, most)
    output: list[str] = []
    for line in running.stdout:
        output.append(line)
        if "plan: " in line and not killer.is_alive():
            killer.start()
    code = running.wait(timeout=1800)
    killer.enough.set()
    return killer, wrong(demo, name, before, code, output)


def wrong(demo: Demo, name: str, before: set[str], code: int, output: list[str]) -> list[str]:
    """List deviations from the plan."""
    if code:
        return [f"the run failed: {''.join(output[-15:])}"]
    folder = demo.runs(name)[-1]
    plan, trials, board = (
        json.loads((folder / file).read_text())
        for file in ("plan.json", "trials.json", "leaderboard/leaderboard.json")
    )
    found = []
    created = Counter(job["kind"] for job in demo.jobs() if job["name"] not in before)
    if any(created[kind] != count for kind, count in plan["jobs"].items()):
        found.append(f"jobs made {dict(created)}, planned {plan['jobs']}")
    if states := {trial["state"] for trial in trials["trials"]} - {"SUCCEEDED"}:
        found.append(f"trials ended as {states}")
    if failed := [c["name"] for c in board["contenders"] if c["status"] != "ok"]:
        found.append(f"failed on the leaderboard: {failed}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    local = Path(tempfile.mkdtemp(prefix="trellis-kills-"))
    demo, chance = Demo(local), random.Random(flags.seed)
    demo.replace_images([])
    kills, runs, bad = 0, 0, 0
    print("| run | second | killed | tasks at that moment |\n|---|---|---|---|")
    verdicts = []
    try:
        while kills < flags.kills:
            name = list(EXPERIMENTS)[runs % len(EXPERIMENTS)]
            killer, problems = run(demo, name, chance, flags.kills - kills)
            runs += 1
            kills += len(killer.done)
            for victim, second, tasks in killer.done:
                print(f"| {runs}, {name} | {second:.0f} | {victim} | {tasks} |", flush=True)
            bad += bool(problems)
            verdicts.append(f"run {runs}, {name}: {'; '.join(problems) or 'as planned'}")
            print(verdicts[-1], file=sys.stderr, flush=True)
    finally:
        demo.command("stop").communicate(timeout=180)
        if not os.environ.get("TRELLIS_KEEP"):
            shutil.rmtree(local, ignore_errors=True)
    print("\n" + "\n".join(verdicts))
    print(f"\n{kills} kills in {runs} runs, seed {flags.seed}; {runs - bad} runs as planned")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
