"""What each stage of a run is doing, how long it took in earlier runs, and what is left.

Airflow's database has the times of all tasks. A stage is a task, or the tasks of one group.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import select

EARLIER = 10
"""Successful runs before this one that say how long a stage takes: enough for a median, few enough
that they are of about the same data.
"""

_WAITING = (None, "scheduled")
_DONE = ("success", "skipped")
_ASKS = "awaiting_input"
_FAILED = ("failed", "upstream_failed")


@dataclass(frozen=True)
class Span:
    """One task of a run. start, end: None before. state: Airflow's; None: not scheduled yet."""

    task: str
    state: str | None
    start: datetime | None
    end: datetime | None


@dataclass(frozen=True)
class Stage:
    """A stage of a run. state: waiting, running, waits for a person, done, skipped or failed.
    seconds: that it has taken, so far or in all; None before. usual: median seconds of earlier
    runs; None: unknown.
    """

    name: str
    state: str
    seconds: float | None
    usual: float | None

    @property
    def left(self) -> float | None:
        """Seconds that it takes on, if it takes as long as usually."""
        if self.state != "running" or self.usual is None or self.seconds is None:
            return None
        return max(0.0, self.usual - self.seconds)


@dataclass(frozen=True)
class Stages:
    """The stages of a run in their order. left: seconds until the run ends by `earlier` runs before
    it; None: unknown, or it has ended. at_least: whether the stage that decides takes longer than
    usually, so that only the time after it is known.
    """

    stages: tuple[Stage, ...]
    left: float | None
    at_least: bool
    earlier: int


def load_stages(dag_id: str, run_id: str) -> Stages | None:
    """The stages of a run; None if Airflow does not know it, or no longer."""
    with create_session() as session:
        found = DagRun.dag_id == dag_id, DagRun.run_id == run_id
        began = session.scalar(select(DagRun.start_date).where(*found))
        if began is None:
            return None
        before = session.scalars(
            select(DagRun.run_id)
            .where(DagRun.dag_id == dag_id, DagRun.state == "success", DagRun.start_date < began)
            .order_by(DagRun.start_date.desc())
            .limit(EARLIER)
        ).all()
        rows = session.execute(
            select(
                TaskInstance.run_id,
                TaskInstance.task_id,
                TaskInstance.state,
                TaskInstance.start_date,
                TaskInstance.end_date,
            ).where(TaskInstance.dag_id == dag_id, TaskInstance.run_id.in_([run_id, *before]))
        ).all()
    spans: dict[str, list[Span]] = defaultdict(list)
    for run, task, state, start, end in rows:
        spans[run].append(Span(task, state and str(state), start, end))
    return stages(spans[run_id], [spans[run] for run in before], datetime.now(UTC))


def stages(own: Sequence[Span], earlier: Sequence[Sequence[Span]], now: datetime) -> Stages:
    """The stages of a run. own: its tasks. earlier: the tasks of each run before it."""
    known = [_times(run) for run in earlier]
    grouped: dict[str, list[Span]] = defaultdict(list)
    for span in own:
        grouped[_stage(span.task)].append(span)
    found = [_made(name, spans, known, now) for name, spans in grouped.items()]
    starts = {
        name: min(filter(None, (s.start for s in g)), default=None) for name, g in grouped.items()
    }
    return Stages(
        tuple(sorted(found, key=lambda stage: _place(stage.name, starts[stage.name], known))),
        *_left(found, known),
        len(earlier),
    )


def _stage(task: str) -> str:
    return task.partition(".")[0]


Times = Mapping[str, tuple[float, float]]
"""Start and end of each stage that ran, in seconds since the first of a run started."""


def _times(run: Iterable[Span]) -> Times:
    ran = [
        (_stage(span.task), span.start, span.end)
        for span in run
        if span.start and span.end and span.state == "success"
    ]
    if not ran:
        return {}
    first = min(start for _, start, _ in ran)
    grouped: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, start, end in ran:
        grouped[name].append(((start - first).total_seconds(), (end - first).total_seconds()))
    return {
        name: (min(start for start, _ in spans), max(end for _, end in spans))
        for name, spans in grouped.items()
    }


def _made(name: str, spans: Sequence[Span], earlier: Sequence[Times], now: datetime) -> Stage:
    states = [span.state for span in spans]
    if any(state in _FAILED for state in states):
        state = "failed"
    elif all(state == "skipped" for state in states):
        state = "skipped"
    elif all(state in _DONE for state in states):
        state = "done"
    elif all(state in _WAITING for state in states):
        state = "waiting"
    elif any(state == _ASKS for state in states):
        state = "waits for a person"  # how long, earlier answers do not tell
    else:
        state = "running"
    starts = [span.start for span in spans if span.start]
    ends = [span.end for span in spans if span.end]
    seconds = None
    if starts and state not in ("waiting", "skipped"):
        end = max(ends) if ends and state in ("done", "failed") else now
        seconds = (end - min(starts)).total_seconds()
    took = [times[name][1] - times[name][0] for times in earlier if name in times]
    return Stage(name, state, seconds, median(took) if took else None)


def _place(name: str, start: datetime | None, earlier: Sequence[Times]) -> tuple[bool, float, str]:
    """Those that have started come first, then the others as earlier runs had them."""
    if start:
        return False, start.timestamp(), name
    usual = [times[name][0] for times in earlier if name in times]
    return True, median(usual) if usual else float("inf"), name


def _left(found: Sequence[Stage], earlier: Sequence[Times]) -> tuple[float | None, bool]:
    """What is left of the stage that goes on, and what came after it in earlier runs; whether that
    stage is beyond its usual time.
    """
    left = []
    for stage in found:
        if stage.left is None:
            continue
        after = [
            max(end for _, end in times.values()) - times[stage.name][1]
            for times in earlier
            if stage.name in times
        ]
        left.append((stage.left + median(after), stage.left == 0))
    return max(left, default=(None, False))
