"""Many runs through a real scheduler, with jobs that are over at once. 200 take about 20 minutes.

    PYTHONPATH=.:local_gcp/src .venv/airflow/bin/python benchmarks/runs.py [--runs 200]
    ... --runs 6 --experiments 500          are many experiments in the way of a few runs?
    ... --runs 100 --experiments 100 --trials 64 --poll 30        which calls do Google's APIs get?

An Airflow of its own, as Composer has it (Trellis from its wheel, LocalExecutor, four tasks at
once), and a local_gcp of its own, whose job image is the tests' stand-in for the trainer. All runs
are triggered together; each DAG has one run at a time. Measured is what Airflow and Trellis need
for themselves: the time until all DAGs are there, and that of the request behind the page that
lists them; tasks a minute, the time from the end of a run's task to the start of its next one, and
within it that of reading the DAG file; the memory of each part with its children over time, and the
calls of Google's APIs, in all and in the minute with most of each kind. Fails unless every run
succeeded with exactly its planned jobs.
"""

import argparse
import itertools
import json
import os
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import httpx
import psutil

from local_gcp.testing import LocalGcp
from testbed.installed_airflow import InstalledAirflow

ROOT = Path(__file__).resolve().parents[1]
BUCKET = "many-runs"
SAMPLE_SECONDS = 10
OVER = ("success", "failed", "skipped", "upstream_failed")
ENVIRONMENTS = {
    name: ROOT / f".venv/{name}/bin/python" for name in ("airflow", "trainer", "local_gcp")
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200, help="how many in all (default: 200)")
    parser.add_argument(
        "--experiments", type=int, default=20, help="of how many DAGs (default: 20)"
    )
    parser.add_argument("--trials", type=int, default=2, help="of each search (default: 2)")
    parser.add_argument(
        "--poll", type=int, default=1, help="seconds between two looks at a job (default: 1)"
    )
    flags = parser.parse_args()
    os.environ["LOCAL_GCP_LOG_LEVEL"] = "DEBUG"  # every call is in its log
    os.environ["LOCAL_GCP_IMAGES"] = (
        f"{ROOT / 'tests/trellis/images.yaml'}:{ROOT / 'demo/images.yaml'}"
    )
    # Not below pytest's or the user's folders: Airflow's log paths are long.
    home = Path(tempfile.mkdtemp(prefix="trellis-runs-"))
    google = LocalGcp(home / "gcp", ENVIRONMENTS)
    airflow = None
    try:
        google.up()
        make_data(google.buckets)
        airflow = InstalledAirflow(home, google.client_env)
        say("installing Airflow and the wheel")
        airflow.install()
        names = write_experiments(airflow.dags, flags.experiments, flags.trials, flags.poll)
        airflow.start()
        begun = time.monotonic()
        airflow.wait(f"{len(names)} DAGs", lambda: dags(home) == len(names), seconds=1200)
        print(f"{len(names)} DAGs were there {time.monotonic() - begun:.0f} s after Airflow")
        print(f"the list of DAGs, 50 of them: {listing(airflow):.0f} ms (median of 9)")
        names = names[: flags.runs]
        for name in names:
            airflow.unpause(name)
        say(f"{flags.runs} runs of {len(names)} experiments begin")
        for number in range(flags.runs):
            trigger(airflow, names[number % len(names)], f"run-{number:04}")
        samples = watch(airflow, flags.runs)
        report(home, samples)
        report_calls(home / "gcp" / "server.log")
        return check(home, google, flags.runs)
    finally:
        if airflow:
            airflow.stop()
        google.down()
        if not os.environ.get("TRELLIS_KEEP"):
            shutil.rmtree(home, ignore_errors=True)


def dags(home: Path) -> int:
    """DAGs of the experiments that Airflow has serialized."""
    with closing(sqlite3.connect(f"file:{home / 'airflow/airflow.db'}?mode=ro", uri=True)) as base:
        query = "SELECT count(DISTINCT dag_id) FROM serialized_dag WHERE dag_id LIKE 'many-%'"
        return base.execute(query).fetchone()[0]


def listing(airflow: InstalledAirflow) -> float:
    """Milliseconds of the request behind the page of DAGs."""
    times = []
    for _ in range(9):
        start = time.perf_counter()
        airflow.api._get("/ui/dags?limit=50&dag_runs_limit=14")
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def trigger(airflow: InstalledAirflow, name: str, run_id: str) -> None:
    """Trigger a run, again if SQLite was locked, which is this Airflow's database and not a
    production one's. A run that is there already stays as it is.
    """
    for left in reversed(range(30)):
        try:
            airflow.api.trigger(name, run_id)
            return
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.INTERNAL_SERVER_ERROR or not left:
                raise
            time.sleep(1)


def make_data(buckets: Path) -> None:
    """A manifest of images that nobody reads."""
    (buckets / BUCKET).mkdir()
    lines = (f"gs://{BUCKET}/{n}.png,{n % 2}\n" for n in range(20))
    (buckets / BUCKET / "manifest.csv").write_text("".join(lines))


def write_experiments(dags: Path, count: int, trials: int, poll: int) -> list[str]:
    """Write experiments in place of the group's: as digits, not served, with one training after the
    trials.
    """
    text, _, _ = (dags / "experiments/digits.yaml").read_text().partition("\ndeploy:")
    for old, new in {
        "images: digits/manifest.csv": "images: manifest.csv",
        "trials: 6": f"trials: {trials}",
        "budget: 2 USD": f"budget: {2 * trials} USD",
        "top: 2": "top: 1",
        "workers: 2": "workers: 1",
    }.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    for file in (dags / "experiments").iterdir():
        file.unlink()
    names = [f"many-{number:03}" for number in range(count)]
    for name in names:
        (dags / f"experiments/{name}.yaml").write_text(text)
    platform = dags / "platform.yaml"
    values = platform.read_text().replace("bucket: trellis-local", f"bucket: {BUCKET}")
    assert "poll_seconds: 1 " in values
    values = values.replace("poll_seconds: 1 ", f"poll_seconds: {poll} ")
    registry = "registry: us-central1-docker.pkg.dev/local-gcp/trellis"
    assert registry in values
    platform.write_text(values.replace(registry, "registry: example.com/stand-in"))
    return names


def watch(airflow: InstalledAirflow, runs: int) -> list[dict]:
    """Samples until all runs are over: seconds, tasks that are over, runs by state, MB by part."""
    samples, begun = [], time.monotonic()
    while True:
        tasks, states = counts(airflow.home)
        samples.append(
            {
                "seconds": time.monotonic() - begun,
                "tasks": tasks,
                "runs": states,
                "memory": {part: memory(one.pid) for part, one in airflow._processes.items()},
            }
        )
        over = states["success"] + states["failed"]
        if len(samples) % 6 == 1:
            say(f"{samples[-1]['seconds']:6.0f} s: {over} of {runs} runs, {tasks} tasks")
        if over == runs:
            return samples
        if airflow.ended():
            raise SystemExit(f"{airflow.ended()} ended:\n{airflow.last_lines(airflow.ended()[0])}")
        time.sleep(SAMPLE_SECONDS)


def counts(home: Path) -> tuple[int, Counter]:
    """Tasks that are over, and runs by state, from Airflow's database."""
    with closing(sqlite3.connect(f"file:{home / 'airflow/airflow.db'}?mode=ro", uri=True)) as base:
        marks = ",".join("?" * len(OVER))
        found = base.execute(f"SELECT count(*) FROM task_instance WHERE state IN ({marks})", OVER)
        (tasks,) = found.fetchone()
        return tasks, Counter(dict(base.execute("SELECT state, count(*) FROM dag_run GROUP BY 1")))


def memory(pid: int) -> float:
    """MB of a process with its children; of pages that they share each process's part (PSS)."""
    total = 0
    try:
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            try:
                total += one.memory_full_info().pss
            except psutil.Error:
                continue
    except psutil.Error:
        return 0.0
    return total / 2**20


def report(home: Path, samples: list[dict]) -> None:
    """Print the tables."""
    end = samples[-1]
    print(f"\n{end['tasks']} tasks in {end['seconds']:.0f} s: {rate(samples[0], end):.0f} a minute")
    print("\n| part of the time | tasks a minute | " + " | ".join(end["memory"]) + " (MB) |")
    print("|---|---|" + "---|" * len(end["memory"]))
    quarter = max(1, len(samples) // 4)
    for number in range(4):
        part = samples[number * quarter : (number + 1) * quarter + 1]
        if len(part) < 2:
            continue
        cells = [
            f"{statistics.median(s['memory'][name] for s in part):.0f}" for name in end["memory"]
        ]
        print(f"| quarter {number + 1} | {rate(part[0], part[-1]):.0f} | {' | '.join(cells)} |")
    gaps = between(home)
    print(
        "\nfrom the end of a task to the start of the next one of its run: median "
        f"{statistics.median(gaps):.1f} s, 90th percentile "
        f"{statistics.quantiles(gaps, n=10)[-1]:.1f} s"
    )
    times = reading(home)
    print(
        f"reading the DAG file at the {len(times)} starts of tasks (dag_file_parse_ms): median "
        f"{statistics.median(times):.0f} ms, 90th percentile "
        f"{statistics.quantiles(times, n=10)[-1]:.0f} ms"
    )


def report_calls(log: Path) -> None:
    """Print how often each kind of call was made, from local_gcp's log."""
    minutes: dict[str, Counter[str]] = {}
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            before, found, text = line.partition(" call: ")
            if found:
                minutes.setdefault(kind(json.loads(text)), Counter())[before[:16]] += 1
    print("\n| call | in all | in its busiest minute |\n|---|---|---|")
    for name, counted in sorted(minutes.items(), key=lambda item: -item[1].total()):
        print(f"| {name} | {counted.total():,} | {max(counted.values()):,} |")


def kind(call: dict) -> str:
    """Name the kind of a call, without the names of its resources."""
    if "rpc" in call:
        return call["rpc"].rpartition(".")[2]
    host, path = call["host"].partition(".")[0], call["url"].partition("?")[0]
    service = {"127": "storage"}.get(host, host)
    if "/dataflow/" in path or "dataflow" in host:
        service = "dataflow"
    elif "/bigquery/" in path or "bigquery" in host:
        service = "bigquery"
    elif "/storage/" in path or "storage" in host:
        service = "storage"
    return f"{service}: {call['method']}"


def rate(first: dict, last: dict) -> float:
    return 60 * (last["tasks"] - first["tasks"]) / max(1e-9, last["seconds"] - first["seconds"])


def between(home: Path) -> list[float]:
    """Seconds between tasks that follow one another in a run."""
    with closing(sqlite3.connect(f"file:{home / 'airflow/airflow.db'}?mode=ro", uri=True)) as base:
        rows = base.execute(
            "SELECT run_id || dag_id, julianday(start_date) * 86400, julianday(end_date) * 86400 "
            "FROM task_instance WHERE start_date IS NOT NULL AND end_date IS NOT NULL ORDER BY 1, 2"
        ).fetchall()
    return [
        max(0.0, start - before)
        for (run, _, before), (other, start, _) in itertools.pairwise(rows)
        if run == other
    ]


def reading(home: Path) -> list[int]:
    """Milliseconds in which tasks have read the DAG file at their start, from their logs."""
    return [
        int(found[1])
        for log in (home / "airflow").rglob("attempt=*.log")
        for found in re.finditer(r'"dag_file_parse_ms": ?(\d+)', log.read_text(errors="replace"))
    ]


def check(home: Path, google: LocalGcp, runs: int) -> int:
    """1, and what is wrong, unless all runs succeeded with their planned jobs."""
    _, states = counts(home)
    plans = google.buckets.glob(f"{BUCKET}/*/runs/*/plan.json")
    planned = sum((Counter(json.loads(plan.read_text())["jobs"]) for plan in plans), Counter())
    created = Counter(job["kind"] for job in google.status()["jobs"])
    print(f"\nruns: {dict(states)}; jobs made: {dict(created)}; planned: {dict(planned)}")
    good = states == {"success": runs} and all(created[kind] == planned[kind] for kind in planned)
    print("all runs succeeded, with exactly their planned jobs" if good else "NOT as planned")
    return int(not good)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
