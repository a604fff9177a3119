"""Times to an event: Kaplan and Meier's curves by predicted risk, calibration and AUC at the
horizons, and the censoring over time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from trainer.comparison import bootstrap
from trainer.comparison.intervals import LEVEL
from trainer.metrics import survival_estimates as estimates
from trainer.metrics.survival import SurvivalOutcome
from trainer.report.contenders import ContenderStyle
from trainer.report.curves import curve_chart
from trellis_contracts.charts import GUIDE, chart, layer, number
from trellis_contracts.dataset import SPLITS, DatasetDescription
from trellis_contracts.dataset_features import SPANS

_GROUPS = ("lowest third of risk", "middle third", "highest third")
_BINS = 5
_TICKS = 6
_SHOWN = 9
_RESAMPLES = 500
_SIDE = 256


@dataclass(frozen=True)
class AtHorizon:
    """A contender at a horizon: mean predicted survival, Kaplan and Meier's, and AUC, each with an
    interval as (value, low, high), but the first.
    """

    contender: str
    horizon: float
    predicted: float
    observed: tuple[float, float, float]
    auc: tuple[float, float, float]


@dataclass(frozen=True)
class SurvivalSection:
    """The template's data. figures: curves/risk, calibration/HORIZON and censoring/SPLIT. groups:
    by predicted risk of the winner, numbers at risk at each of `ticks`. horizons: with a chart.
    rows: of the contenders; shares: examples and events by split.
    """

    figures: Mapping[str, dict[str, Any]]
    ticks: Sequence[float]
    groups: Sequence[tuple[str, Sequence[int]]]
    horizons: Sequence[float]
    rows: Sequence[AtHorizon]
    shares: Sequence[tuple[str, int, int]]


def survival_section(
    outcomes: Mapping[str, SurvivalOutcome],
    styles: Sequence[ContenderStyle],
    dataset: DatasetDescription,
) -> SurvivalSection:
    """Lay out the contenders' predictions; the winner is the first of `styles`."""
    best = outcomes[styles[0].name]
    parts = _thirds(best)
    ticks = np.linspace(0, best.labels[:, 0].max(), _TICKS)
    horizons = [best.times[place] for place in best.known_horizons]
    figures = {"curves/risk": _curves(parts, styles[0].name), "censoring": _censoring(dataset)}
    figures |= {
        f"calibration/{horizon:.12g}": _calibration(best, styles[0], horizon)
        for horizon in horizons
    }
    return SurvivalSection(
        figures=figures,
        ticks=ticks.tolist(),
        groups=[
            (name, [int((part[:, 0] >= tick).sum()) for tick in ticks])
            for name, part in parts.items()
        ],
        horizons=horizons,
        rows=[row for style in styles[:_SHOWN] for row in _at_horizons(style.name, outcomes)],
        shares=[
            (split, dataset.examples(split), dataset.label.of_event.count(split))
            for split in SPLITS
        ],
    )


def _thirds(outcome: SurvivalOutcome) -> dict[str, np.ndarray]:
    """The labels of each third by predicted risk, without those that no example is in."""
    edges = np.quantile(outcome.risks, [1 / 3, 2 / 3])
    place = np.searchsorted(edges, outcome.risks, side="left")
    parts = {name: outcome.labels[place == n] for n, name in enumerate(_GROUPS)}
    return {name: part for name, part in parts.items() if len(part)}


def _curves(parts: Mapping[str, np.ndarray], winner: str) -> dict[str, Any]:
    longest = max(float(part[:, 0].max()) for part in parts.values())
    styles = [ContenderStyle(name, f"s{n}", False) for n, name in enumerate(parts, start=1)]
    curves = {}
    for name, part in parts.items():
        steps = estimates.survival(part)
        xs, ys = np.concatenate([[0.0], steps.times]), np.concatenate([[1.0], steps.values])
        # A step keeps its height until the next one.
        curves[name] = np.repeat(xs, 2)[1:], np.repeat(ys, 2)[:-1]
    ends = "; ".join(f"{name}: {curve[1][-1]:.2f} at the end" for name, curve in curves.items())
    return curve_chart(
        curves,
        f"survival by Kaplan and Meier, by predicted risk of {winner}: {ends}",
        titles=("time", "survival"),
        ranges=((0, longest), (0, 1)),
        styles=styles,
        size=(940, 300),
    )


def observed(labels: np.ndarray, time: float) -> tuple[float, float, float]:
    """Kaplan and Meier's survival at a time, with its interval on the log-log scale."""
    at = np.array(time)
    value = float(estimates.survival(labels).at(at))
    error = float(np.sqrt(estimates.greenwood(labels).at(at)))
    if not 0 < value < 1 or not error:
        return value, value, value
    reach = stats.norm.ppf((1 + LEVEL) / 2) * error / np.log(value)
    low, high = (float(value ** np.exp(sign * reach)) for sign in (-1, 1))
    return value, min(low, high), max(low, high)


def _calibration(
    outcome: SurvivalOutcome, contender: ContenderStyle, horizon: float
) -> dict[str, Any]:
    predicted = outcome.curves[:, outcome.times.index(horizon)]
    edges = np.quantile(predicted, np.linspace(0, 1, _BINS + 1)[1:-1])
    bins = np.searchsorted(edges, predicted, side="left")
    rows = []
    for n in np.unique(bins):
        value, low, high = observed(outcome.labels[bins == n], horizon)
        mean = float(predicted[bins == n].mean())
        rows.append({"predicted": mean, "observed": value, "low": low, "high": high})
    ticks = {"tickCount": 5}
    x = number("predicted", "predicted survival", domain=[0, 1], axis=ticks)
    y = number("observed", "observed survival", domain=[0, 1], axis=ticks)
    whiskers = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    ends = [{"predicted": end, "observed": end} for end in (0, 1)]
    return chart(
        [
            layer("line", {"x": x, "y": y}, ends, **GUIDE),
            layer("rule", whiskers, color=contender.colour, strokeWidth=1.5, opacity=0.6),
            layer("circle", {"x": x, "y": y}, color=contender.colour, opacity=1, size=60),
        ],
        f"calibration of {contender.name} at {horizon:g}",
        width=_SIDE,
        height=_SIDE,
        rows=rows,
    )


def _at_horizons(name: str, outcomes: Mapping[str, SurvivalOutcome]) -> list[AtHorizon]:
    outcome = outcomes[name]
    drawn = list(bootstrap.draw(len(outcome.labels), _RESAMPLES, groups=outcome.groups))
    places = zip(outcome.known_horizons, outcome.until_horizons, strict=True)
    found = []
    for place, pairs in places:
        samples = np.concatenate([pairs.scores(weights) for weights in drawn])
        interval = bootstrap.interval(samples, LEVEL)
        time = outcome.times[place]
        found.append(
            AtHorizon(
                name,
                time,
                float(outcome.curves[:, place].mean()),
                observed(outcome.labels, time),
                (pairs.score, *interval),
            )
        )
    return found


def _censoring(dataset: DatasetDescription) -> dict[str, Any]:
    """Share of the examples that have been censored until a time, by split."""
    event, longest = dataset.label.of_event, dataset.label.number_statistics.max
    times = np.linspace(0, longest, SPANS + 1)
    styles = [ContenderStyle(name, f"s{n}", False) for n, name in enumerate(SPLITS, start=1)]
    curves = {
        split: (
            times,
            np.concatenate([[0], np.cumsum(event.censored[split])]) / dataset.examples(split),
        )
        for split in SPLITS
    }
    ends = ", ".join(f"{split} {curve[1][-1]:.0%}" for split, curve in curves.items())
    return curve_chart(
        curves,
        f"share of the examples that have been censored until a time: {ends} in all",
        titles=("time", "share censored"),
        ranges=((0, longest), (0, 1)),
        styles=styles,
        size=(940, 220),
    )
