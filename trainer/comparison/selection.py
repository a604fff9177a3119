"""Selects the training that competes: the best on the validation split.

The test split judges one training, once. The best of several test scores is too good by chance, the
more so the closer they are: of five equal models with an accuracy of 0.95 on 200 test examples, the
best one's test accuracy is 0.967 on average (Cawley & Talbot, Journal of Machine Learning Research
11, 2010, on this bias).
"""

from collections.abc import Sequence

from trainer.comparison.run_folder import Contender
from trainer.comparison.scoreboard import metric_named
from trellis_contracts.training import Training


def selected_training(contenders: Sequence[Contender], family: str) -> str | None:
    """Name of the training that is best by its own metric on the validation split.

    contenders: those that can be scored, a run's trainings among them. Equal ones go by the lower
    validation loss, then in the given order. None without a training.
    """
    figures = {c.name: c.training for c in contenders if c.kind == "tensorflow" and c.training}
    return min(figures, key=lambda name: _badness(figures[name], family), default=None)


def _badness(training: Training, family: str) -> tuple[float, float]:
    """Sort key of the selection: lower is better."""
    sign = metric_named(training.metric, family).sign
    return -sign * training.best, training.validation["loss"]
