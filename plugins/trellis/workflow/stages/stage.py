"""What there is to say about a stage, in one place: its module declares a `STAGE`.

assembly/chain.py orders the stages; the DAG, its page, its alerts, a dry run and the cost are made
by iterating over them. Commands read the stages without Airflow, and every parsing of a DAG file
pays for what they import: so a stage's module imports Airflow, Google's libraries, `lookups` and
operators only inside the functions that need them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machine
from trellis.workflow.spec.platform import Platform

if TYPE_CHECKING:
    from trellis.workflow.stages.run_jobs import RunJobs

Row = tuple[str, str]
"""A line of a list of stages: the stage's name there, and what it does."""

Usd = Mapping[str, float]
"""US dollars by stage, or by baseline."""


@dataclass(frozen=True)
class Tasks:
    """Airflow's tasks of a stage. Those of the stages before come before `first`, those of the
    stages after it come after `last`; each is a task, a list of tasks or a group of tasks.
    """

    first: Any
    last: Any


@dataclass(frozen=True)
class Building:
    """A DAG whose tasks are being made: what a stage makes its own from.

    stages: all of the chain. alert: Airflow's callback for a task that failed. made: the tasks of
    the stages before it in the chain, by stage; without those that the experiment does not have.
    """

    experiment: Experiment
    platform: Platform
    stages: "Sequence[Stage]"
    alert: Callable[[Any], None]
    made: dict[str, Tasks] = field(default_factory=dict)


FAILED_BASELINE = (
    "The run goes on: its leaderboard shows this baseline as failed. To include it, clear this "
    "task once the cause is fixed; its record and the comparison follow."
)
"""What to do when a task of a baseline has failed."""


def always(experiment: Experiment) -> bool:
    """Every experiment has the stage."""
    return True


def no_rows(*_: Any) -> Iterable[Row]:
    """The stage has no line of its own."""
    return ()


def nothing(*_: Any) -> Mapping[str, Any]:
    """The stage has nothing to add."""
    return {}


@dataclass(frozen=True)
class Stage:
    """One stage of the DAG of an experiment.

    name: as in the chain, and in costs. tasks: makes its tasks, within the DAG; what is not a
    `Tasks` is both first and last. advice: what to do when a task has failed, by task; a key that
    ends with a dot or an underscore is for all tasks whose names begin with it. when: whether an
    experiment has the stage; nothing below is asked of one that has not.

    page: its lines on the DAG's page, of an experiment and its platform. dry_run: its lines in a
    run that only plans, of a plan and its platform. at_most: US dollars that it may cost, of an
    experiment, its platform and the bytes that the source's query reads (0 if they are not known).
    assumes: what a bound of the cost is told to suppose. spent: US dollars that it has cost, of the
    run's jobs. spot: its jobs' spot machines, with their numbers, by stage. jobs: how many it has,
    by kind as in plan.json, of a plan.

    ends_run: tasks, or groups ending with a dot, for whose failure `result` fails the run: its own
    alert would say the same again. linked: whether its task of the same name links to the run's
    page.
    """

    name: str
    tasks: Callable[[Building], Any]
    advice: Mapping[str, str]
    when: Callable[[Experiment], bool] = always
    page: Callable[[Experiment, Platform], Iterable[Row]] = no_rows
    dry_run: Callable[[Plan, Platform], Iterable[Row]] = no_rows
    at_most: Callable[[Experiment, Platform, int], Usd] = nothing
    assumes: str = ""
    spent: "Callable[[RunJobs], Usd]" = nothing
    spot: Callable[[Experiment], Mapping[str, Sequence[tuple[Machine, int]]]] = nothing
    jobs: Callable[[Plan], Mapping[str, int]] = nothing
    ends_run: Sequence[str] = ()
    linked: bool = False
