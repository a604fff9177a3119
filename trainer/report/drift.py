"""The drift since the dataset that the experiment used before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trellis_contracts import drift as science
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.drift import LEVELS, Drift

_SHOWN = 25


@dataclass(frozen=True)
class DriftSection:
    """The label's drift and the features', the largest first; bounded.

    before: the earlier dataset. levels: how many features have each. rows: of the table, with
    their levels. left_out: features that moved least and are not shown.
    """

    before: DatasetDescription
    levels: Sequence[tuple[str, int]]
    rows: Sequence[tuple[Drift, str | None]]
    left_out: int


def drift_section(
    before: DatasetDescription,
    now: DatasetDescription,
    limits: Mapping[str, float] = science.LIMITS,
) -> DriftSection:
    """Lay out the drift between the train splits of two datasets. limits: of `source.changes`."""
    label, *features = science.measure(before, now)
    moved = sorted(
        (one for one in features if one.distance),
        key=lambda one: (-LEVELS.index(one.level(limits) or LEVELS[0]), -_size(one)),
    )
    # New, missing and changed features matter more than those with little drift.
    notable = [one for one in features if one.distance is None]
    shown = [*moved[: _SHOWN - min(len(notable), _SHOWN // 2)], *notable[: _SHOWN // 2]]
    levels = [one.level(limits) for one in moved]
    return DriftSection(
        before=before,
        levels=[(level, levels.count(level)) for level in LEVELS],
        rows=[(one, one.level(limits)) for one in (label, *shown)],
        left_out=len(features) - len(shown),
    )


def _size(one: Drift) -> float:
    return abs(one.distance.value) if one.distance else 0.0
