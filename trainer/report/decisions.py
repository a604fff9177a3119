"""What decisions are worth: the decision curve, and the risk of what is answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainer.comparison.decisions import OF_DECISIONS, errors
from trainer.metrics import net_benefit
from trainer.metrics.binary import POSITIVE
from trainer.metrics.outcome import Outcome
from trainer.postprocessing import certainty
from trainer.report.contenders import ContenderStyle
from trainer.report.curves import curve_chart
from trellis_contracts.charts import DECISION_CURVE, GUIDE, INK, TREAT_ALL, layer, number
from trellis_contracts.decision import Cost, Rule
from trellis_contracts.leaderboard import Contender, Leaderboard

RISK = "risk"

_THRESHOLDS = np.arange(1, 100) / 100
# Shares of the examples from which on a risk is drawn: that of a few examples is noise.
_LEAST = 0.05


@dataclass(frozen=True)
class Decisions:
    """trained: the contenders of which there is something to show. positive: the class. names: of
    the metrics of decisions.
    """

    figures: Mapping[str, dict[str, Any]]
    trained: Sequence[Contender]
    positive: str | None
    names: Sequence[str] = OF_DECISIONS


def decision_section(
    board: Leaderboard, outcomes: Mapping[str, Outcome], styles: Sequence[ContenderStyle]
) -> Decisions | None:
    """The charts of what trainings decide; None if no experiment has asked for it.

    outcomes: by contender's name; none of another task than a classification.
    """
    trained = [
        contender
        for contender in board.contenders
        if (one := contender.training) and (one.decision or one.abstention or one.conformal)
    ]
    if not trained:
        return None
    figures = {}
    decided = (one.training.decision for one in trained if one.training)
    rule = next((facts.rule for facts in decided if facts), None)
    if rule is not None:
        figures[DECISION_CURVE] = _decision_curve(rule, outcomes, styles)
    handing = {one.name for one in trained if one.training and one.training.abstention}
    if handing:
        shown = [style for style in styles if style.name in handing]
        figures[RISK] = _risk(outcomes, shown, rule.cost if rule else None)
    return Decisions(figures, trained, board.positive)


def _decision_curve(
    rule: Rule, outcomes: Mapping[str, Outcome], styles: Sequence[ContenderStyle]
) -> dict[str, Any]:
    first = next(iter(outcomes.values()))
    positive = first.labels == POSITIVE
    share = float(positive.mean())
    curves = {
        style.name: (
            _THRESHOLDS,
            net_benefit.net_benefit(
                positive, outcomes[style.name].probabilities[:, 1], _THRESHOLDS
            ),
        )
        for style in styles
    }
    found = curve_chart(
        curves,
        "net benefit of deciding above each probability",
        titles=("threshold probability", "net benefit"),
        ranges=((0, 1), (-0.15 * share, 1.05 * share)),
        styles=styles,
        guide=((0, 0), (1, 0)),
        clip=True,
    )
    of_all = net_benefit.of_all(positive, _THRESHOLDS)
    x, y = (found["layer"][-1]["encoding"][axis] for axis in "xy")
    rows = [{"x": float(a), "y": float(b)} for a, b in zip(_THRESHOLDS, of_all, strict=True)]
    drawn = layer("line", {"x": x, "y": y}, rows, **GUIDE, clip=True)
    found["layer"].insert(1, {"name": TREAT_ALL, **drawn})
    if rule.cost is not None:
        at = [{"x": rule.cost.above}]
        encoding = {"x": number("x", x["title"], domain=[0, 1], axis={"tickCount": 5})}
        found["layer"].append(layer("rule", encoding, at, color=INK, opacity=0.5))
    return found


def _risk(
    outcomes: Mapping[str, Outcome], styles: Sequence[ContenderStyle], cost: Cost | None
) -> dict[str, Any]:
    curves = {}
    for style in styles:
        outcome = outcomes[style.name]
        order = np.argsort(-certainty(outcome.probabilities, outcome.threshold), kind="stable")
        number = np.arange(1, len(order) + 1)
        spent = outcome.misses.astype(float)
        if cost is not None:
            missed, alarms = errors(outcome)
            spent = cost.missed * missed + cost.false_alarm * alarms
        drawn = number >= _LEAST * len(order)
        risk = np.cumsum(spent[order]) / number
        curves[style.name] = (number[drawn] / len(order), risk[drawn])
    most = max(float(risk.max()) for _, risk in curves.values()) or 0.01
    what = "share of wrong decisions" if cost is None else "cost of an example"
    return curve_chart(
        curves,
        f"{what} among the answered examples",
        titles=("share of the examples that is answered", what),
        ranges=((0, 1), (0, 1.1 * most)),
        styles=styles,
    )
