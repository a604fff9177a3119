"""What the page says of the methods of its intervals: that of each metric, as it was used."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.wording import says
from trainer.comparison import intervals
from trainer.metrics.classification import CLASSIFICATION_METRICS
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import Outcome
from trainer.metrics.regression import REGRESSION_METRICS, ValueOutcome
from trainer.metrics.segmentation import SEGMENTATION_METRICS
from trainer.report.methods import methods_text


def board(groups=None, **metrics):
    """What the text reads of a leaderboard. metrics: (title, method, that of differences)."""
    named = ("title", "interval", "difference_interval")
    found = {
        name: SimpleNamespace(**dict(zip(named, one, strict=True))) for name, one in metrics.items()
    }
    return SimpleNamespace(metrics=found, uncertainty=SimpleNamespace(groups=groups))


@pytest.mark.parametrize("groups", [None, 12])
def test_there_are_words_for_every_method(groups):
    for one in intervals.METHODS:
        for other in intervals.DIFFERENCE_METHODS:
            assert methods_text(board(groups, a=("cost", one, other))).startswith("Cost: ")


def test_metrics_of_one_method_are_named_together():
    known = [SEGMENTATION_METRICS[n] for n in ("dice", "mask_recall", "iou", "pooled_dice")]
    found = {m.name: (m.title, m.interval, m.difference_interval) for m in known}
    of_images, of_pixels = methods_text(board(**found)).lower().split(". ")
    assert says(of_images, "dice", "iou", "studentized bootstrap")
    assert says(of_pixels, "recall of pixels", "pooled dice", "percentile bootstrap")


def of_classes(count, groups=None):
    labels = np.arange(12) % count
    return Outcome(labels, np.full((12, count), 1 / count), groups=groups)


def test_the_method_is_the_one_that_was_used():
    auc, loss = CLASSIFICATION_METRICS["auc"], CLASSIFICATION_METRICS["log_loss"]
    assert intervals.method(auc, of_classes(2)) == "newcombe"
    assert intervals.method(auc, of_classes(3)) == "pseudo-error bootstrap"
    grouped = Groups.named(np.arange(12) // 3)
    assert intervals.method(loss, of_classes(2)) == "bootstrap"
    assert intervals.method(loss, of_classes(2, grouped)) == "studentized bootstrap"
    r2 = REGRESSION_METRICS["r2"]
    numbers = ValueOutcome(np.arange(12.0), np.zeros(12), groups=grouped)
    assert intervals.method(r2, numbers) == "bootstrap"
