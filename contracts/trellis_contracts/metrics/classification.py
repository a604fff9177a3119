"""Metrics of classes."""

from trellis_contracts.metrics.metric import Metric
from trellis_contracts.tasks import BINARY, NAMED, ONE_CLASS

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
}
