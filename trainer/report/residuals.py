"""A regression's predictions: against true values, residuals, and distribution of errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainer.comparison.held_out_split import HeldOutSplit
from trainer.metrics.regression import ValueOutcome
from trainer.report import pictures
from trainer.report.axes import scale
from trainer.report.contenders import ContenderStyle
from trainer.report.curves import curve_chart
from trellis_contracts.charts import GUIDE, chart, layer, number
from trellis_contracts.dataset_features import Feature

# More points hide each other, on a large chart and on a small one: a sample shows the same.
_POINTS, _FEWER = 1000, 300
_SEED = 5
_SHOWN = 9
# Errors shown, with pictures and without.
_WORST = 24, 15
_LARGE, _SMALL = (430, 380), (256, 256)


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

    figures: by name. predictions/CONTENDER: predictions over the truth, all on the same axes;
    residuals: the winner's residuals over its predictions; errors: share of examples whose error is
    at most x, one curve per contender. others: contenders but the winner that have a chart.
    sampled: points per chart, large and small, if not all examples are drawn, else None. pixelated:
    whether the pictures are small.
    """

    figures: Mapping[str, dict[str, Any]]
    others: Sequence[ContenderStyle]
    left_out: int
    sampled: tuple[int, int] | None
    worst: Sequence[Miss]
    pixelated: bool


def residual_section(
    outcomes: Mapping[str, ValueOutcome],
    styles: Sequence[ContenderStyle],
    split: HeldOutSplit,
    features: Sequence[Feature],
) -> Residuals:
    """Lay out all contenders' predictions; the winner is the first of `styles`."""
    best = outcomes[styles[0].name]
    image = pictures.image_of(features)
    others = styles[1 : _SHOWN + 1]
    shown = np.concatenate([best.labels, *(outcomes[k.name].values for k in styles[: _SHOWN + 1])])
    ends = float(shown.min()), float(shown.max())
    figures = {
        f"predictions/{k.name}": _agreement(outcomes[k.name], k, ends) for k in (styles[0], *others)
    }
    figures["residuals"] = _left_over(best, styles[0])
    figures["errors"] = _within(outcomes, styles)
    return Residuals(
        figures=figures,
        others=others,
        left_out=len(styles) - 1 - len(others),
        sampled=(_POINTS, _FEWER) if len(split) > _POINTS else None,
        worst=_worst(best, split, image),
        pixelated=image is not None and pictures.is_small(image),
    )


def _sample(values: np.ndarray, count: int) -> np.ndarray:
    """Draw a sample of the values, the same for each of several arrays of one length."""
    if len(values) <= count:
        return values
    chosen = np.random.default_rng(_SEED).choice(len(values), count, replace=False)
    return values[np.sort(chosen)]


def _agreement(
    outcome: ValueOutcome, contender: ContenderStyle, ends: tuple[float, float]
) -> dict[str, Any]:
    size, count = (_LARGE, _POINTS) if contender.winner else (_SMALL, _FEWER)
    return _cloud(
        contender,
        f"predicted over true values of {contender.name}",
        x=("true", outcome.labels, ends),
        y=("predicted", outcome.values, ends),
        guide=[{"true": end, "predicted": end} for end in ends],
        size=size,
        count=count,
    )


def _left_over(outcome: ValueOutcome, contender: ContenderStyle) -> dict[str, Any]:
    low, high = float(outcome.values.min()), float(outcome.values.max())
    reach = float(outcome.misses.max())
    return _cloud(
        contender,
        "residuals of the winner over its predictions",
        x=("predicted", outcome.values, (low, high)),
        y=("predicted − true", outcome.residuals, (-reach, reach)),  # noqa: RUF001 (a minus sign)
        guide=[{"predicted": end, "residual": 0} for end in (low, high)],
        size=_LARGE,
        count=_POINTS,
    )


def _cloud(
    contender: ContenderStyle,
    description: str,
    *,
    x: tuple[str, np.ndarray, tuple[float, float]],
    y: tuple[str, np.ndarray, tuple[float, float]],
    guide: Sequence[Mapping[str, float]],
    size: tuple[int, int],
    count: int,
) -> dict[str, Any]:
    """Points over two axes: title, values and ends of each."""
    fields = list(guide[0])
    channels = {
        channel: number(field, title, **scale(ends), axis={"tickCount": 5})
        for channel, field, (title, _, ends) in zip("xy", fields, (x, y), strict=True)
    }
    pairs = zip(*(_sample(one[1], count).tolist() for one in (x, y)), strict=True)
    rows = [dict(zip(fields, pair, strict=True)) for pair in pairs]
    points = layer("circle", channels, color=contender.colour, size=20, opacity=0.45)
    layers = [layer("line", channels, guide, **GUIDE), points]
    return chart(layers, description, width=size[0], height=size[1], rows=rows)


def _within(
    outcomes: Mapping[str, ValueOutcome], styles: Sequence[ContenderStyle]
) -> dict[str, Any]:
    """Regression error characteristic curves (Bi & Bennett, 2003), up to the worst 2%."""
    widest = (
        max(float(np.quantile(outcomes[contender.name].misses, 0.98)) for contender in styles)
        or 1.0
    )
    curves, listed = {}, []
    for contender in reversed(styles):
        misses = np.sort(outcomes[contender.name].misses)
        shares = np.arange(1, len(misses) + 1) / len(misses)
        inside = misses <= widest
        xs = np.concatenate([[0], misses[inside], [widest]])
        ys = np.concatenate([[0], shares[inside], [inside.mean()]])
        curves[contender.name] = xs, ys
        listed.append(f"{contender.name}: half within {np.median(misses):.4g}")
    return curve_chart(
        curves,
        f"share of examples by error of every contender: {'; '.join(reversed(listed))}",
        titles=("error at most", "share of examples"),
        ranges=((0, widest), (0, 1)),
        styles=styles,
        size=(940, 270),
    )


def _worst(outcome: ValueOutcome, split: HeldOutSplit, image: Feature | None) -> list[Miss]:
    return [
        Miss(
            key=str(split.keys[i]),
            true=float(outcome.labels[i]),
            predicted=float(outcome.values[i]),
            residual=float(outcome.residuals[i]),
            picture=pictures.of_example(split, i, image),
        )
        for i in np.argsort(-outcome.misses, kind="stable")[: _WORST[image is None]]
    ]
