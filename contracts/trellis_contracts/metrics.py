"""The metrics by which models are tuned, stopped, gated and compared: name, goal, tasks, words.

The trainer computes them (trainer.metrics); code that lists, checks or explains
a metric reads this table. A gate may bound a metric in one of the parts over which it is averaged:
METRIC@PART, as in horizon_auc@365 or dice@cell.
"""

from dataclasses import dataclass
from typing import Literal

from trellis_contracts.tasks import (
    BINARY,
    MULTILABEL,
    NAMED,
    ONE_CLASS,
    REGRESSION,
    SEGMENTATION,
    SURVIVAL,
)

Goal = Literal["maximize", "minimize"]


@dataclass(frozen=True)
class Metric:
    """goal: maximize or minimize. tasks: that have it. gate_only: a gate may bound it, but nothing
    may be chosen by it. by_decision: it depends on which class is decided, so that a threshold can
    be chosen for it. part: what it is an average over, of which a gate may bound each one; None:
    it has no parts.
    """

    goal: Goal
    tasks: tuple[str, ...]
    description: str
    gate_only: bool = False
    by_decision: bool = False
    part: str | None = None


METRICS = {
    "accuracy": Metric(
        "maximize",
        NAMED,
        "share of examples whose predicted class is the true one; multi-label: share of right "
        "decisions, over all examples and classes",
        by_decision=True,
    ),
    "balanced_accuracy": Metric(
        "maximize",
        NAMED,
        "macro recall: averaged over the classes, rare classes count as much as frequent ones; "
        "multi-label: over each class and its absence",
        by_decision=True,
    ),
    "f1": Metric(
        "maximize",
        NAMED,
        "macro F1: harmonic mean of precision and recall, averaged over the classes, also if there "
        "are only two; multi-label: not of their absence",
        by_decision=True,
    ),
    "auc": Metric(
        "maximize",
        NAMED,
        "area under the ROC curve: chance that an example of a class is given a higher probability "
        "of it than one of another class, ties counting half; the same for both of two classes, "
        "macro (averaged over the classes) of more and multi-label; chance is 0.5",
    ),
    "average_precision": Metric(
        "maximize",
        NAMED,
        "area under the precision-recall curve by steps: of two classes that of the positive one, "
        "the second; of more and multi-label macro: one class against the rest, averaged over the "
        "classes; chance is the share of the class",
    ),
    "exact_match": Metric(
        "maximize",
        (MULTILABEL,),
        "share of examples whose classes are all decided rightly",
    ),
    "rmse": Metric(
        "minimize",
        (REGRESSION,),
        "root of the mean squared error, in the label's unit",
    ),
    "mae": Metric(
        "minimize",
        (REGRESSION,),
        "mean absolute error, in the label's unit",
    ),
    "median_absolute_error": Metric(
        "minimize",
        (REGRESSION,),
        "median absolute error, in the label's unit",
    ),
    "r2": Metric(
        "maximize",
        (REGRESSION,),
        "coefficient of determination: share of the labels' variance on the split that is "
        "explained; 0 is as good as predicting their mean",
    ),
    "concordance": Metric(
        "maximize",
        (SURVIVAL,),
        "Harrell's concordance index: share of the pairs of examples, of which it is known whose "
        "event came first, in which that one has the higher risk, ties counting half; chance is "
        "0.5",
    ),
    "uno_concordance": Metric(
        "maximize",
        (SURVIVAL,),
        "Uno's concordance index up to the last horizon: as `concordance`, each pair weighted by "
        "the inverse probability of censoring, so that it does not depend on the censoring",
    ),
    "integrated_brier": Metric(
        "minimize",
        (SURVIVAL,),
        "integrated Brier score: squared error of the predicted probability of survival, weighted "
        "by the inverse probability of censoring, averaged over time",
    ),
    "horizon_auc": Metric(
        "maximize",
        (SURVIVAL,),
        "cumulative/dynamic AUC at each horizon, of events until then against what survives it, "
        "averaged over the horizons; chance is 0.5",
        part="horizon",
    ),
    "dice": Metric(
        "maximize",
        (SEGMENTATION,),
        "Dice coefficient of an image, 2 |P and T| / (|P| + |T|) over the pixels P that have a "
        "class in the prediction and T in the mask: averaged over the foreground classes that "
        "either of both has, then over the images",
        part="class",
    ),
    "iou": Metric(
        "maximize",
        (SEGMENTATION,),
        "intersection over union of an image, |P and T| / |P or T|, averaged as `dice` is",
        part="class",
    ),
    "pooled_dice": Metric(
        "maximize",
        (SEGMENTATION,),
        "Dice coefficient of all pixels of the split as one image, averaged over the foreground "
        "classes: large objects count more than in `dice`",
        part="class",
    ),
    "pooled_iou": Metric(
        "maximize",
        (SEGMENTATION,),
        "intersection over union of all pixels of the split as one image, averaged over the "
        "foreground classes",
        part="class",
    ),
    "mask_precision": Metric(
        "maximize",
        (SEGMENTATION,),
        "share of the pixels predicted as a class that have it, over all images, averaged over the "
        "foreground classes",
        part="class",
    ),
    "mask_recall": Metric(
        "maximize",
        (SEGMENTATION,),
        "share of the pixels of a class that are predicted as it, over all images, averaged over "
        "the foreground classes",
        part="class",
    ),
    "loss": Metric(
        "minimize",
        (*NAMED, REGRESSION, SEGMENTATION),
        "classification: mean cross-entropy of the predicted probabilities, in nats, multi-label: "
        "of a class and its absence, averaged over the classes; regression: "
        "mean squared error in units of the label's variance on the train split, so that 1 is "
        "what predicting its mean costs; segmentation: mean cross-entropy of the pixels, in nats",
    ),
    "brier": Metric(
        "minimize",
        NAMED,
        "mean squared distance of the predicted probabilities from the truth, 0 to 2; of two "
        "classes half of it; multi-label: of each class, averaged over them",
    ),
    "sensitivity": Metric(
        "maximize",
        (BINARY,),
        "of two classes: recall of the positive one, the second, at the decision threshold; only "
        "for the gate, as a model that always decides for it has 1",
        gate_only=True,
    ),
    "specificity": Metric(
        "maximize",
        (BINARY,),
        "of two classes: recall of the other one, at the decision threshold; only for the gate",
        gate_only=True,
    ),
    "ppv": Metric(
        "maximize",
        (BINARY,),
        "of two classes: positive predictive value, the precision of the positive one at the "
        "decision threshold; undefined, and so below any bound, if none is decided as such; only "
        "for the gate",
        gate_only=True,
    ),
    "npv": Metric(
        "maximize",
        (BINARY,),
        "of two classes: negative predictive value, the precision of the other one at the decision "
        "threshold; only for the gate",
        gate_only=True,
    ),
    "ece": Metric(
        "minimize",
        ONE_CLASS,
        "expected calibration error: mean gap between confidence and accuracy over equal bins of "
        "confidence; only for the gate, as a model that always predicts the classes' shares has "
        "none",
        gate_only=True,
    ),
    "horizon_calibration": Metric(
        "minimize",
        (SURVIVAL,),
        "calibration error at the horizons: gap between the mean predicted probability of survival "
        "and that of Kaplan and Meier, averaged over the horizons; only for the gate, as a model "
        "that always predicts the latter has none",
        gate_only=True,
        part="horizon",
    ),
    "boundary_distance": Metric(
        "minimize",
        (SEGMENTATION,),
        "95th percentile of the distances, in pixels, between the boundaries of prediction and "
        "mask, in both directions: the mean over the foreground classes that both have, then over "
        "the images; only for the gate, as a class that is never predicted has none",
        gate_only=True,
        part="class",
    ),
}
"""In the order in which a task lists them: the first that a task has is its default."""

BY_DECISION = tuple(name for name, metric in METRICS.items() if metric.by_decision)


def parted(name: str) -> tuple[str, str | None]:
    """A metric's name and its part, of what a gate names: METRIC, or METRIC@PART."""
    metric, at, part = name.partition("@")
    return metric, part if at else None


def of_task(task: str) -> list[str]:
    """Names of the metrics by which a task can be tuned; the first is the default."""
    return [n for n, m in METRICS.items() if task in m.tasks and not m.gate_only]


def gate_only(task: str) -> list[str]:
    """Names of the further metrics of a task, which only a gate may bound."""
    return [n for n, m in METRICS.items() if task in m.tasks and m.gate_only]


IN_TRAINING = tuple(name for name, metric in METRICS.items() if not metric.gate_only)
"""Names of the metrics that trainings report; the others are the comparison's alone."""
