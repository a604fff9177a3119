"""The command behind `make demo` and `make stop`.

python -m demo run     start what is not running, put the data into the bucket, run the DAG
python -m demo stop    end everything that was started
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import yaml
from rich.console import Console
from rich.live import Live

from demo import airflow_environment, progress, services
from demo.airflow_api import Airflow
from demo.places import ENVIRONMENT_FILE, LOGS, ROOT, program

DAG = "digits"
console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m demo",
        description="Run Trellis in full on this machine: a local Google Cloud, a real Airflow, "
        "and the digits experiment. Everything it writes lies below .local/.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run_parser = commands.add_parser(
        "run", help="start what is not running, and run the experiment"
    )
    run_parser.add_argument(
        "--conf",
        type=json.loads,
        default={},
        metavar="JSON",
        help="the run's Params, e.g. '{\"trials\": 4}'; the trigger form in the UI explains them",
    )
    commands.add_parser("stop", help="end everything that was started")
    arguments = parser.parse_args()
    if arguments.command == "stop":
        services.stop()
        say(
            "Stopped. `make demo` starts again where this left off; `make clean` removes the state."
        )
        return 0
    try:
        return run(arguments.conf)
    except (services.ServiceError, httpx.HTTPError) as error:
        console.print(str(error), style="red", markup=False)
        return 1


def run(params: dict) -> int:
    """Start, load, trigger, show; returns the exit code: 0 only if the DAG run succeeded."""
    began = time.monotonic()
    environment = services.start(say)
    platform = yaml.safe_load((ROOT / "dags" / "platform.yaml").read_text())
    _load_data(platform["bucket"], environment)
    airflow = _wait_for_airflow()
    say(f"Airflow answers at {airflow_environment.base_url()}")
    _wait_for_dag(airflow)
    airflow.unpause(DAG)
    run_id = f"demo__{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H-%M-%S}"
    airflow.trigger(DAG, run_id, params)
    say(f"Triggered DAG {DAG}, run {run_id}")
    last = _watch(airflow, run_id, environment["LOCAL_GCP_URL"], began)
    _say_why_failed(airflow, run_id)
    _farewell(run_id, platform["bucket"], Path(environment["GCS_ROOT"]))
    return 0 if last.state == "success" else 1


def say(line: str) -> None:
    console.print(line, markup=False)


def _load_data(bucket: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [program("trainer", "python"), "-m", "demo.digits_data", f"gs://{bucket}/digits/"],
        cwd=ROOT,
        # The Airflow variables would do no harm, but its PYTHONPATH is not the trainer's.
        env={**os.environ, **environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise services.ServiceError(f"The demo's images did not reach the bucket:\n{done.stderr}")
    say(done.stdout.strip())


def _wait_for_airflow(seconds: float = 180) -> Airflow:
    airflow = Airflow(
        airflow_environment.base_url(),
        airflow_environment.USER,
        airflow_environment.settings()["password"],
    )
    deadline = time.monotonic() + seconds
    while not airflow.healthy():
        if time.monotonic() > deadline:
            raise services.ServiceError(
                f"Airflow was not healthy after {seconds:.0f} s: see {LOGS}/airflow-*.log"
            )
        time.sleep(0.5)
    return airflow


def _wait_for_dag(airflow: Airflow, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while airflow.dag(DAG) is None:
        for error in airflow.import_errors():
            raise services.ServiceError(f"{error['filename']}:\n{error['stack_trace']}")
        if time.monotonic() > deadline:
            raise services.ServiceError(
                f"Airflow did not parse the DAG {DAG}: see {LOGS}/airflow-dag-processor.log"
            )
        time.sleep(0.5)


def _watch(airflow: Airflow, run_id: str, gcp: str, began: float) -> progress.Snapshot:
    """Show the run until it is over; returns how it ended."""
    order = airflow.task_order(DAG)
    before = None
    with Live(console=console, transient=False, auto_refresh=False) as live:
        while True:
            now = progress.snapshot(
                airflow.run(DAG, run_id), airflow.task_instances(DAG, run_id), _jobs(gcp), order
            )
            elapsed = time.monotonic() - began
            if console.is_terminal:
                live.update(progress.drawing(now, elapsed), refresh=True)
            else:
                for line in progress.news(before, now):
                    console.print(f"[{elapsed:6.1f} s] {line}", markup=False)
            if now.over:
                return now
            before = now
            time.sleep(1)


def _jobs(gcp: str) -> list[dict]:
    try:
        return httpx.get(f"{gcp}/local_gcp/status", timeout=10, trust_env=False).json()["jobs"]
    except httpx.TransportError:
        return []  # being restarted by its supervisor; the next look shows it again


def _say_why_failed(airflow: Airflow, run_id: str) -> None:
    for task in airflow.task_instances(DAG, run_id):
        if task["state"] == "failed":
            console.print(f"\n{task['task_id']} failed", style="bold red", markup=False)
            say(airflow.why_failed(DAG, task))


def _farewell(run_id: str, bucket: str, gcs: Path) -> None:
    folder = gcs / bucket / DAG / "runs" / run_id
    say("")
    if (board := folder / "leaderboard" / "leaderboard.json").exists():
        _print_leaderboard(json.loads(board.read_text()))
        say(f"Report        {folder / 'leaderboard' / 'report.html'}")
    password = airflow_environment.settings()["password"]
    url = f"{airflow_environment.base_url()}/dags/{DAG}/runs/{run_id}"
    say(f"Airflow UI    {url}")
    say(f"              user {airflow_environment.USER}, password {password}")
    say(f"TensorBoard   {program('trainer', 'tensorboard')} --logdir {folder / 'training'}")
    say(f"Logs          {LOGS}; jobs: python -m local_gcp logs JOB")
    say(f"Shell         . {ENVIRONMENT_FILE}   (airflow and Google's clients, against this run)")
    say("")
    say("`make stop` ends it all. `make demo` runs the experiment once more.")


def _print_leaderboard(board: dict) -> None:
    from rich.table import Table

    metrics = list(next(c for c in board["contenders"] if c["status"] == "ok")["metrics"])
    table = Table(box=None, header_style="bold")
    for heading in ("", "contender", *metrics):
        table.add_column(heading)
    for contender in board["contenders"]:
        champion = "*" if contender["name"] == board["champion"] else ""
        values = [
            f"{contender['metrics'][m]['value']:.4f}" if contender["status"] == "ok" else "failed"
            for m in metrics
        ]
        table.add_row(champion, contender["name"], *values)
    console.print(table)
    say("* champion")


if __name__ == "__main__":
    raise SystemExit(main())
