"""Rounds, quartiles, ratios and the table of `python -m benchmarks`. Pure: no clock, no file.

A machine that others use is fast in one second and slow in the next. So the candidates take turns,
and a ratio compares figures of one round alone.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

ROUNDS = 5

# Candidates of a row: "ours", and "peer" and "limit" where there is one.
Candidates = Mapping[str, Callable[[], float]]
Figures = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Aim:
    """Aim of a row: the ratio of ours to `against`, or ours itself if that is "figure"."""

    against: str
    bound: float


@dataclass(frozen=True)
class Row:
    """A line of the table. program: "module:function" below benchmarks.speed, run in `environment`.

    more: whether a higher figure is better.
    """

    name: str
    what: str
    peer: str
    limit: str
    unit: str
    more: bool
    aim: Aim
    environment: str
    program: str


@dataclass(frozen=True)
class Spread:
    """Median and quartiles."""

    low: float
    median: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Quartiles by linear interpolation, of at least two values (statistics.quantiles)."""
    return Spread(*statistics.quantiles(values, n=4, method="inclusive"))


def rounds(candidates: Candidates, count: int = ROUNDS) -> dict[str, list[float]]:
    """The figures of `count` rounds, after one that does not count (caches, code traced once).

    Each round begins with another candidate, so that none is always the one after the same other.
    Raises ValueError for fewer than ROUNDS rounds, or without "ours".
    """
    if count < ROUNDS or "ours" not in candidates:
        raise ValueError(f"{count} rounds of {sorted(candidates)}: at least {ROUNDS}, with 'ours'")
    names = list(candidates)
    figures: dict[str, list[float]] = {name: [] for name in names}
    for number in range(count + 1):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            figure = candidates[name]()
            if number:
                figures[name].append(figure)
    return figures


def ratios(figures: Figures, against: str) -> list[float]:
    """Ours divided by `against` in each round, or ours itself if that is "figure"."""
    if against == "figure":
        return list(figures["ours"])
    return [a / b for a, b in zip(figures["ours"], figures[against], strict=True)]


def verdict(found: Spread, bound: float, more: bool) -> str:
    """Say whether the aim is met: only if the quartiles lie on one side of the bound, it is
    clear.
    """
    low, high = (found.low, found.high) if more else (-found.high, -found.low)
    bound = bound if more else -bound
    if low >= bound:
        return "met"
    return "missed" if high < bound else "unclear"


def number(value: float) -> str:
    """Three significant digits, or whole with separators."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


HEADER = """\
| row | what | ours | peer | limit | ratio | aim | verdict |
|---|---|---|---|---|---|---|---|"""


def line(row: Row, figures: Figures) -> str:
    """A row of the table: medians, with quartiles of ours and of the ratio that the aim names."""
    ours = spread(figures["ours"])
    found = spread(ratios(figures, row.aim.against))
    cells = [row.name, row.what, f"{_with_quartiles(ours)} {row.unit}"]
    for name, what in (("peer", row.peer), ("limit", row.limit)):
        known = name in figures
        cells.append(f"{what}: {number(statistics.median(figures[name]))}" if known else "none")
    symbol, unit = ("≥" if row.more else "≤"), f" {row.unit}"
    of = unit if row.aim.against == "figure" else f" x {row.aim.against}"
    cells += [f"{_with_quartiles(found)}{of}", f"{symbol} {number(row.aim.bound)}{of}"]
    return _joined([*cells, verdict(found, row.aim.bound, row.more)])


def failed(row: Row, problem: str) -> str:
    """The line of a row without figures; `problem` on one line."""
    text = " ".join(problem.split()).replace("|", "/")
    return _joined([row.name, row.what, "", "", "", "", "", f"failed: {text}"])


def _with_quartiles(found: Spread) -> str:
    return f"{number(found.median)} ({number(found.low)} to {number(found.high)})"


def _joined(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
