"""Calibration curves: are predictions with 80% probability right 80% of the time?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainer.comparison.intervals import LEVEL
from trainer.comparison.proportions import share_interval
from trainer.metrics.decision import Threshold
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import Outcome
from trainer.metrics.set_outcome import SetOutcome
from trainer.report.contenders import ContenderStyle
from trellis_contracts.charts import GRID, GUIDE, PAPER, chart, layer, number

_SIDE = 256
_BINS = 10
_SHOWN = 9
# The tallest bar of the counts below the curve, as a share of the axis; dots' areas in pixels.
_BAR = 0.17
_DOTS = [12, 113]


@dataclass(frozen=True)
class Reliability:
    """One chart per contender, named calibration/CONTENDER. shown: contenders with a chart, and
    remarks on them. positive: of two classes the one whose probability is meant. sets: of a
    multi-label task. thresholds: whether a contender decides by one, which its remark names.
    """

    figures: Mapping[str, dict[str, Any]]
    shown: Sequence[tuple[ContenderStyle, str]]
    positive: str
    sets: bool
    thresholds: bool
    left_out: int


def reliability_section(
    outcomes: Mapping[str, Outcome] | Mapping[str, SetOutcome],
    styles: Sequence[ContenderStyle],
    classes: Sequence[str],
) -> Reliability:
    """Compare claimed probabilities with observed shares in ten equal bins: of two classes the
    second's, of more classes the most probable one's, of a multi-label task those of all classes.
    """
    sets = isinstance(outcomes[styles[0].name], SetOutcome)
    shown = styles[:_SHOWN]
    return Reliability(
        figures={f"calibration/{k.name}": _chart(outcomes[k.name], k) for k in shown},
        shown=[(k, _remark(outcomes[k.name], k, classes)) for k in shown],
        thresholds=any(_threshold(outcomes[k.name]) for k in shown),
        positive=classes[1] if len(classes) == 2 and not sets else "",
        sets=sets,
        left_out=len(styles) - len(shown),
    )


def _threshold(outcome: Outcome | SetOutcome) -> Threshold | None:
    return outcome.threshold if isinstance(outcome, Outcome) else None


def _claims(outcome: Outcome | SetOutcome) -> tuple[np.ndarray, np.ndarray, Groups | None]:
    """Claimed probabilities (m,), whether each came true, and what is not independent."""
    if isinstance(outcome, SetOutcome):
        # The classes of one example are not independent of each other.
        examples = np.repeat(np.arange(len(outcome.labels)), outcome.class_count)
        groups = outcome.groups.subset(examples) if outcome.groups else Groups.named(examples)
        return outcome.probabilities.ravel(), outcome.true.ravel(), groups
    if outcome.class_count == 2:
        return outcome.probabilities[:, 1], outcome.labels == 1, outcome.groups
    return outcome.confidence, outcome.expected, outcome.groups


def _remark(
    outcome: Outcome | SetOutcome, contender: ContenderStyle, classes: Sequence[str]
) -> str:
    threshold = _threshold(outcome)
    remarks = ["winner"] if contender.winner else []
    return ", ".join(remarks + ([threshold.text(classes)] if threshold else []))


def _chart(outcome: Outcome | SetOutcome, contender: ContenderStyle) -> dict[str, Any]:
    claimed, happened, groups = _claims(outcome)
    bins = np.clip(np.ceil(claimed * _BINS).astype(int) - 1, 0, _BINS - 1)
    counts = np.bincount(bins, minlength=_BINS)
    rows = []
    for i in np.flatnonzero(counts):
        chosen = bins == i
        of_bin = groups.subset(chosen) if groups else None
        low, high = share_interval(happened[chosen], LEVEL, of_bin)
        rows.append(
            {
                "predicted": float(claimed[chosen].mean()),
                "observed": float(happened[chosen].mean()),
                "low": float(low),
                "high": float(high),
                "examples": int(counts[i]),
                "from": i / _BINS + 0.003,
                "to": (i + 1) / _BINS - 0.003,
                "bar": round(_BAR * counts[i] / counts.max(), 4),
            }
        )
    ticks = {"tickCount": 5}
    x = number("predicted", "predicted probability", domain=[0, 1], axis=ticks)
    y = number("observed", "observed share", domain=[0, 1], axis=ticks)
    size = {
        "field": "examples",
        "type": "quantitative",
        "legend": None,
        "scale": {"domain": [0, int(counts.max())], "range": _DOTS},
    }
    bars = {
        "x": {**x, "field": "from"},
        "x2": {"field": "to"},
        "y": {**y, "field": "bar"},
        "y2": {"datum": 0},
    }
    whiskers = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    ends = [{"predicted": end, "observed": end} for end in (0, 1)]
    colour = contender.colour
    return chart(
        [
            layer("bar", bars, color=GRID),
            layer("line", {"x": x, "y": y}, ends, **GUIDE),
            layer("rule", whiskers, color=colour, strokeWidth=1.5, opacity=0.6),
            layer(
                "circle",
                {"x": x, "y": y, "size": size},
                color=colour,
                opacity=1,
                stroke=PAPER,
                strokeWidth=1.2,
            ),
        ],
        f"calibration of {contender.name}",
        width=_SIDE,
        height=_SIDE,
        rows=rows,
    )
