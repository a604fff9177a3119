"""Agreement of the contracts' declarations with the trainer."""

import importlib

from trainer.comparison.scoreboard import metrics_for
from trellis_contracts import metrics
from trellis_contracts.models import MODELS
from trellis_contracts.tasks import CLASSIFICATION, FAMILIES, TASKS


def test_every_declared_model_has_a_module():
    for name in MODELS:
        assert callable(importlib.import_module(f"trainer.models.{name}").build)


def test_all_that_the_leaderboard_computes_can_be_tuned_for_or_bounded():
    """Under its own name, but for the log loss, which is the loss of all classifications."""
    for task in TASKS:
        classes = ("no", "yes") if task == "binary_classification" else ()
        of_leaderboard = metrics_for(task if task in FAMILIES else CLASSIFICATION, classes)
        offered = {*metrics.of_task(task), *metrics.gate_only(task)} - {"loss"}
        assert offered | {"log_loss"} == {*of_leaderboard, "log_loss"}
        for metric in offered:
            assert metrics.METRICS[metric].goal == of_leaderboard[metric].goal
