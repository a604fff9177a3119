"""The drift since the dataset that the experiment used before."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.comparison import drift as science
from trainer.comparison.drift import LEVELS, Drift
from trainer.dataset_description import DatasetDescription

_SHOWN = 25


@dataclass(frozen=True)
class DriftSection:
    """The label's drift and the features', the largest first; bounded.

    before: the earlier dataset. levels: features by level. rows: of the table. left_out: features
    that moved least and are not shown. widest: the largest PSI shown, for the bars.
    """

    before: DatasetDescription
    levels: Sequence[tuple[str, int]]
    rows: Sequence[Drift]
    left_out: int
    widest: float
    some: float = science.SOME
    much: float = science.MUCH
    shifted: float = science.SHIFTED


def drift_section(before: DatasetDescription, now: DatasetDescription) -> DriftSection:
    """Lay out the drift between the train splits of two datasets."""
    label, *features = science.drift(before, now)
    measured = [one.level for one in features if one.level]
    # New, missing and changed features matter more than those with little drift.
    notable = [one for one in features if one.level is None and one.remark]
    moved = [one for one in features if one.level]
    shown = [*moved[: _SHOWN - min(len(notable), _SHOWN // 2)], *notable[: _SHOWN // 2]]
    rows = [label, *shown]
    return DriftSection(
        before=before,
        levels=[(level, measured.count(level)) for level in LEVELS],
        rows=rows,
        left_out=len(features) - len(shown),
        widest=max([one.psi or 0.0 for one in rows] + [science.MUCH]),
    )
