"""History of the served versions, and the costs of runs by month."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trellis.results.index import Index
from trellis.workflow.contracts.prediction_record import PredictionRecord
from trellis.workflow.contracts.record import Result, RunRecord, Scored


@dataclass(frozen=True)
class Change:
    """A version that became the champion, gave up, or was not wanted.

    at: ISO 8601. version, before: numbers; version: None if it was not registered, before: None if
    there was none. how: "promoted", "retreated" (it was undeployed again), "rolled back", "served
    anew" (by another image), or, of a promoted training that was not deployed, "rejected",
    "expired" or "overtaken". run: folder of the run that promoted it, None if a person put it into
    service. user: None for a schedule; who answered, of what was not deployed. result: of the run
    that trained the version.
    """

    at: str
    experiment: str
    version: str | None
    before: str | None
    how: str
    why: str
    run: str | None
    user: str | None
    result: Result | None = None

    @property
    def changed(self) -> bool:
        """Whether a champion may have changed: not of a training that was not deployed."""
        return self.version is not None

    @property
    def score(self) -> Scored | None:
        """Score of the version in the run that trained it; None if it is not known."""
        return self.result.selected if self.result else None


@dataclass(frozen=True)
class Predicted:
    """A batch prediction. promoted: score of its model in the run that trained it, on that run's
    test split, by the metric of the later labels; None if it is not known. title, decimals: of that
    metric.
    """

    record: PredictionRecord
    promoted: Scored | None
    title: str
    decimals: int

    @property
    def later(self) -> Scored | None:
        """Score by the labels that have arrived since; None if there are none, or too few."""
        return self.record.performance.score if self.record.performance else None


@dataclass(frozen=True)
class Month:
    """at_most_usd: the limits of its runs together. spent_usd: their cost as far as it is known: by
    their jobs' own times, or else of their trainings and baselines. Failed runs count with their
    cost so far.
    """

    month: str
    runs: int
    at_most_usd: float
    spent_usd: float


def served(index: Index) -> list[Change]:
    """Every change of a champion by runs, rollbacks and images, and every promoted training that
    people did not let become one, newest first.

    What people change in the Google Cloud console is not recorded.
    """
    changes = [*_deployments(index.runs)]
    trained = {(change.experiment, change.version): change.result for change in changes}
    changes += _not_wanted(index.runs)
    for champion in reversed(index.champions):
        version = number(champion.version)
        before = number(champion.before) if champion.before else None
        if champion.image is not None and before is not None:
            # The same training under another number.
            trained[champion.experiment, version] = trained.get((champion.experiment, before))
        changes.append(
            Change(
                at=champion.at,
                experiment=champion.experiment,
                version=version,
                before=before,
                how="served anew" if champion.image else "rolled back",
                why=f"by {champion.image}"
                if champion.image
                else f"asked for version '{champion.asked}'",
                run=None,
                user=champion.user,
                result=trained.get((champion.experiment, version)),
            )
        )
    return sorted(changes, key=lambda change: change.at, reverse=True)


def predicted(index: Index) -> list[Predicted]:
    """All batch predictions, newest first, each beside the score of its model at promotion."""
    trained = {run.uri: run.result for run in index.runs if run.result}
    found = []
    for record in index.predictions:
        if record.until is not None:
            continue
        result = trained.get(record.trained)
        later = record.performance.score if record.performance else None
        metric = later.name if later else None
        same = result if result is not None and metric in (None, result.metric) else None
        found.append(
            Predicted(
                record,
                same.selected if same else None,
                same.title if same else metric or "",
                same.decimals if same else 6,
            )
        )
    return found


def asked(index: Index) -> list[PredictionRecord]:
    """The comparisons of the requests that endpoints have kept, newest first."""
    return [record for record in index.predictions if record.until is not None]


def _deployments(runs: Iterable[RunRecord]) -> Iterable[Change]:
    for run in runs:
        done = run.result.deployment if run.result else None
        if run.result is None or done is None or done.at is None or done.state == "deploying":
            continue
        serving = done.state == "serving"
        agreed = run.result.approval
        why = (run.result.reason if serving else done.reason) or ""
        yield Change(
            at=done.at,
            experiment=run.experiment,
            version=number(done.model),
            before=number(done.previous) if done.previous else None,
            how="promoted" if serving else "retreated",
            why=f"{why}; {agreed.why}" if agreed else why,
            run=run.folder,
            user=run.user,
            result=run.result,
        )


def _not_wanted(runs: Iterable[RunRecord]) -> Iterable[Change]:
    for run in runs:
        answer = run.result.approval if run.result else None
        if run.result is None or answer is None or answer.state == "approved":
            continue
        yield Change(
            at=answer.at,
            experiment=run.experiment,
            version=None,
            before=None,
            how=answer.state,
            why=answer.why,
            run=run.folder,
            user=answer.by,
            result=run.result,
        )


def number(model: str) -> str:
    """The number of a version by its resource name."""
    return model.rpartition("@")[2]


def months(runs: Sequence[RunRecord]) -> list[Month]:
    """Sum the costs by the month in which the runs were planned, newest first."""
    by_month: dict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        by_month[run.month].append(run)
    return [
        Month(
            month,
            len(found),
            sum(run.at_most_usd for run in found),
            sum(_spent(run) for run in found),
        )
        for month, found in sorted(by_month.items(), reverse=True)
    ]


def _spent(run: RunRecord) -> float:
    if run.so_far_usd is not None or run.result is None:
        return run.so_far_usd or 0.0
    return run.result.contenders_usd
