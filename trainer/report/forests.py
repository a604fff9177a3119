"""Estimates with their intervals under each other on one axis, the way meta-analyses draw them."""

from collections.abc import Mapping, Sequence
from typing import Any

from trainer.report.contenders import shortened
from trainer.report.numbers import interval, score
from trellis_contracts.charts import ACCENT, GUIDE, INK, MUTED, chart, layer, name, number
from trellis_contracts.leaderboard import Estimate, Leaderboard, Slices
from trellis_contracts.tasks import NAMED

# Letters of a contender's name. In pixels: a letter in a name, a value and a remark, in the widest
# of readers' common fonts (DejaVu Sans: digits have 0.64, in bold 0.70 of the size); gaps.
_LONGEST = 40
_LETTER, _VALUE, _REMARK = 8.4, 9.8, 7.7
_GAP = 20
_WIDTH, _STEP = 1000, 38

MOST_SLICES = 30
"""Slices of the figure; the table has all of them."""


def ranking_forest(board: Leaderboard) -> dict[str, Any]:
    """The ranking by the primary metric, without the failed."""
    metric, places = board.primary_metric, board.primary.shown_decimals
    scored = [(c, c.metrics[metric]) for c in board.contenders if metric in c.metrics]
    return _forest(
        [_row(c.name, one, places, interval(one, places), c.rank == 1) for c, one in scored],
        f"{board.primary.title} of every contender with its interval",
        guide=scored[0][1].value,
    )


def difference_forest(board: Leaderboard) -> dict[str, Any] | None:
    """Differences to the winner by the primary metric; None if no other was scored."""
    won = "right alone" if board.task in NAMED else "closer"
    rows = []
    for contender in board.contenders:
        if found := contender.difference:
            remark = f"{won}: winner {found.won_by_winner:,}, this {found.won_by_this:,}"
            estimate, places = found.metrics[board.primary_metric], board.primary.shown_decimals
            rows.append(_row(contender.name, estimate, places, remark, False, signed=True))
    title = f"difference of every contender from the winner in {board.primary.title}"
    return _forest(rows, title, guide=0.0) if rows else None


def slice_forest(board: Leaderboard, slices: Slices) -> dict[str, Any] | None:
    """Scores of one contender in the slices by the primary metric, the largest gaps first; None if
    it is undefined in all of them, as an AUC is by class.
    """
    metric, places = board.primary_metric, board.primary.shown_decimals
    overall = next(c.metrics[metric].value for c in board.contenders if c.name == slices.of)
    rows = []
    for one in slices.slices[:MOST_SLICES]:
        if found := one.metrics[slices.of].get(metric):
            remark = f"{one.examples:,} examples"
            if gap := one.gap:
                fewer = max(0, places - 1)
                remark += f", gap {score(gap.value, fewer, True)} {interval(gap, fewer, True)}"
            rows.append(_row(one.name, found, places, remark, one.is_worse(board.primary.goal)))
    title = f"{board.primary.title} of {slices.of} in every slice with its interval"
    return _forest(rows, title, guide=overall) if rows else None


def _row(
    contender: str, estimate: Estimate, places: int, remark: str, winner: bool, signed: bool = False
) -> dict[str, Any]:
    return {
        "contender": contender,
        "name": shortened(contender, _LONGEST),
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "text": score(estimate.value, places, signed),
        "remark": remark,
        "winner": winner,
    }


def _forest(rows: Sequence[Mapping[str, Any]], description: str, guide: float) -> dict[str, Any]:
    longest = {field: max(len(row[field]) for row in rows) for field in ("name", "text", "remark")}
    left = max(150.0, longest["name"] * _LETTER) + _GAP
    value, remark = longest["text"] * _VALUE + _GAP, longest["remark"] * _REMARK
    width = int(_WIDTH - left - value - remark - 2 * _GAP)
    x = number(
        "value",
        axis={"grid": True, "ticks": False, "labelFontSize": 12, "tickCount": 6},
        padding=20,
    )
    y = name("contender", axis=None)
    colour = {"condition": {"test": "datum.winner", "value": ACCENT}, "value": MUTED}
    whisker = {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, "color": colour}

    weight = "datum.winner ? 'bold' : 'normal'"

    def words(field: str, at: float, **look: Any) -> dict[str, Any]:
        encoding = {"x": {"value": at}, "y": y, "text": {"field": field}}
        return layer("text", encoding, align="left", **look)

    # A figure is as wide as its marks; their texts are measured in another font than the reader's.
    room = {"x": {"value": -left}, "x2": {"value": width + _GAP + value + remark}, "y": y}
    return chart(
        [
            layer("rule", room, opacity=0),
            layer("rule", {"x": {**x, "field": "guide"}}, [{"guide": guide}], **GUIDE),
            layer("rule", whisker, strokeWidth=2.5, strokeCap="round"),
            layer("circle", {"x": x, "y": y, "color": colour}, size=130, opacity=1),
            words("name", -left, fontSize=14, fontWeight={"expr": weight}, color=INK),
            words("text", width + _GAP, fontSize=14, fontWeight="bold", color=INK),
            words("remark", width + _GAP + value, fontSize=12, color=MUTED),
        ],
        description,
        width=width,
        height={"step": _STEP},
        rows=rows,
    )
