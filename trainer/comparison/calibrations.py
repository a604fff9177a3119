"""What calibration has changed on the test split, which it was not fitted on.

Brier score and log loss are proper scoring rules: the probabilities that fit best have the least of
them, so the difference of two is evidence. The calibration error is not, and its estimate is biased
upwards on small splits, the more so the better the calibration is: it has an interval before and
after, and no difference.
"""

from trainer.comparison import samples
from trainer.comparison.intervals import DIFFERENCE_METHODS, LEVEL
from trainer.comparison.scoreboard import Scoreboard, estimate, measured
from trainer.metrics.outcome import AnyOutcome
from trellis_contracts.leaderboard import CalibrationFacts
from trellis_contracts.postprocessing import Calibration

ERROR = "ece"
PROPER = ("brier", "log_loss")


def facts(
    calibration: Calibration, after: AnyOutcome, before: AnyOutcome, scores: Scoreboard
) -> CalibrationFacts:
    """What the leaderboard has of a calibrated training. after, before: its predictions of the test
    split with and without it.
    """
    known = [scores.metrics[name] for name in (ERROR, *PROPER) if name in scores.metrics]
    values = measured(before, known, scores.decimals)
    proper = [metric for metric in known if metric.name in PROPER]
    drawn = samples.draw({"after": after, "before": before}, proper)
    changes = {}
    for metric in proper:
        name, places = metric.name, scores.decimals(metric)
        method = DIFFERENCE_METHODS[metric.difference_interval]
        pair = drawn["after"][name], drawn["before"][name]
        reach = method(metric, after, before, *pair, LEVEL)
        # Computed from the rounded values, so that the table adds up.
        change = round(metric.point(after), places) - values[name].value
        changes[name] = estimate(change, reach, places)
    return CalibrationFacts(
        method=calibration.method,
        examples=calibration.examples,
        temperature=calibration.temperature,
        remark=calibration.remark,
        before=values,
        change=changes,
    )
