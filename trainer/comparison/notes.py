"""What a reader must know before believing the ranking, in sentences.

The notes stand in leaderboard.json, above the table in the terminal and at the top of the report.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from trainer.comparison.metric import Metric
from trainer.comparison.outcome import Outcome
from trainer.comparison.regression import ValueOutcome
from trainer.comparison.scoreboard import Standing

# A split below this is called small: one example is then more than a tenth of a point of accuracy.
SMALL_SPLIT = 1000
# Below this many errors, or examples of a class, resampling them says little about another split
# (measured in `proportions`).
FEW = 10
# From this share of all squared error on, one example of a small split decides its RMSE.
_HEAVY = 0.2
_NAMED = 8


def notes(
    outcomes: Mapping[str, Outcome] | Mapping[str, ValueOutcome],
    standings: Sequence[Standing],
    failed: int,
    primary: Metric,
    classes: Sequence[str],
) -> list[str]:
    """Sentences on the size of the test split, few errors, rare classes, ties, and failures.

    classes: empty for a regression, of which there is less to say.
    """
    found = [
        _small_split(outcomes) if classes else _small_regression(outcomes),
        _close_race(standings, primary),
        _few_errors(outcomes) if classes else None,
        _rare_classes(outcomes, classes) if classes else None,
        f"{failed} of {failed + len(standings)} contenders failed and could not be scored."
        if failed
        else None,
    ]
    return [note for note in found if note]


def _small_split(outcomes: Mapping[str, Outcome]) -> str | None:
    n = len(next(iter(outcomes.values())).labels)
    if n >= SMALL_SPLIT:
        return None
    return (
        f"The test split is small: with {n} examples, a single one is {100 / n:.2f} percentage "
        "points of accuracy."
    )


def _small_regression(outcomes: Mapping[str, ValueOutcome]) -> str | None:
    n = len(next(iter(outcomes.values())).labels)
    if n >= SMALL_SPLIT:
        return None
    shares = {
        name: float((outcome.residuals**2).max() / (outcome.residuals**2).sum())
        for name, outcome in outcomes.items()
        if outcome.misses.any()
    }
    worst = max(shares, key=shares.get, default=None)
    if worst is None or shares[worst] < _HEAVY:
        return f"The test split is small: {n} examples."
    return (
        f"The test split is small: {n} examples, of which a single one makes up "
        f"{shares[worst]:.0%} of {worst}'s squared error."
    )


def _close_race(standings: Sequence[Standing], primary: Metric) -> str | None:
    close = [s.name for s in standings if s.difference and not s.difference.distinguishable]
    if not close:
        return None
    return (
        f"By {primary.title}, this test split does not tell {_joined(close)} from the "
        "champion: the interval of the difference includes zero."
    )


def _few_errors(outcomes: Mapping[str, Outcome]) -> str | None:
    few = [name for name, outcome in outcomes.items() if np.count_nonzero(~outcome.correct) < FEW]
    if not few:
        return None
    verb = "makes" if len(few) == 1 else "make"
    if next(iter(outcomes.values())).class_count == 2:
        good, bad = "The intervals of accuracy and AUC allow", "F1 and differences in AUC rest"
    else:
        good, bad = "The interval of accuracy allows", "F1 and AUC rest"
    return (
        f"{_joined(few)} {verb} fewer than {FEW} errors. {good} for that; those of balanced "
        f"accuracy, {bad} on resampling these few and are too narrow."
    )


def _rare_classes(outcomes: Mapping[str, Outcome], classes: Sequence[str]) -> str | None:
    labels = next(iter(outcomes.values())).labels
    counts = np.bincount(labels, minlength=len(classes))
    rare = [f"{name} ({count})" for name, count in zip(classes, counts, strict=True) if count < FEW]
    if not rare:
        return None
    return (
        f"Fewer than {FEW} test examples for {len(rare)} of {len(classes)} classes: "
        f"{_joined(rare)}. Their rows in the tables per class say little."
    )


def _joined(names: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'; long lists are cut."""
    if len(names) > _NAMED:
        names = [*names[:_NAMED], f"{len(names) - _NAMED} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
