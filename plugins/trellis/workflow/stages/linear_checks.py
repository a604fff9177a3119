"""Numbers that predict a regression's label together, though none of them does alone.

A mean price is no news to a model that has the lowest and the highest one. Such features are found
by the multiple correlation of the label with several of them: the correlation with the best linear
sum of theirs, which follows from the correlations of any two.
https://en.wikipedia.org/wiki/Coefficient_of_multiple_correlation
"""

import functools
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from trellis.workflow.contracts.table import Feature, Table

MOST = 40
"""Features that are tried together: of n, the query computes n (n + 1) / 2 correlations."""

_LEAST_LEFT = 1e-8
"""Share of a number's variance that the chosen ones leave, below which rounding decides: it is a
linear sum of theirs."""


def numbers(table: Table) -> list[Feature]:
    """The features that are tried: the first MOST that are numbers."""
    found = [feature for feature in table.of_baselines() if feature.kind != "categorical"]
    return found[:MOST] if len(found) > 1 else []


def sufficient(
    together: Mapping[str, Any], known: Collection[int], least: float
) -> tuple[list[int], float]:
    """A few numbers whose multiple correlation with the label is at least that much, ascending,
    and this correlation; no numbers if all of them together have less.

    together: of checks.sql. known: numbers that are left out, as each predicts the label alone.
    The correlation is adjusted for the number of features, with which chance alone would raise it.
    """
    matrix = _matrix(together["with_label"], together["among_numbers"])
    rows, open_ = together["examples"], {n for n in range(1, len(matrix)) if n - 1 not in known}
    chosen: list[int] = []
    left = matrix
    while _adjusted(left, len(chosen), rows) < least:
        gains = {n: left[0][n] ** 2 / left[n][n] for n in open_ if left[n][n] > _LEAST_LEFT}
        if not gains:
            return [], 0.0
        best = max(gains, key=lambda n: (gains[n], -n))
        left = _without(left, best)
        chosen.append(best)
        open_.remove(best)
    for number in list(chosen):
        rest = [other for other in chosen if other != number]
        if _multiple(matrix, rest, rows) >= least:
            chosen = rest
    return sorted(n - 1 for n in chosen), _multiple(matrix, chosen, rows)


def _matrix(with_label: Sequence[float], among: Sequence[float]) -> list[list[float]]:
    """Correlations of the label (0) and the numbers (from 1 on) with one another.

    A constant has none with anything, for which BigQuery says NaN.
    """
    size = len(with_label) + 1
    matrix = [[float(i == j) for j in range(size)] for i in range(size)]
    pairs = itertools.combinations(range(size), 2)
    for (i, j), value in zip(pairs, [*with_label, *among], strict=True):
        matrix[i][j] = matrix[j][i] = value if math.isfinite(value) else 0.0
    return matrix


def _multiple(matrix: list[list[float]], chosen: Sequence[int], rows: int) -> float:
    """The adjusted multiple correlation of the label with these numbers."""
    return _adjusted(functools.reduce(_without, chosen, matrix), len(chosen), rows)


def _adjusted(left: list[list[float]], features: int, rows: int) -> float:
    """The multiple correlation that leaves these covariances, adjusted for so many features.

    https://en.wikipedia.org/wiki/Coefficient_of_determination#Adjusted_R2
    """
    free = rows - features - 1
    if not features or free <= 0:
        return 0.0
    return math.sqrt(max(0.0, 1 - max(0.0, left[0][0]) * (rows - 1) / free))


def _without(left: list[list[float]], number: int) -> list[list[float]]:
    """Covariances of what the regressions on one more number leave (Gauss)."""
    pivot = left[number]
    if pivot[number] <= _LEAST_LEFT:
        return left
    factors = [value / pivot[number] for value in pivot]
    return [
        [value - factor * other for value, other in zip(row, pivot, strict=True)]
        for row, factor in zip(left, factors, strict=True)
    ]
