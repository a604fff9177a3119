"""Estimates with their intervals on one axis, as positions for templates/charts.html.j2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer.report.charts import score
from trainer.report.scales import Scale, Tick


@dataclass(frozen=True)
class ForestRow:
    """One estimate with its interval. y, value, low, high in pixels; texts go to its right."""

    name: str
    y: float
    value: float
    low: float
    high: float
    text: str
    remark: str
    champion: bool


@dataclass(frozen=True)
class Forest:
    """Estimates with intervals under each other on one axis, the way meta-analyses draw them.

    guide: pixel of a vertical line to compare with.
    """

    width: int
    height: int
    left: float
    right: float
    bottom: float
    guide: float
    ticks: Sequence[Tick]
    rows: Sequence[ForestRow]


def ranking_forest(board: Mapping, metric: str) -> Forest:
    """The ranking by one metric, from leaderboard.json's content, without the failed."""
    scored = [(c, c["metrics"][metric]) for c in board["contenders"] if metric in c["metrics"]]
    return _forest(
        [(c["name"], estimate, interval(estimate), c["rank"] == 1) for c, estimate in scored],
        guide=scored[0][1]["value"],
    )


def difference_forest(board: Mapping, metric: str) -> Forest | None:
    """Differences to the champion by one metric; None if the champion has no challenger."""
    rows = []
    for contender in board["contenders"]:
        if difference := contender["difference"]:
            remark = (
                f"right alone: champion {difference['only_champion']:,}, "
                f"this {difference['only_this']:,}"
            )
            rows.append((contender["name"], difference["metrics"][metric], remark, False))
    return _forest(rows, guide=0.0, signed=True) if rows else None


def _forest(
    estimates: Sequence[tuple[str, Mapping, str, bool]], guide: float, signed: bool = False
) -> Forest:
    width, row_height, top = 1000, 38, 10.0
    left, right = 180.0, 660.0
    bottom = top + row_height * len(estimates)
    shown = [guide]
    for _, estimate, _, _ in estimates:
        shown += [estimate["value"], *estimate["interval"]]
    scale = Scale.around(shown, left, right, padding=0.06, logarithmic=False)
    rows = [
        ForestRow(
            name=name,
            y=top + row_height * (index + 0.5),
            value=scale(estimate["value"]),
            low=scale(estimate["interval"][0]),
            high=scale(estimate["interval"][1]),
            text=score(estimate["value"], signed),
            remark=remark,
            champion=champion,
        )
        for index, (name, estimate, remark, champion) in enumerate(estimates)
    ]
    return Forest(width, int(bottom + 34), left, right, bottom, scale(guide), scale.ticks(6), rows)


def interval(estimate: Mapping, signed: bool = False) -> str:
    """An estimate's interval as text: [0.9364, 0.9909]."""
    low, high = estimate["interval"]
    return f"[{score(low, signed)}, {score(high, signed)}]"
