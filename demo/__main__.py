"""The command behind `make demo`, `make up` and `make stop`.

python -m demo run     start what is not running, load the data, run the experiments
python -m demo up      start what is not running, load the data, run nothing
python -m demo stop    end everything that was started
"""

import argparse
import json
import shlex
import time
from concurrent.futures import Future, ThreadPoolExecutor

import httpx

from demo import airflow_environment, experiments, services, serving
from demo.airflow_api import Airflow
from demo.places import ENVIRONMENT_FILE, LOGS
from demo.screen import console, say

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 + SIGINT."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m demo",
        description="Run Trellis in full on this machine: a local Google Cloud, a real Airflow, "
        "and the experiments. It writes only below .local/.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run_parser = commands.add_parser(
        "run", help="start what is not running, and run the experiments, all at once"
    )
    run_parser.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help="which ones: "
        + ", ".join(experiments.DATA)
        + f", or any other of dags/experiments (default: {' and '.join(experiments.USUAL)})",
    )
    run_parser.add_argument(
        "--conf",
        type=json.loads,
        default={},
        metavar="JSON",
        help="the runs' Params, e.g. '{\"trials\": 4}'; the trigger form in the UI explains them",
    )
    commands.add_parser("up", help="start what is not running; run nothing")
    commands.add_parser("stop", help="end everything that was started")
    arguments = parser.parse_args()
    if arguments.command == "stop":
        services.stop()
        say(
            "Stopped. `make demo` starts again where this left off; `make clean` removes the state."
        )
        return 0
    for name in arguments.experiments if arguments.command == "run" else ():
        if name not in experiments.known():
            there = ", ".join(experiments.known())
            parser.error(f"no experiment {name!r} in dags/experiments; there are: {there}")
    try:
        if arguments.command == "up":
            return up()
        return run(arguments.experiments or list(experiments.USUAL), arguments.conf)
    except KeyboardInterrupt:
        say()
        say("Interrupted. What was started goes on, runs in Airflow too: `make stop` ends it all.")
        return INTERRUPTED
    except (services.ServiceError, httpx.HTTPError) as error:
        console.print(str(error), style="red", markup=False)
        return 1


def run(names: list[str], params: dict) -> int:
    """Start, load, trigger, show; returns the exit code: 0 only if all DAG runs succeeded."""
    began = time.monotonic()
    environment, airflow = _start(names)
    # All at once: while one run waits, another one computes.
    started = [experiments.trigger(name, params, airflow) for name in names]
    runs = experiments.follow(started, airflow, environment, began)
    served = serving.state(names, experiments.platform(), environment)
    for finished in runs:
        finished.show(served.get(finished.name))
    _print_addresses()
    return 0 if all(finished.succeeded for finished in runs) else 1


def up() -> int:
    """Start and load everything, and say how to go on; returns the exit code."""
    _start([name for name in experiments.DATA if experiments.has_data(name)])
    for name in experiments.DATA:
        if not experiments.has_data(name):
            say(f"{name}: its data come with its image, by `make demo EXPERIMENT={name}`")
    say()
    say(
        "An experiment is a DAG of its name. Unpause and trigger it there, or "
        "`make demo EXPERIMENT=patients`, which shows its progress and result; of your own, too."
    )
    _print_addresses()
    return 0


def _start(names: list[str]) -> tuple[dict[str, str], Airflow]:
    """Start what is not running, and load the data of these experiments: (environment, Airflow)."""
    services.prepare(say)
    with ThreadPoolExecutor(1) as beside:
        database = beside.submit(services.make_database, say)
        environment = services.start_cloud(say)
        started = beside.submit(_start_airflow, database)
        experiments.make_bucket(environment)
        for name in names:
            experiments.load_data(name, environment)
        started.result()
    airflow = _wait_for_airflow()
    say(f"Airflow answers at {airflow.base_url}")
    return environment, airflow


def _start_airflow(database: Future[None]) -> None:
    database.result()  # it may have failed
    services.start_airflow()


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


def _print_addresses() -> None:
    password = airflow_environment.settings()["password"]
    say()
    say(f"Airflow       user {airflow_environment.USER}, password {password}")
    say(f"Logs          {LOGS}; jobs: .venv/local_gcp/bin/local-gcp logs JOB")
    file = shlex.quote(str(ENVIRONMENT_FILE))
    say(f"Shell         . {file}   (airflow and Google's clients, against this run)")
    say()
    say("`make stop` ends everything. `make demo` runs the experiments, and again.")


if __name__ == "__main__":
    raise SystemExit(main())
