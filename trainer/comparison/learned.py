"""Decides whether a contender has learned anything: a ranking metric alone does not say so.

AUC and average precision look at the order of predictions, so a model whose probabilities all lie
between 0.3272 and 0.3277 may have an AUC of 0.96: no decision follows from it, and a rounding at
the endpoint takes the order away, too. Two findings say that a model is of no use:

constant  For every class, the log odds of at least 99% of the test examples lie within a half
          deciban (a factor of 1.122 in the odds). Good (Probability and the Weighing of Evidence,
          1950; Biometrika 66, 1979) calls a deciban or half of one the smallest change of evidence
          that people notice. Log odds, not probabilities: from 0.1% to 0.3% is no small step. A
          model whose log odds are right and vary that little has an AUC below 0.507. Of values:
          99% of the predictions within a twentieth of the labels' spread, which as right ones
          would explain less than 0.01% of the variance.
          If the others, up to 1%, stand out in the right direction, it is a detector of something
          rare: their correlation with the label must be more than chance (a permutation test,
          Pitman 1937, by its normal approximation, at 2.5%).
order     It orders the examples no better than chance (AUC at most 0.5; of values, no positive
          correlation), and its probabilities or values cost no less than the best constant's (log
          loss, RMSE). A weak model that is honest passes: with an AUC of 0.52 whatever its interval
          is, and with probabilities that are far off. Of masks, no better Dice than that of the
          same class everywhere.
"""

import math
from collections.abc import Mapping

import numpy as np

from trainer.comparison.scoreboard import Scoreboard
from trainer.families import FAMILIES
from trainer.metrics.outcome import AnyOutcome
from trellis_contracts.training import Training

_SHARE = 0.99
_SIGNIFICANT = 1.96
_PROGRESS = 0.01
# Fewer predictions may be equal by chance.
_FEWEST = 10


def nothing(name: str, board: Scoreboard) -> str | None:
    """Return why a scored contender is of no use, in a clause; None if it has learned something."""
    outcome = board.outcome(name)
    if len(outcome.labels) < _FEWEST:
        return None
    return _constant(outcome, board.classes) or _without_order(name, outcome, board)


def _constant(outcome: AnyOutcome, classes: tuple[str, ...]) -> str | None:
    found = outcome.constancy(classes)
    if found is None or not all(_within(*part) for part in found.parts):
        return None
    low, high = (f"{value:.{found.digits}g}" for value in _ends(found.shown))
    return f"its predictions are nearly constant: {found.words} {low} to {high}"


def _within(values: np.ndarray, width: float, labels: np.ndarray) -> bool:
    """Return whether 99% lie within the width, and the others do not stand out in the right
    direction.
    """
    middle = np.median(values)
    side = np.where(np.abs(values - middle) <= width / 2, 0.0, np.sign(values - middle))
    outside = np.count_nonzero(side)
    if not outside:
        return True
    if outside > (1 - _SHARE) * len(values):
        return False
    spreads = np.std(side) * np.std(labels)
    if not spreads:
        return True
    correlation = np.mean((side - side.mean()) * (labels - labels.mean())) / spreads
    return bool(correlation * math.sqrt(len(values) - 1) <= _SIGNIFICANT)


def _ends(values: np.ndarray) -> tuple[float, float]:
    """The range of the middle 99%."""
    low, high = np.quantile(values, [(1 - _SHARE) / 2, (1 + _SHARE) / 2])
    return float(low), float(high)


def _without_order(name: str, outcome: AnyOutcome, board: Scoreboard) -> str | None:
    scores = next(s.metrics for s in board.standings if s.name == name)
    family = FAMILIES[outcome.family]
    loss = board.metrics[family.loss]
    constant = board.chance(loss)
    if constant is None or loss.name not in scores:
        return None
    if loss.sign * (scores[loss.name].value - constant) > 0:
        return None
    cost = (
        f"a {loss.title} of {scores[loss.name].value:.4g} is no better than the {constant:.4g} of "
        "a constant"
    )
    if family.order is None:
        return None if outcome.disorder is None else f"{outcome.disorder}{cost}"
    if family.order not in scores:
        return None
    order, value = board.metrics[family.order], scores[family.order].value
    by_chance = board.chance(order)
    if by_chance is None or value > by_chance:
        return None
    return f"its {order.title} of {value:.4g} is chance, and {cost}"


def stalled(training: Training | None) -> str | None:
    """Say, in a clause, that a training's loss on the train split never fell below its first
    epoch's.

    training: its metrics.json. None if it fell, or there is one epoch only.
    """
    losses = [row["loss"] for row in training.history if "loss" in row] if training else []
    if len(losses) < 2 or min(losses[1:]) < losses[0]:
        return None
    return (
        f"its loss on the train split did not fall: {losses[0]:.4g} in epoch 1, at least "
        f"{min(losses[1:]):.4g} in the {len(losses) - 1} after it"
    )


def unfinished(training: Training | None) -> str | None:
    """Say, in a clause, that a training ended while it still became better.

    training: its metrics.json. Its last epoch was its best, so that no early stopping ended it, and
    lowered the loss on the validation split as much as BigQuery ML asks of an iteration to go on. A
    learning rate that falls ends a training as planned.
    """
    if training is None or training.best_epoch != len(training.history):
        return None
    losses = [row["val_loss"] for row in training.history if "val_loss" in row]
    if len(losses) < 2 or training.hyperparameters.get("schedule", "constant") != "constant":
        return None
    before, last, count = min(losses[:-1]), losses[-1], len(losses)
    # Of a loss that may be negative, shares say nothing.
    if min(before, last) <= 0 or (fell := 1 - last / before) < _PROGRESS:
        return None
    return (
        f"still became better in the last of its {count} epochs, by {fell:.0%} in the loss on the "
        f"validation split: more may be better (train: {{epochs: {2 * count}}})"
    )


def findings(board: Scoreboard) -> Mapping[str, str]:
    """Explain, by name and in the order of the ranking, which contenders have learned nothing."""
    found = {s.name: nothing(s.name, board) for s in board.standings}
    return {name: why for name, why in found.items() if why}
