"""Learning curves of runs side by side: those of their trainings."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from trellis.results.files import RunFiles, read_file
from trellis_contracts.documents import ContractError
from trellis_contracts.layout import metrics
from trellis_contracts.progress import by_epoch
from trellis_contracts.speed import NOT_MEASURED, examples_per_second, usage
from trellis_contracts.training import Training


@dataclass(frozen=True)
class Curve:
    """One training on its validation split.

    points: (epoch, value). best: the epoch whose weights were kept. speed: examples of the
    training split a second, what limited it and what it used, in words; empty: not measured.
    """

    training: str
    points: tuple[tuple[int, float], ...]
    best: int
    speed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Curves:
    """metric: what the values are. curves: of each run, None for one without a record of it."""

    metric: str
    curves: tuple[Curve | None, ...]


def load_curves(runs: Sequence[tuple[Any, RunFiles]]) -> Curves | None:
    """Load the curve of each run's `trained`; None if no run has a readable one.

    The metric is that of the first training, or the loss if another one did not record it. runs:
    each with a google.cloud.storage.Client that may read it.
    """
    with ThreadPoolExecutor(len(runs)) as pool:
        found = list(pool.map(lambda one: _record(*one), runs))
    records = [record for _, record in filter(None, found)]
    if not records:
        return None
    wanted = f"val_{records[0].metric}"
    common = all(wanted in epoch for record in records for epoch in record.history)
    column = wanted if common else "val_loss"
    return Curves(
        column.removeprefix("val_"),
        tuple(_curve(*one, column) if one else None for one in found),
    )


def speeds(trainings: Sequence[Curve | None]) -> dict[str, list[str]]:
    """Put the speed of trainings side by side: by what it is, of each; {} if none was measured."""
    names = dict.fromkeys(name for one in trainings if one for name in one.speed)
    return {
        name: [one.speed.get(name, NOT_MEASURED) if one else NOT_MEASURED for one in trainings]
        for name in names
    }


def _record(client: Any, run: RunFiles) -> tuple[str, Training] | None:
    """The name of the training and its metrics.json."""
    if run.trained is None:
        return None
    name = run.trained.name
    try:
        training = read_file(client, Training, metrics(run.run.contender(name)))
    except ContractError:
        return None
    return (name, training) if training else None


def _curve(name: str, record: Training, column: str) -> Curve | None:
    points = by_epoch(record.history, column)
    if not points:
        return None
    return Curve(name, points, record.best_epoch, _speed(record) if record.speed else {})


def _speed(record: Training) -> dict[str, str]:
    limit = record.limit
    return {
        "examples a second": f"{examples_per_second(record.speed):,.0f}",
        "most of its time": f"{limit.name} {limit.share:.0%}" if limit else NOT_MEASURED,
        **usage(record.speed),
    }
