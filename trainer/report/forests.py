"""Estimates with their intervals on one axis, as positions for templates/charts.html.j2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer.comparison.leaderboard import shown_decimals
from trainer.report.charts import score
from trainer.report.contenders import shortened
from trainer.report.scales import Scale, Tick

# Letters of a contender's name, and the width of one in pixels.
_LONGEST = 40
_LETTER = 7.3


@dataclass(frozen=True)
class ForestRow:
    """One estimate with its interval. y, value, low, high in pixels; texts go to its right.

    name: shortened if it is very long.
    """

    name: str
    full_name: str
    y: float
    value: float
    low: float
    high: float
    text: str
    remark: str
    winner: bool


@dataclass(frozen=True)
class Forest:
    """Estimates with intervals under each other on one axis, the way meta-analyses draw them.

    guide: pixel of a vertical line to compare with. remarks: pixel where the remarks begin.
    """

    width: int
    height: int
    left: float
    right: float
    bottom: float
    guide: float
    remarks: float
    ticks: Sequence[Tick]
    rows: Sequence[ForestRow]


def ranking_forest(board: Mapping, metric: str) -> Forest:
    """The ranking by one metric, from leaderboard.json's content, without the failed."""
    scored = [(c, c["metrics"][metric]) for c in board["contenders"] if metric in c["metrics"]]
    places = shown_decimals(board["metrics"][metric])
    return _forest(
        [(c["name"], one, interval(one, places), c["rank"] == 1) for c, one in scored],
        guide=scored[0][1]["value"],
        places=places,
    )


def difference_forest(board: Mapping, metric: str) -> Forest | None:
    """Differences to the winner by one metric; None if no other was scored."""
    won = "right alone" if board["dataset"]["classes"] else "closer"
    rows = []
    for contender in board["contenders"]:
        if difference := contender["difference"]:
            remark = (
                f"{won}: winner {difference['won_by_winner']:,}, this {difference['won_by_this']:,}"
            )
            rows.append((contender["name"], difference["metrics"][metric], remark, False))
    if not rows:
        return None
    places = shown_decimals(board["metrics"][metric])
    return _forest(rows, guide=0.0, places=places, signed=True)


def _forest(
    estimates: Sequence[tuple[str, Mapping, str, bool]],
    guide: float,
    places: int,
    signed: bool = False,
) -> Forest:
    width, row_height, top = 1000, 38, 10.0
    names = [shortened(name, _LONGEST) for name, _, _, _ in estimates]
    texts = [score(estimate["value"], places, signed) for _, estimate, _, _ in estimates]
    left = max(180.0, max(map(len, names)) * _LETTER + 30)
    right = 660.0
    bottom = top + row_height * len(estimates)
    shown = [guide]
    for _, estimate, _, _ in estimates:
        shown += [estimate["value"], *estimate["interval"]]
    scale = Scale.around(shown, left, right, padding=0.06, logarithmic=False)
    rows = [
        ForestRow(
            name=names[index],
            full_name=name,
            y=top + row_height * (index + 0.5),
            value=scale(estimate["value"]),
            low=scale(estimate["interval"][0]),
            high=scale(estimate["interval"][1]),
            text=texts[index],
            remark=remark,
            winner=winner,
        )
        for index, (name, estimate, remark, winner) in enumerate(estimates)
    ]
    return Forest(
        width=width,
        height=int(bottom + 34),
        left=left,
        right=right,
        bottom=bottom,
        guide=scale(guide),
        remarks=right + 44 + max(map(len, texts)) * 8.4,
        ticks=scale.ticks(6 if right - left > 400 else 4),
        rows=rows,
    )


def interval(estimate: Mapping, places: int = 4, signed: bool = False) -> str:
    """An estimate's interval as text: [0.9364, 0.9909]."""
    low, high = estimate["interval"]
    return f"[{score(low, places, signed)}, {score(high, places, signed)}]"
