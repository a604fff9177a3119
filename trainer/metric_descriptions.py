"""What every metric means, by its name: those of training, of which the leaderboard has most."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """goal: maximize or minimize."""

    goal: str
    description: str


METRICS = {
    "accuracy": Metric(
        "maximize",
        "share of examples whose predicted class is the true one; multi-label: share of right "
        "decisions, over all examples and classes",
    ),
    "exact_match": Metric("maximize", "share of examples whose classes are all decided rightly"),
    "loss": Metric(
        "minimize",
        "classification: mean cross-entropy of the predicted probabilities, in nats, multi-label: "
        "of a class and its absence, averaged over the classes; regression: "
        "mean squared error in units of the label's variance on the train split, so that 1 is "
        "what predicting its mean costs",
    ),
    "balanced_accuracy": Metric(
        "maximize",
        "recall, averaged over the classes: rare classes count as much as frequent ones; "
        "multi-label: over each class and its absence",
    ),
    "f1": Metric(
        "maximize",
        "harmonic mean of precision and recall, averaged over the classes, also if there are only "
        "two; multi-label: not of their absence",
    ),
    "auc": Metric(
        "maximize",
        "area under the ROC curve: chance that an example of a class is given a higher probability "
        "of it than one of another class, ties counting half; averaged over the classes",
    ),
    "average_precision": Metric(
        "maximize",
        "area under the precision-recall curve by steps, one class against the rest, averaged over "
        "the classes, also if there are only two",
    ),
    "brier": Metric(
        "minimize",
        "mean squared distance of the predicted probabilities from the truth, 0 to 2; of two "
        "classes half of it; multi-label: of each class, averaged over them",
    ),
    "ece": Metric(
        "minimize",
        "expected calibration error: mean gap between confidence and accuracy over equal bins of "
        "confidence; only for the gate, as a model that always predicts the classes' shares has "
        "none",
    ),
    "rmse": Metric("minimize", "root of the mean squared error, in the label's unit"),
    "mae": Metric("minimize", "mean absolute error, in the label's unit"),
    "median_absolute_error": Metric("minimize", "median absolute error, in the label's unit"),
    "r2": Metric(
        "maximize",
        "coefficient of determination: share of the labels' variance on the split that is "
        "explained; 0 is as good as predicting their mean",
    ),
}
