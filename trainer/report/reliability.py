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
from trellis_contracts.charts import GRID, GUIDE, MUTED, PAPER, chart, layer, number

_SIDE = 256
_BINS = 10
_SHOWN = 9
# The tallest bar of the counts below the curve, as a share of the axis; dots' areas in pixels.
_BAR = 0.17
_DOTS = [12, 113]
_NONE: Mapping[str, Outcome] = {}


@dataclass(frozen=True)
class Reliability:
    """One chart per contender, named calibration/CONTENDER. shown: contenders with a chart, and
    remarks on them. positive: of two classes the one whose probability is meant. sets: of a
    multi-label task. thresholds: whether a contender decides by one, which its remark names.
    calibrated: whether a chart has the curve before calibration, too.
    """

    figures: Mapping[str, dict[str, Any]]
    shown: Sequence[tuple[ContenderStyle, str]]
    positive: str
    sets: bool
    thresholds: bool
    calibrated: bool
    left_out: int


def reliability_section(
    outcomes: Mapping[str, Outcome] | Mapping[str, SetOutcome],
    styles: Sequence[ContenderStyle],
    classes: Sequence[str],
    uncalibrated: Mapping[str, Outcome] | Mapping[str, SetOutcome] = _NONE,
) -> Reliability:
    """Compare claimed probabilities with observed shares in ten equal bins: of two classes the
    second's, of more classes the most probable one's, of a multi-label task those of all classes.

    uncalibrated: before calibration, of the contenders that are calibrated.
    """
    sets = isinstance(outcomes[styles[0].name], SetOutcome)
    shown = styles[:_SHOWN]
    return Reliability(
        figures={
            f"calibration/{k.name}": _chart(outcomes[k.name], k, uncalibrated.get(k.name))
            for k in shown
        },
        shown=[(k, _remark(outcomes[k.name], k, classes)) for k in shown],
        thresholds=any(_threshold(outcomes[k.name]) for k in shown),
        calibrated=any(k.name in uncalibrated for k in shown),
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


def _binned(outcome: Outcome | SetOutcome) -> list[dict[str, Any]]:
    """What is claimed and observed in each bin that has examples."""
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
    return rows


def _chart(
    outcome: Outcome | SetOutcome,
    contender: ContenderStyle,
    uncalibrated: Outcome | SetOutcome | None,
) -> dict[str, Any]:
    rows = _binned(outcome)
    ticks = {"tickCount": 5}
    x = number("predicted", "predicted probability", domain=[0, 1], axis=ticks)
    y = number("observed", "observed share", domain=[0, 1], axis=ticks)
    size = {
        "field": "examples",
        "type": "quantitative",
        "legend": None,
        "scale": {"domain": [0, max(row["examples"] for row in rows)], "range": _DOTS},
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
    before = []
    if uncalibrated is not None:
        curve = _binned(uncalibrated)
        before = [
            layer("line", {"x": x, "y": y}, curve, color=MUTED, strokeWidth=1.2, opacity=0.7),
            layer("circle", {"x": x, "y": y}, curve, color=MUTED, opacity=1, size=16),
        ]
    return chart(
        [
            layer("bar", bars, color=GRID),
            layer("line", {"x": x, "y": y}, ends, **GUIDE),
            *before,
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
