"""Declaration of a stage: its module has a `STAGE` with all that there is to say about it.

assembly/chain.py orders the stages; the DAG, its page, its alerts, a dry run and the cost are made
by iterating over them. Commands read the stages without Airflow, and every parsing of a DAG file
pays for what they import: so a stage's module imports Airflow, Google's libraries, `lookups` and
operators only inside the functions that need them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

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

    stages: all of the chain. alert: Airflow's callback for a task that failed. tell:
    sends a message to people, called with a task's context and the text. made: the tasks of
    the stages before it in the chain, by stage; without those that the experiment does not have.
    """

    experiment: Experiment
    platform: Platform
    stages: "Sequence[Stage]"
    alert: Callable[[Any], None]
    tell: Callable[[Any, str], None]
    made: dict[str, Tasks] = field(default_factory=dict)


FAILED_BASELINE = (
    "The run goes on: its leaderboard shows this baseline as failed. To include it, clear this "
    "task once the cause is fixed; its record and the comparison follow."
)
"""Advice for a failed task of a baseline."""


def always(experiment: Experiment) -> bool:
    """`Stage.when` of a stage that every experiment has."""
    return True


def no_rows(*_: Any) -> Iterable[Row]:
    """`Stage.page` and `Stage.dry_run` of a stage without a line of its own."""
    return ()


def nothing(*_: Any) -> Mapping[str, Any]:
    """`Stage.at_most` and its like of a stage that has nothing to add."""
    return {}


@dataclass(frozen=True)
class Fleet:
    """Machines of Vertex AI that a stage uses at a time.

    setting: the section that asks for them, of the experiment's file, or as in "platform.yaml,
    compare". machines: with the number of each. spot: whether they are spot machines. queued:
    whether the Dynamic Workload Scheduler finds them. use: training or serving.
    """

    setting: str
    machines: Sequence[tuple[Machine, int]]
    spot: bool = False
    queued: bool = False
    use: Literal["training", "serving"] = "training"


def no_fleet(*_: Any) -> None:
    """`Stage.fleet` of a stage that uses no machines of Vertex AI by name."""
    return


@dataclass(frozen=True)
class Stage:
    """One stage of the DAG of an experiment; each field but the first four has a default.

    A function of an experiment or a plan is called only if that experiment has the stage.
    """

    name: str
    """Name in the chain and in costs."""
    where: str
    """Service that does the work: Airflow, BigQuery, Dataflow or Vertex AI."""
    tasks: Callable[[Building], Any]
    """Makes the stage's tasks within the DAG: a `Tasks`, or what is both its first and last."""
    advice: Mapping[str, str]
    """Advice for a failed task, by task. A key that ends with a dot or an underscore is for all
    tasks whose names begin with it."""
    when: Callable[[Experiment], bool] = always
    """Tells whether an experiment has the stage."""
    page: Callable[[Experiment, Platform], Iterable[Row]] = no_rows
    """Makes its lines on the DAG's page."""
    dry_run: Callable[[Plan, Platform], Iterable[Row]] = no_rows
    """Makes its lines in a run that only plans."""
    at_most: Callable[[Experiment, Platform, int], Usd] = nothing
    """Bounds its cost. The last argument: bytes that the source's query reads, 0 if they
    are not known yet."""
    assumes: str = ""
    """Part of the sentence that says what the limit of the cost supposes."""
    spent: "Callable[[RunJobs], Usd]" = nothing
    """Counts its cost until now."""
    fleet: Callable[[Experiment, Platform], Fleet | None] = no_fleet
    """Describes the machines of Vertex AI that it uses at a time, for quotas and savings."""
    jobs: Callable[[Plan], Mapping[str, int]] = nothing
    """Counts its jobs, by kind as in plan.json."""
    writes: Sequence[str] = ()
    """Names of its files, in the folder of the run or of the dataset."""
    ends_run: Sequence[str] = ()
    """Tasks, or groups ending with a dot, for whose failure `result` fails the run too: the alert
    of `result` would repeat theirs."""
    linked: bool = False
    """True if its task of the same name links to the run's page."""
