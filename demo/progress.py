"""Output in the terminal during a run.

`Snapshot` joins Airflow's state of the tasks with local_gcp's state of the jobs. A terminal
redraws it several times a minute; elsewhere `news` prints a plain line for each change.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

FINISHED = {"success", "failed", "skipped", "upstream_failed", "removed"}
WORDS = {
    None: "waiting",
    "scheduled": "waiting",
    "queued": "starting",
    "deferred": "running",
    "up_for_retry": "waiting for a retry",
    "up_for_reschedule": "waiting for another start",
    "upstream_failed": "not reached",
    "success": "done",
}
# The label of an experiment's endpoint.
EXPERIMENT = "trellis-experiment"
# The label of a job that a task has started: the DAG's id, which is a label as it is.
DAG = "airflow-dag"
# Lines that TensorFlow's C++ parts and local_gcp's launcher log before the program's own output.
NOISE = re.compile(r"[IWEF]\d{4} |local_gcp: ")
# How many characters of a job's last line are shown.
LINE = 120
STYLES = {
    "done": "green",
    "ready": "green",
    "running": "cyan",
    "failed": "bold red",
    "not reached": "red",
}


@dataclass(frozen=True)
class Stage:
    """One task of the run; a mapped task has one stage per index."""

    name: str
    state: str

    @property
    def active(self) -> bool:
        return self.state not in ("waiting", "done", "skipped", "not reached")


@dataclass(frozen=True)
class Work:
    """A trial, or a replica of a job or of a deployed model: its state and latest figures.

    key: distinguishes work of the same name, as jobs may have.
    """

    key: str
    name: str
    state: str
    latest: str


@dataclass(frozen=True)
class Snapshot:
    """The state of a run at one moment."""

    state: str
    stages: list[Stage] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return self.state in ("success", "failed")


def snapshot(run: dict, tasks: list[dict], jobs: list[dict], order: list[str]) -> Snapshot:
    """Join a DAG run and its task instances (Airflow) with its experiment's work (local_gcp): the
    jobs started since, and the models that its endpoint serves.

    `order` lists the task ids as the DAG chains them.
    """
    position = {task_id: n for n, task_id in enumerate(order)}
    tasks = sorted(tasks, key=lambda t: (position.get(t["task_id"], 99), t["map_index"]))
    stages = [Stage(_task_name(t), WORDS.get(t["state"], t["state"])) for t in tasks]
    started = run["start_date"] or ""
    mine = sorted((j for j in jobs if _belongs(j, run["dag_id"], started)), key=_age)
    return Snapshot(run["state"], stages, [w for job in mine for w in _work(job)])


def news(before: Snapshot | None, now: Snapshot) -> Iterator[str]:
    """A line for everything that changed between two snapshots."""
    known = {s.name: s.state for s in before.stages} if before else {}
    for stage in now.stages:
        if stage.state not in ("waiting", known.get(stage.name)):
            yield f"{stage.name}: {stage.state}"
    seen = {w.key: w for w in before.work} if before else {}
    for work in now.work:
        if work != seen.get(work.key):
            yield f"  {work.name}: {work.state} {work.latest}".rstrip()


def drawing(runs: Mapping[str, Snapshot], seconds: float) -> RenderableType:
    """The runs drawn for a terminal, which has room for one in full: the first that goes on, or the
    last. Of each other there is a line.

    runs: by their experiments' names.
    """
    full = next((name for name, now in runs.items() if not now.over), [*runs][-1])
    clock = Text(f"{seconds // 60:.0f}:{seconds % 60:02.0f}", "bold")
    others = [Text(_line(name, now)) for name, now in runs.items() if name != full]
    head = Text(f"{full} is {runs[full].state}", "bold")
    return Group(clock, *others, head, *_whole(runs[full]))


def _line(name: str, now: Snapshot) -> str:
    active = ", ".join(stage.name for stage in now.stages if stage.active and not now.over)
    return f"{name} is {now.state}" + (f": {active}" if active else "")


def _whole(now: Snapshot) -> Iterator[RenderableType]:
    """Every stage, and the work of those that go on."""
    stages = Table.grid(padding=(0, 2))
    for stage in now.stages:
        stages.add_row(Text(stage.name), Text(stage.state, STYLES.get(stage.state, "")))
    yield stages
    if not now.work:
        return
    # Names and states are shown in full; a long last line is cut.
    work = Table(box=None, header_style="dim", padding=(0, 2, 0, 0), expand=True)
    work.add_column("job", no_wrap=True, min_width=max(len(w.name) for w in now.work))
    work.add_column("state", no_wrap=True, min_width=max(len(w.state) for w in now.work))
    work.add_column("latest", no_wrap=True, ratio=1)
    for item in now.work:
        state = item.state.lower()
        work.add_row(item.name, Text(state, STYLES.get(state, "")), Text(item.latest, "dim"))
    yield Text()
    yield work


def _task_name(task: dict) -> str:
    if task["map_index"] < 0:
        return task["task_id"]
    return f"{task['task_id']} [{task.get('rendered_map_index') or task['map_index']}]"


def _belongs(job: dict, dag: str, started: str) -> bool:
    """Return whether a job is the run's: of its DAG, and not older. While it is queued, none is.

    dag: the id of the run's DAG, the experiment's name with the group's prefix.
    """
    labels = job["labels"]
    if job["kind"] == "endpoint":
        return EXPERIMENT in labels and dag.endswith(labels[EXPERIMENT])
    own = labels.get(DAG) == dag
    return own and bool(started) and _same_clock(job["create_time"]) >= _same_clock(started)


def _work(job: dict) -> Iterator[Work]:
    if job["kind"] == "tuning":
        for trial in job["trials"]:
            name = f"trial {trial['id']}"
            yield Work(f"{job['name']} {name}", name, _state(trial), _measured(trial))
        return
    if job["kind"] == "endpoint":
        yield from _serving(job)
        return
    name = job["display_name"]
    if not job.get("replicas"):
        yield Work(job["name"], name, _state(job), "")
        return
    for replica in job["replicas"]:
        place = f" {replica['type']}:{replica['index']}" if len(job["replicas"]) > 1 else ""
        status = _shortened(replica["last_line"] or "")
        yield Work(job["name"] + place, name + place, _state(replica), status)


def _serving(deployed: dict) -> Iterator[Work]:
    """`serving digits@3 replica:0  ready  10% of the requests`, or its log line during startup."""
    model = deployed["model"].rpartition("/")[2]
    for replica in deployed["replicas"]:
        name = f"serving {model} replica:{replica['index']}"
        ready = replica["state"] == "ready"
        share = f"{deployed['traffic']}% of the requests"
        status = share if ready else _shortened(replica["last_line"] or "")
        yield Work(f"{deployed['name']} {replica['index']}", name, replica["state"], status)


def _shortened(line: str) -> str:
    return "" if NOISE.match(line) else textwrap.shorten(line, LINE, placeholder=" ...")


def _state(item: dict) -> str:
    return item["state"].lower().removeprefix("job_state_")


def _measured(trial: dict) -> str:
    """`learning_rate=0.01 ...  accuracy 0.912 (epoch 3)`: parameters, then the last measurement."""
    parameters = " ".join(
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in trial["parameters"].items()
    )
    last = [
        f"{m} {points[-1][1]:.4f} (epoch {points[-1][0]})"
        for m, points in trial["metrics"].items()
        if points
    ]
    return "  ".join([*last, parameters])


def _age(job: dict) -> str:
    return job["create_time"]


def _same_clock(timestamp: str) -> str:
    """ISO times from two programs, comparable as text to the second."""
    return timestamp[:19]
