"""Selects the training that competes: the best on the validation split.

The test split judges one training, once. The best of several test scores is too good by chance, the
more so the closer they are: of five equal models with an accuracy of 0.95 on 200 test examples, the
best one's test accuracy is 0.967 on average (Cawley & Talbot, Journal of Machine Learning Research
11, 2010, on this bias).

A service's model has no score on the validation split. So one that `deploy.allow` names competes
with the selected training on the test split: the first of the leaderboard is the challenger. That
is a choice between as many as there are services, one model of each kind, and not between all
trainings; its score is a little too good, the less the larger the test split is.
"""

from collections.abc import Collection, Sequence

from trainer.comparison.run_folder import Contender
from trainer.comparison.scoreboard import metric_named
from trellis_contracts.training import Training

TRAININGS = "trainings"
"""What `deploy.allow` calls the run's own trainings."""


def challenger(
    contenders: Sequence[Contender],
    ranking: Sequence[str],
    selected: str | None,
    allow: Collection[str],
) -> str | None:
    """Name of the contender that the gate judges; None if there is none.

    ranking: names of those that were scored, the best first. selected: the selected training.
    allow: TRAININGS, and kinds of baselines.
    """
    may = {contender.name for contender in contenders if contender.kind in allow}
    if selected is not None and TRAININGS in allow:
        may.add(selected)
    return next((name for name in ranking if name in may), None)


def selected_training(contenders: Sequence[Contender], family: str) -> str | None:
    """Name of the training that is best by its own metric on the validation split.

    contenders: those that can be scored, a run's trainings among them. Equal ones go by the lower
    validation loss, then in the given order. None without a training.
    """
    figures = {c.name: c.training for c in contenders if c.kind == "training" and c.training}
    return min(figures, key=lambda name: _badness(figures[name], family), default=None)


def _badness(training: Training, family: str) -> tuple[float, float]:
    """Sort key of the selection: lower is better."""
    sign = metric_named(training.metric, family).sign
    return -sign * training.best, training.validation["loss"]
