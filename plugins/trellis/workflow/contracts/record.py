"""Records of the index of all runs: small, so that lists of runs need nothing else.

gs://BUCKET/_index/EXPERIMENT/
    runs/RUN.json          RunRecord: begun by `plan`, completed by `result`
    notes/RUN.json         NotesRecord: what people have written about a run
    rollbacks/RUN.json, reserves/RUN.json   champion_record.py
    predictions/RUN.json   prediction_record.py
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from trellis.workflow.contracts.index_document import Document, short
from trellis_contracts.approval import WAITING
from trellis_contracts.approval import Approval as ApprovalFile
from trellis_contracts.approval import State as ApprovalState
from trellis_contracts.deployment import SERVING
from trellis_contracts.deployment import Deployment as DeploymentFile
from trellis_contracts.leaderboard import Contender, Leaderboard
from trellis_contracts.plan import PlanFile


class Interval(Document):
    """A run's data interval, ISO 8601; None for a run without a logical date."""

    start: str | None
    end: str | None


class Deployment(Document):
    """The result of a deployment. model, previous: resource names with version. at: of the last
    step that counts, ISO 8601; None before the first.
    """

    model: str
    previous: str | None
    state: Literal["deploying", "serving", "retreated"]
    at: str | None
    reason: str | None


class Approval(Document):
    """Answer of the people who were asked whether the promoted training is deployed, other than
    "waiting". at: ISO 8601. by: who answered; None: nobody. why: the answer in a sentence.
    """

    state: ApprovalState
    at: str
    by: str | None
    why: str


class Scored(Document):
    """A contender with its score on the test split and the interval of that."""

    name: str
    value: float
    low: float
    high: float


class Result(Document):
    """The result of a run. value, low, high: of the winner's primary metric on the test split.

    title: of that metric, which says what is averaged. selected: the training that competed, and
    alone could be deployed; None if there was none. `first` and `served` say whose score is whose.
    failure: why the run failed in spite of its leaderboard. contenders_usd: at most, of trainings
    and baselines, as far as it is known. promoted: None if the run had nothing to deploy.
    actual_usd: what the run has cost by its jobs' own times, by stage, an estimate; None if it is
    not known. spot_savings_usd: what spot machines have saved of that; None if their prices are not
    known, or none were used. approval: None if nobody was asked, or the answer is open.
    """

    ended: str
    failure: str | None
    metric: str
    title: str
    goal: Literal["maximize", "minimize"]
    decimals: int
    winner: str
    value: float
    low: float
    high: float
    contenders_usd: float
    promoted: bool | None
    reason: str | None
    deployment: Deployment | None
    actual_usd: dict[str, float] | None
    spot_savings_usd: float | None
    selected: Scored | None
    approval: Approval | None = None

    @property
    def first(self) -> Scored:
        """The winner: first of the leaderboard."""
        return Scored(name=self.winner, value=self.value, low=self.low, high=self.high)

    @property
    def serves(self) -> bool:
        """True if this run put its selected training into service."""
        return self.deployment is not None and self.deployment.state == "serving"

    @property
    def served(self) -> Scored | None:
        """The training that the run put into service; None if there is none."""
        return self.selected if self.serves else None


class Failure(Document):
    """A task that has failed for good in a run without a result; of several, the last.

    at: ISO 8601. why: its cause, in lines. so_far_usd: what the jobs that had ended by then
    have cost, by stage, an estimate without baselines; None if it is not known.
    """

    at: str
    task: str
    why: str
    so_far_usd: dict[str, float] | None


class Note(BaseModel):
    """What a person has written about a run. at: ISO 8601. by: who; None where the machine does not
    know. name: of the run from then on; None: as before. text: empty beside a name alone.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    at: str
    by: str | None
    name: str | None
    text: str


class NotesRecord(Document):
    """All notes of a run, oldest first. They are added to, never replaced. folder: of the run."""

    format: Literal[1] = 1
    experiment: str
    folder: str
    notes: tuple[Note, ...] = ()


class RunRecord(Document):
    """One run of an experiment.

    uri: its folder. trigger: Airflow's type of the run; user: who triggered it; both None if the
    record was made from the run's files. at_most_usd: the limit that was checked against the
    budget. begun: when it was planned, ISO 8601; None in records made from files.
    result: None until the task `result` has run; failure: None from then on. notes: of the run's
    NotesRecord, oldest first; no part of the record itself.
    """

    format: Literal[1] = 1
    experiment: str
    uri: str
    run_id: str
    created: str
    data_interval: Interval
    trigger: str | None
    user: str | None
    owner: str
    task: str
    model: str
    tags: tuple[str, ...]
    source: str
    dataset: str
    at_most_usd: float
    begun: str | None = None
    result: Result | None = None
    failure: Failure | None = None
    notes: tuple[Note, ...] = Field(default=(), exclude=True)

    @property
    def name(self) -> str | None:
        """The name that a person has given the run last; None if it has none."""
        return next((note.name for note in reversed(self.notes) if note.name), None)

    @property
    def month(self) -> str:
        """Month in which the run cost money, as in "2026-05". A backfill is planned long after its
        day.
        """
        return (self.begun or self.created)[:7]

    @property
    def spent_usd(self) -> float | None:
        """Estimated cost of the run by its jobs' own times; None if that is not known."""
        actual = self.result.actual_usd if self.result else None
        return None if actual is None else sum(actual.values())

    @property
    def so_far_usd(self) -> float | None:
        """Cost so far; of a run that failed without a result, until its last failure."""
        if self.failure is None or self.failure.so_far_usd is None:
            return self.spent_usd
        return sum(self.failure.so_far_usd.values())

    @property
    def usd(self) -> float:
        """Cost, or the limit of cost where the cost is not known or may grow: a failed run may be
        cleared.
        """
        return self.at_most_usd if self.spent_usd is None else self.spent_usd

    @property
    def folder(self) -> str:
        """Name of the run's folder: unique within the experiment."""
        return self.uri.rstrip("/").rpartition("/")[2]

    @classmethod
    def planned(
        cls,
        plan: PlanFile,
        trigger: str | None = None,
        user: str | None = None,
        tags: Sequence[str] | None = None,
        begun: str | None = None,
    ) -> Self:
        """The record of a run that begins."""
        file = plan.configuration
        return cls(
            experiment=plan.experiment,
            uri=plan.run,
            run_id=plan.run_id,
            created=plan.created,
            data_interval=Interval(**plan.data_interval),
            trigger=trigger,
            user=user,
            owner=file["owner"],
            task=file["task"],
            model=file["model"],
            tags=tuple(sorted(tags if tags is not None else (file["model"], file["task"]))),
            source=short(plan.dataset.source),
            dataset=plan.dataset.fingerprint,
            at_most_usd=plan.cost["at_most_usd"],
            begun=begun,
        )

    def ended(
        self,
        board: Leaderboard,
        deployment: DeploymentFile | None,
        failure: str | None,
        at: str,
        actual_usd: Mapping[str, float] | None = None,
        spot_savings_usd: float | None = None,
        approval: ApprovalFile | None = None,
    ) -> Self:
        """Return the run with its result. deployment, approval: None if there was none."""
        metric = board.primary_metric
        score = board.first.metrics[metric]
        decision = board.promotion
        result = Result(
            ended=at,
            failure=short(failure) if failure else None,
            metric=metric,
            title=board.primary.title,
            goal=board.primary.goal,
            decimals=board.primary.decimals,
            winner=board.winner,
            value=score.value,
            low=score.low,
            high=score.high,
            contenders_usd=round(sum(c.cost_usd or 0 for c in board.contenders), 4),
            promoted=decision.promoted if decision else None,
            reason=short(decision.reason) if decision else None,
            deployment=_deployment(deployment) if deployment else None,
            actual_usd=dict(actual_usd) if actual_usd is not None else None,
            spot_savings_usd=spot_savings_usd,
            selected=_scored(board.selected, metric),
            approval=_approval(approval) if approval else None,
        )
        return self.model_copy(update={"result": result, "failure": None})


def _scored(contender: Contender | None, metric: str) -> Scored | None:
    score = contender.metrics.get(metric) if contender else None
    if contender is None or score is None:
        return None
    return Scored(name=contender.name, value=score.value, low=score.low, high=score.high)


def _approval(file: ApprovalFile) -> Approval | None:
    if file.state == WAITING or file.at is None:
        return None
    return Approval(state=file.state, at=file.at, by=file.by, why=short(file.summary))


def _deployment(file: DeploymentFile) -> Deployment:
    last = max((step["at"] for step in file.steps), default=None)
    return Deployment(
        model=file.model,
        previous=file.previous,
        state=file.state,
        at=file.time_of("champion") or last if file.state == SERVING else last,
        reason=short(file.reason) if file.reason else None,
    )
