"""Which runs and datasets are still needed: by age, by model versions, by other runs."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from trellis.workflow.contracts.record import RunRecord

_LONGEST_RUN = 60
"""Days after which a run without an end is none any more: of a canary, or of jobs in a queue."""


@dataclass(frozen=True)
class ModelVersion:
    """A version of a model in the registry. run: folder of the run that made it, gs://.../; ""
    if its description does not say.
    """

    name: str
    experiment: str
    run: str


@dataclass(frozen=True)
class Needs:
    """reasons: why a run is kept, by its folder. expired: the other runs. datasets: experiment and
    fingerprint of those that kept runs have. uncertain: experiments of which all datasets are kept,
    as a version came from a run that no record knows.
    """

    reasons: dict[str, str]
    expired: tuple[RunRecord, ...]
    datasets: frozenset[tuple[str, str]]
    uncertain: frozenset[str]

    def has(self, experiment: str, fingerprint: str) -> bool:
        """Return whether a dataset of an experiment is still needed."""
        return experiment in self.uncertain or (experiment, fingerprint) in self.datasets


def of(
    runs: Iterable[RunRecord], versions: Collection[ModelVersion], days: int, now: datetime
) -> Needs:
    """Divide the runs. days: that a run is kept after its end.

    A run is kept longer if a version of a model came from it (its files are the model's), or its
    results are the newest of its experiment (the next run compares its data with those). Where a
    version does not say which run made it, all runs of its experiment are kept.
    """
    runs = list(runs)
    by_run = {version.run: version.name for version in versions if version.run}
    unknown = {version.experiment: version.name for version in versions if not version.run}
    newest: dict[str, RunRecord] = {}
    for run in runs:
        if run.result is not None:
            other = newest.setdefault(run.experiment, run)
            newest[run.experiment] = max(run, other, key=ended)
    reasons: dict[str, str] = {}
    for run in runs:
        if run.uri in by_run:
            reasons[run.uri] = f"{by_run[run.uri]} came from it"
        elif run.experiment in unknown:
            reasons[run.uri] = f"{unknown[run.experiment]} does not say which run made it"
        elif newest.get(run.experiment) is run:
            reasons[run.uri] = "the newest result of its experiment"
        elif now - ended(run) < timedelta(days=days if _is_over(run) else max(days, _LONGEST_RUN)):
            reasons[run.uri] = f"ended within {days} days" if _is_over(run) else "may be running"
    return Needs(
        reasons,
        tuple(run for run in runs if run.uri not in reasons),
        frozenset((run.experiment, run.dataset) for run in runs if run.uri in reasons),
        frozenset(
            version.experiment
            for version in versions
            if version.run not in {run.uri for run in runs}
        ),
    )


def _is_over(run: RunRecord) -> bool:
    return run.result is not None or run.failure is not None


def ended(run: RunRecord) -> datetime:
    """When the run was last heard of: its end, its failure, or its plan."""
    latest = (
        run.result.ended
        if run.result is not None
        else run.failure.at
        if run.failure is not None
        else run.begun or run.created
    )
    moment = datetime.fromisoformat(latest)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
