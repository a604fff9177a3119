"""Runs, or contenders of them, side by side: their scores, and what was different about them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trellis.results.files import RunFiles
from trellis_contracts.leaderboard import Contender, Estimate


@dataclass(frozen=True)
class Metric:
    """A metric of a contender of each run, None where there is none. primary: of the first run."""

    name: str
    title: str
    goal: str
    decimals: int
    primary: bool
    scores: tuple[Estimate | None, ...]


@dataclass(frozen=True)
class Comparison:
    """same_split: all were scored on the same test examples. first: what comes first of each run,
    "winner" or, where a contender was asked for, "contender"; metrics: of these. trainings: of the
    trainings that the validation split selected; empty if they are those.

    parameters: dotted keys with the value in each run, None where it has none; only those that
    differ.
    """

    same_split: bool
    first: str
    metrics: tuple[Metric, ...]
    trainings: tuple[Metric, ...]
    parameters: Mapping[str, tuple[Any, ...]]


def compare(runs: Sequence[RunFiles]) -> Comparison:
    """Return the facts of the runs, in their order."""
    datasets = {run.plan.dataset.fingerprint if run.plan else None for run in runs}
    first = "contender" if any(run.asked for run in runs) else "winner"
    return Comparison(
        same_split=len(datasets) == 1 and None not in datasets,
        first=first,
        metrics=tuple(_metrics(runs, [run.shown for run in runs])),
        trainings=()
        if all(_same(run) for run in runs)
        else tuple(_metrics(runs, [run.trained for run in runs])),
        parameters=_differing([dict(_parameters(run, first)) for run in runs]),
    )


def _same(run: RunFiles) -> bool:
    """Return whether the training of a run is what comes first of it, or there is none."""
    return run.trained is None or run.trained is run.shown


def _metrics(runs: Sequence[RunFiles], contenders: Sequence[Contender | None]) -> Iterator[Metric]:
    """Return the metrics by name and title: under one name, tasks average over something else."""
    boards = [run.leaderboard for run in runs if run.leaderboard]
    known = {
        (name, about.title): about for board in boards for name, about in board.metrics.items()
    }
    primary = boards[0].primary_metric if boards else None
    for name, title in sorted(known, key=lambda one: one[0] != primary):
        scores = tuple(
            _score(run, contender, name, title)
            for run, contender in zip(runs, contenders, strict=True)
        )
        if any(scores):
            about = known[name, title]
            yield Metric(name, title, about.goal, about.decimals, name == primary, scores)


def _score(run: RunFiles, contender: Contender | None, metric: str, title: str) -> Estimate | None:
    if run.leaderboard is None or contender is None:
        return None
    about = run.leaderboard.metrics.get(metric)
    return contender.metrics.get(metric) if about and about.title == title else None


def _parameters(run: RunFiles, first: str) -> Iterator[tuple[str, Any]]:
    """The experiment file as this run had it, its data, and what the search found."""
    if run.plan:
        yield from _flat(run.plan.configuration)
        yield "dataset", run.plan.dataset.fingerprint
        yield from _flat(run.plan.data_interval, "data interval.")
    if run.shown:
        yield first, run.shown.name
        yield from _flat(run.shown.hyperparameters, f"{first}.")
    if run.trained and not _same(run):
        yield "training", run.trained.name
        yield from _flat(run.trained.hyperparameters, "training.")


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _differing(all_: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    names = dict.fromkeys(name for parameters in all_ for name in parameters)
    rows = {name: tuple(parameters.get(name) for parameters in all_) for name in names}
    return {name: row for name, row in rows.items() if any(value != row[0] for value in row)}
