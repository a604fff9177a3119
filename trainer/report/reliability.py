"""Calibration curves: are predictions with 80% probability right 80% of the time?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trainer.comparison.groups import Groups
from trainer.comparison.intervals import LEVEL
from trainer.comparison.multilabel import SetOutcome
from trainer.comparison.outcome import Outcome
from trainer.comparison.proportions import share_interval
from trainer.decision import Threshold
from trainer.report.contenders import ContenderStyle
from trainer.report.planes import Bar, Dot, Plane, axes, polyline

_WIDTH, _HEIGHT = 320, 320
_BINS = 10
_SHOWN = 9
# The tallest bar of the counts below the curve, in pixels, and the widest dot's radius.
_BAR, _DOT = 46, 6.0


@dataclass(frozen=True)
class Reliability:
    """One chart per contender. positive: of two classes the one whose probability is meant. sets:
    of a multi-label task. thresholds: whether a contender decides by one, which its chart names.
    """

    charts: Sequence[Plane]
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
    return Reliability(
        charts=[
            _chart(outcomes[contender.name], contender, classes) for contender in styles[:_SHOWN]
        ],
        thresholds=any(_threshold(outcomes[contender.name]) for contender in styles[:_SHOWN]),
        positive=classes[1] if len(classes) == 2 and not sets else "",
        sets=sets,
        left_out=max(0, len(styles) - _SHOWN),
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


def _chart(
    outcome: Outcome | SetOutcome, contender: ContenderStyle, classes: Sequence[str]
) -> Plane:
    remarks = ["winner"] if contender.winner else []
    threshold = _threshold(outcome)
    remarks += [threshold.text(classes)] if threshold else []
    claimed, happened, groups = _claims(outcome)
    x, y = axes(_WIDTH, _HEIGHT, (0, 1), (0, 1))
    bins = np.clip(np.ceil(claimed * _BINS).astype(int) - 1, 0, _BINS - 1)
    counts = np.bincount(bins, minlength=_BINS)
    dots, bars = [], []
    for i in np.flatnonzero(counts):
        rows = bins == i
        mean, share = float(claimed[rows].mean()), float(happened[rows].mean())
        of_bin = groups.subset(rows) if groups else None
        low, high = share_interval(happened[rows], LEVEL, of_bin)
        title = f"{counts[i]:,} examples around {mean:.2f}: {share:.2f} came true"
        size = float(np.sqrt(counts[i] / counts.max()))
        dots.append(Dot(x(mean), y(share), round(2 + size * (_DOT - 2), 1), y(low), y(high), title))
        tall = round(_BAR * counts[i] / counts.max(), 1)
        left, width = x(i / _BINS), x((i + 1) / _BINS) - x(i / _BINS)
        bars.append(Bar(left + 1, y(0) - tall, width - 2, tall, title))
    return Plane(
        width=_WIDTH,
        height=_HEIGHT,
        x_ticks=x.ticks(5),
        y_ticks=y.ticks(5),
        x_title="predicted probability",
        y_title="observed share",
        name=contender.name,
        remark=", ".join(remarks),
        style=contender.style,
        guide=polyline([0, 1], [0, 1], x, y),
        dots=dots,
        bars=bars,
    )
