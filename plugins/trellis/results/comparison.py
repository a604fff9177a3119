"""Runs side by side: the scores of their winners, and what was different about them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trellis.results.files import RunFiles


@dataclass(frozen=True)
class Score:
    """A value with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Metric:
    """A metric of the winners, None where a run lacks it. primary: of the first run."""

    name: str
    title: str
    goal: str
    decimals: int
    primary: bool
    scores: tuple[Score | None, ...]


@dataclass(frozen=True)
class Comparison:
    """same_split: all winners were scored on the same test examples.

    parameters: dotted keys with the value in each run, None where it has none; only those that
    differ.
    """

    same_split: bool
    metrics: tuple[Metric, ...]
    parameters: Mapping[str, tuple[Any, ...]]


def compare(runs: Sequence[RunFiles]) -> Comparison:
    """What is known of the runs, in their order."""
    datasets = {run.plan["dataset"]["fingerprint"] if run.plan else None for run in runs}
    return Comparison(
        same_split=len(datasets) == 1 and None not in datasets,
        metrics=tuple(_metrics(runs)),
        parameters=_differing([dict(_parameters(run)) for run in runs]),
    )


def _metrics(runs: Sequence[RunFiles]) -> Iterator[Metric]:
    boards = [run.leaderboard for run in runs if run.leaderboard]
    known = {name: about for board in reversed(boards) for name, about in board["metrics"].items()}
    primary = boards[0]["primary_metric"] if boards else None
    for name in sorted(known, key=lambda name: name != primary):
        scores = tuple(_score(run, name) for run in runs)
        if any(scores):
            about = known[name]
            yield Metric(
                name, about["title"], about["goal"], about["decimals"], name == primary, scores
            )


def _score(run: RunFiles, metric: str) -> Score | None:
    found = run.winner["metrics"].get(metric) if run.winner else None
    return Score(found["value"], *found["interval"]) if found else None


def _parameters(run: RunFiles) -> Iterator[tuple[str, Any]]:
    """The experiment file as this run had it, its data, and what the search found."""
    if run.plan:
        yield from _flat(run.plan["configuration"])
        yield "dataset", run.plan["dataset"]["fingerprint"]
        yield from _flat(run.plan["data_interval"], "data interval.")
    if run.winner:
        yield "winner", run.winner["name"]
        yield from _flat(run.winner["hyperparameters"], "winner.")


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
