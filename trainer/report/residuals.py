"""A regression's predictions: against true values, residuals, and distribution of errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trainer.comparison.held_out_split import HeldOutSplit
from trainer.comparison.regression import ValueOutcome
from trainer.report import pictures
from trainer.report.charts import BOTTOM, LEFT, RIGHT, TOP
from trainer.report.contenders import ContenderStyle
from trainer.report.planes import Line, Plane, axes, cloud, polyline
from trainer.report.scales import Scale
from trellis_contracts.dataset_features import Feature

# More points than this hide each other; a sample shows the same.
_POINTS = 1500
_SEED = 5
_SHOWN = 9
# Errors shown, with pictures and without.
_WORST = 24, 15
_LARGE, _SMALL = (490, 430), (320, 320)


@dataclass(frozen=True)
class Miss:
    """One of the winner's largest errors. residual: predicted less true. picture: data URI or
    empty.
    """

    key: str
    true: float
    predicted: float
    residual: float
    picture: str


@dataclass(frozen=True)
class Residuals:
    """The template's data on a regression's predictions.

    agreement, left_over: the winner's predictions over the truth, and its residuals over its
    predictions. others: the former for the other contenders, on the same axes. within: share of
    examples whose error is at most x, one curve per contender. sampled: points per chart if
    not all examples are drawn, else None. pixelated: whether the pictures are small.
    """

    agreement: Plane
    left_over: Plane
    others: Sequence[Plane]
    left_out: int
    within: Plane
    styles: Sequence[ContenderStyle]
    sampled: int | None
    worst: Sequence[Miss]
    pixelated: bool


def residual_section(
    outcomes: Mapping[str, ValueOutcome],
    styles: Sequence[ContenderStyle],
    split: HeldOutSplit,
    features: Sequence[Feature],
) -> Residuals:
    """Lay out all contenders' predictions; the winner is the first of `styles`."""
    n = len(split)
    rows = np.arange(n)
    if n > _POINTS:
        rows = np.sort(np.random.default_rng(_SEED).choice(n, _POINTS, replace=False))
    best = outcomes[styles[0].name]
    image = pictures.image_of(features)
    others = styles[1 : _SHOWN + 1]
    shown = np.concatenate([best.labels, *(outcomes[k.name].values for k in styles[: _SHOWN + 1])])
    return Residuals(
        agreement=_agreement(best, styles[0], rows, shown, _LARGE),
        left_over=_left_over(best, styles[0], rows),
        others=[_agreement(outcomes[k.name], k, rows, shown, _SMALL) for k in others],
        left_out=len(styles) - 1 - len(others),
        within=_within(outcomes, styles),
        styles=styles,
        sampled=_POINTS if n > _POINTS else None,
        worst=_worst(best, split, image),
        pixelated=image is not None and pictures.is_small(image),
    )


def _agreement(
    outcome: ValueOutcome,
    contender: ContenderStyle,
    rows: np.ndarray,
    shown: np.ndarray,
    size: tuple[int, int],
) -> Plane:
    width, height = size
    around = Scale.around([shown.min(), shown.max()], 0, 1, logarithmic=False)
    x, y = axes(width, height, (around.low, around.high), (around.low, around.high))
    ends = [around.low, around.high]
    return Plane(
        width=width,
        height=height,
        x_ticks=x.ticks(width // 90),
        y_ticks=y.ticks(5),
        x_title="true",
        y_title="predicted",
        name=contender.name,
        style=contender.style,
        guide=polyline(ends, ends, x, y),
        cloud=cloud(outcome.labels[rows], outcome.values[rows], x, y),
    )


def _left_over(outcome: ValueOutcome, contender: ContenderStyle, rows: np.ndarray) -> Plane:
    width, height = _LARGE
    x = Scale.around(outcome.values, LEFT, width - RIGHT, logarithmic=False)
    reach = float(outcome.misses.max()) or 1.0
    y = Scale.around([-reach, reach], height - BOTTOM, TOP, logarithmic=False)
    return Plane(
        width=width,
        height=height,
        x_ticks=x.ticks(width // 90),
        y_ticks=y.ticks(5),
        x_title="predicted",
        y_title="predicted − true",  # noqa: RUF001 (a minus sign)
        name=contender.name,
        style=contender.style,
        guide=polyline([x.low, x.high], [0, 0], x, y),
        cloud=cloud(outcome.values[rows], outcome.residuals[rows], x, y),
    )


def _within(outcomes: Mapping[str, ValueOutcome], styles: Sequence[ContenderStyle]) -> Plane:
    """Regression error characteristic curves (Bi & Bennett, 2003), up to the worst 2%."""
    width, height = 1000, 320
    widest = (
        max(float(np.quantile(outcomes[contender.name].misses, 0.98)) for contender in styles)
        or 1.0
    )
    x, y = axes(width, height, (0, widest), (0, 1))
    lines = []
    for contender in reversed(styles):
        misses = np.sort(outcomes[contender.name].misses)
        shares = np.arange(1, len(misses) + 1) / len(misses)
        inside = misses <= widest
        xs = np.concatenate([[0], misses[inside], [widest]])
        ys = np.concatenate([[0], shares[inside], [inside.mean()]])
        title = f"{contender.name}: half within {np.median(misses):.4g}"
        lines.append(Line(polyline(xs, ys, x, y), contender.style, title))
    return Plane(
        width=width,
        height=height,
        x_ticks=x.ticks(8),
        y_ticks=y.ticks(5),
        x_title="error at most",
        y_title="share of examples",
        lines=lines,
    )


def _worst(outcome: ValueOutcome, split: HeldOutSplit, image: Feature | None) -> list[Miss]:
    return [
        Miss(
            key=str(split.keys[i]),
            true=float(outcome.labels[i]),
            predicted=float(outcome.values[i]),
            residual=float(outcome.residuals[i]),
            picture=pictures.data_uri(split.feature(i, image.name)) if image else "",
        )
        for i in np.argsort(-outcome.misses, kind="stable")[: _WORST[image is None]]
    ]
