"""The demo's experiments: their data into the local Google Cloud, and one run of each."""

import datetime
import json
import os
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import yaml
from rich.live import Live
from rich.table import Table

from demo import progress, services, serving
from demo.airflow_api import Airflow
from demo.places import LOGS, ROOT, program
from demo.screen import console, say

DATA = {
    "digits": ("demo.digits_data", "gs://{bucket}/digits/"),
    "breast-cancer": ("demo.breast_cancer_data", "{project}.research.breast_cancer"),
    "diabetes": ("demo.diabetes_data", "{project}.research.diabetes"),
    "neighbours": ("demo.breast_cancer_data", "{project}.research.breast_cancer"),
    "gradient-boosting": ("demo.breast_cancer_data", "{project}.research.breast_cancer"),
    "few-rows": ("demo.breast_cancer_data", "{project}.research.breast_cancer"),
    "heartbeats": ("demo.heartbeats_data", "{project}.research.heartbeats"),
    "lesions": ("demo.lesions_data", "gs://{bucket}/lesions/ {project}.research.lesions"),
    "patients": ("demo.patients_data", "{project}.research.visits"),
    "survival": ("demo.survival_data", "{project}.research.recurrence"),
    "torch-digits": ("demo.digits_data", "gs://{bucket}/digits/"),
    "boosted-trees": ("demo.diabetes_data", "{project}.research.diabetes"),
    "cells": ("demo.cells_data", "gs://{bucket}/cells/"),
    "cassava": ("demo.cassava_data", "gs://{bucket}/cassava/"),
    "cats-vs-dogs": ("demo.cats_vs_dogs_data", "gs://{bucket}/cats-vs-dogs/"),
    "chest-xrays": ("demo.chest_xrays_data", "gs://{bucket}/chest-xrays/"),
}
"""The experiments: which module loads the data, and where to, its arguments."""

BY_IMAGE = ("survival",)
"""Experiments whose data come with an image of the same name, which `make demo` installs for an
experiment that it runs."""

USUAL = ("digits", "breast-cancer")
"""The experiments of `make demo`, in the order of their runs: they use most of Trellis."""


EXPERIMENTS = ROOT / "dags" / "experiments"
IMAGES = ROOT / ".venv" / "images"


def known() -> list[str]:
    """The experiments that can be run: the demo's, and those whose files lie beside them."""
    own = sorted(file.stem for file in EXPERIMENTS.glob("*.yaml"))
    return [*DATA, *(name for name in own if name not in DATA)]


@dataclass(frozen=True)
class StartedRun:
    """A run that was triggered: of the experiment `name`, in the DAG `dag`."""

    name: str
    dag: str
    run_id: str


@dataclass(frozen=True)
class FinishedRun:
    """A finished run. folder: its files in the bucket. url: its page in the Airflow UI."""

    name: str
    succeeded: bool
    folder: Path
    url: str

    def show(self, served: dict | None) -> None:
        """Leaderboard, decision, what the endpoint serves (None: there is none), and the rest."""
        say()
        console.print(
            f"{self.name} {'succeeded' if self.succeeded else 'failed'}", style="bold", markup=False
        )
        board = self._read("leaderboard", "leaderboard.json")
        if board:
            for part in _leaderboard(board, console.width):
                console.print(part)
            passed_over = any(map(_passed_over, board["contenders"]))
            say("* winner" + ("   - not selected by the validation split" if passed_over else ""))
            serving.show_decision(board)
        if record := self._read("deployment.json"):
            serving.show_deployment(record)
        if served:
            serving.show_endpoint(served)
        if board:
            say(f"Report        {self.folder / 'leaderboard' / 'report.html'}")
        say(f"Airflow UI    {self.url}")
        if any((self.folder / name).exists() for name in ("tuning", "training")):
            command = [program("trainer", "tensorboard"), "--logdir", str(self.folder)]
            say(f"TensorBoard   {shlex.join(command)}")
        if served and served["models"]:
            self._show_how_to_ask(served)

    def _show_how_to_ask(self, served: dict) -> None:
        """Show how to query the model with this run's examples: they fit any model that is
        served.
        """
        if challenger := self._read("leaderboard", "challenger.json"):
            region, endpoint = platform()["region"], served["endpoint"]
            serving.show_how_to_ask(self.name, region, endpoint, challenger)

    def _read(self, *path: str) -> dict | None:
        """A document of the run; None if the run did not write it."""
        file = self.folder.joinpath(*path)
        return json.loads(file.read_text()) if file.exists() else None


def make_bucket(environment: dict[str, str]) -> None:
    """Create the group's bucket, as a person would once; does nothing if it exists."""
    group = platform()
    answer = httpx.post(
        f"{environment['LOCAL_GCP_URL']}/storage/v1/b",
        params={"project": group["project"]},
        json={"name": group["bucket"], "location": group["region"]},
        trust_env=False,
    )
    if answer.status_code != httpx.codes.CONFLICT:
        answer.raise_for_status()


def has_data(name: str) -> bool:
    """Return whether `load_data` finds the data: whether the image that brings them is there."""
    return name not in BY_IMAGE or (IMAGES / name / ".ready").exists()


def load_data(name: str, environment: dict[str, str]) -> None:
    """Load a demo's data where its file expects them; does nothing if they exist, or of any other
    experiment.
    """
    if name not in DATA:
        return
    module, place = DATA[name]
    done = subprocess.run(
        [program("trainer", "python"), "-m", module, *place.format_map(platform()).split()],
        cwd=ROOT,
        # Airflow's other variables do no harm, but its PYTHONPATH is not the trainer's.
        env={**os.environ, **environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise services.ServiceError(f"The data of {name} could not be loaded:\n{done.stderr}")
    say(done.stdout.strip())


def trigger(name: str, params: dict, airflow: Airflow) -> StartedRun:
    """Trigger the experiment's DAG, once Airflow has it."""
    dag = f"{platform().get('dag_prefix') or ''}{name}"
    _wait_for_dag(airflow, dag)
    airflow.unpause(dag)
    earlier = airflow.unfinished(dag)
    run_id = f"demo__{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H-%M-%S}"
    airflow.trigger(dag, run_id, params)
    say(f"Triggered DAG {dag}, run {run_id}")
    if earlier:
        say(f"It begins after {', '.join(earlier)}: an experiment's runs take turns.")
    return StartedRun(name, dag, run_id)


def follow(
    runs: Sequence[StartedRun], airflow: Airflow, environment: dict[str, str], began: float
) -> list[FinishedRun]:
    """Show runs until all have ended.

    `began`: time.monotonic() at which the clock on the screen started.
    """
    last = _watch(runs, airflow, environment["LOCAL_GCP_URL"], began)
    bucket = Path(environment["GCS_ROOT"]) / platform()["bucket"]
    finished = []
    for run in runs:
        for task in airflow.task_instances(run.dag, run.run_id):
            if task["state"] == "failed":
                failed = f"\n{run.name}: {task['task_id']} failed"
                console.print(failed, style="bold red", markup=False)
                say(airflow.why_failed(run.dag, task))
        folder = bucket / run.name / "runs" / run.run_id
        url = f"{airflow.base_url}/dags/{run.dag}/runs/{run.run_id}"
        finished.append(FinishedRun(run.name, last[run].state == "success", folder, url))
    return finished


def platform() -> dict:
    """Google's names for the whole group: dags/platform.yaml."""
    return yaml.safe_load((ROOT / "dags" / "platform.yaml").read_text())


def _wait_for_dag(airflow: Airflow, name: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    begun = datetime.datetime.now(datetime.UTC)
    while airflow.dag(name) is None:
        for error in airflow.import_errors(since=begun):
            raise services.ServiceError(f"{error['filename']}:\n{error['stack_trace']}")
        if time.monotonic() > deadline:
            raise services.ServiceError(
                f"Airflow did not parse the DAG {name}: see {LOGS}/airflow-dag-processor.log"
            )
        time.sleep(0.5)


def _watch(
    runs: Sequence[StartedRun], airflow: Airflow, gcp: str, began: float
) -> dict[StartedRun, progress.Snapshot]:
    """Show the runs until all have ended; returns their final states."""
    orders = {run: airflow.task_order(run.dag) for run in runs}
    last: dict[StartedRun, progress.Snapshot] = {}
    with (
        Live(console=console, transient=False, auto_refresh=False) as live,
        httpx.Client(base_url=gcp, timeout=10, trust_env=False) as local_gcp,
    ):
        while True:
            elapsed = time.monotonic() - began
            jobs = _jobs(local_gcp)
            for run in runs:
                before = last.get(run)
                if before and before.over:
                    continue
                state = airflow.run(run.dag, run.run_id)
                tasks = airflow.task_instances(run.dag, run.run_id)
                last[run] = progress.snapshot(state, tasks, jobs, orders[run])
                if not console.is_terminal:
                    for line in progress.news(before, last[run]):
                        say(f"[{elapsed:6.1f} s] {run.name}  {line}")
            if console.is_terminal:
                shown = {run.name: last[run] for run in runs}
                live.update(progress.drawing(shown, elapsed), refresh=True)
            if all(now.over for now in last.values()):
                return last
            # Each look is three requests, which compute beside the runs.
            time.sleep(2)


def _jobs(local_gcp: httpx.Client) -> list[dict]:
    try:
        return local_gcp.get("/local_gcp/status").json()["jobs"]
    except httpx.TransportError:
        return []  # its supervisor is restarting it; the next poll shows it again


def _leaderboard(board: dict, width: int) -> Iterator[Table]:
    """Contenders by metric, under the metrics' full names: these say what is averaged. Several
    tables where one is wider than the screen, so that no figure is cut. width: in characters.
    """
    names = max(len(contender["name"]) for contender in board["contenders"])
    left = width - names - 5
    part: list[tuple[str, list[str]]] = []
    for name, metric in board["metrics"].items():
        figures = [_figure(contender, name) for contender in board["contenders"]]
        chance = metric["chance"]
        column = metric["title"], [*figures, "-" if chance is None else f"{chance:.4f}"]
        own = _width(*column) + 2
        if part and own > left:
            yield _part(board, part)
            part, left = [], width - names - 5
        part.append(column)
        left -= own
    yield _part(board, part)


def _figure(contender: dict, metric: str) -> str:
    if contender["status"] != "ok":
        return "failed"
    return f"{contender['metrics'][metric]['value']:.4f}" if metric in contender["metrics"] else "-"


def _width(title: str, figures: list[str]) -> int:
    """Characters of a column. Each word of its title may be a line."""
    return max(map(len, (*title.split(), *figures)))


def _passed_over(contender: dict) -> bool:
    """Whether it is a training that does not compete: it is listed last, whatever it scores."""
    return contender["selected"] is False and contender["status"] == "ok"


def _part(board: dict, columns: list[tuple[str, list[str]]]) -> Table:
    """A table. columns: title, and a figure of each contender and of chance."""
    table = Table(box=None, header_style="bold")
    table.add_column("")
    table.add_column("contender", no_wrap=True)
    for title, figures in columns:
        table.add_column(title, width=_width(title, figures))
    *rows, chance = zip(*(figures for _, figures in columns), strict=True)
    for contender, row in zip(board["contenders"], rows, strict=True):
        passed_over = "-" if _passed_over(contender) else ""
        mark = "*" if contender["name"] == board["winner"] else passed_over
        table.add_row(mark, contender["name"], *row)
    table.add_row("", "chance", *chance, style="dim")
    return table
