"""Metrics of multi-label classifiers on a test split, by the same code for every contender.

Each class is a classification of its own, present or absent, and most metrics are means
over those. What needs both, examples that have a class and others that do not, leaves out the
classes of which the split has only one kind. As in `classification`, `point` is scikit-learn's, and
tests check that `resampled` agrees.

Percentage of 200 simulated test splits whose interval, meant for 95%, covered the true score, for
normal scores of five classes that 40, 30, 20, 10 and 5% of the examples have (percentile bootstrap
in brackets):

                       100 examples                    400
                       AUC 0.856       0.998           0.856       0.998
    AUC                98 (94)        100 (88)         92 (92)    100 (91)
    average precision  99 (92)        100 (72)         95 (90)     99 (84)
    macro F1           90 (90)        100 (88)         90 (90)     97 (90)
    balanced accuracy  96 (96)        100 (86)         94 (93)     98 (91)
    accuracy           94 (94)        100 (94)         98 (96)     98 (94)
    exact match        93 (91)         98 (96)         99 (98)     96 (94)
    log loss           94             92               94          94
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn import metrics as sklearn_metrics

from trainer import label_sets
from trainer.metrics import auc, chance, precision
from trainer.metrics.auc import EXACT_UP_TO
from trainer.metrics.groups import Groups
from trainer.metrics.metric import Metric
from trainer.metrics.outcome import FLOOR, ClassOutcome, Outcome
from trainer.metrics.sums import mean_over_classes, ratio, weighted_mean
from trellis_contracts.predictions import DECIDED_ABOVE
from trellis_contracts.tasks import MULTILABEL


@dataclass(frozen=True)
class SetOutcome(ClassOutcome):
    """A contender's predictions for n test examples with any number of c classes.

    labels: (n,) sets of the true classes (trainer.label_sets). probabilities: (n, c).
    """

    family = MULTILABEL

    labels: np.ndarray
    probabilities: np.ndarray
    groups: Groups | None = None

    def __post_init__(self):
        object.__setattr__(self, "probabilities", np.asarray(self.probabilities, np.float64))

    @cached_property
    def true(self) -> np.ndarray:
        """(n, c) bool: the classes that each example has."""
        return label_sets.members(self.labels, self.class_count)

    @cached_property
    def decided(self) -> np.ndarray:
        """(n, c) bool: the classes that are decided."""
        return self.probabilities > DECIDED_ABOVE

    @cached_property
    def misses(self) -> np.ndarray:
        """(n,) number of classes that are decided wrongly."""
        return (self.true != self.decided).sum(axis=1)

    @cached_property
    def correct(self) -> np.ndarray:
        """(n,) bool: all classes are decided rightly."""
        return self.misses == 0

    @cached_property
    def mixed_classes(self) -> np.ndarray:
        """Indices of the classes that some but not all examples have."""
        count = self.true.sum(axis=0)
        return np.flatnonzero((count > 0) & (count < len(self.labels)))

    @cached_property
    def parts(self) -> list[Outcome]:
        """A classification of two classes, absent or present, for each mixed class."""
        return [
            Outcome(
                self.true[:, c].astype(np.int64),
                np.stack([1 - self.probabilities[:, c], self.probabilities[:, c]], axis=1),
                self.groups,
            )
            for c in self.mixed_classes
        ]

    @cached_property
    def surprise(self) -> np.ndarray:
        """(n,) negative log probability, in nats, of a class's presence or absence, averaged over
        the classes.
        """
        likelihood = np.where(self.true, self.probabilities, 1 - self.probabilities)
        return -np.log(np.maximum(likelihood, FLOOR)).mean(axis=1)

    @cached_property
    def brier(self) -> np.ndarray:
        """(n,) squared errors of the probabilities, averaged over the classes."""
        return np.square(self.probabilities - self.true).mean(axis=1)

    @property
    def ranked_classes(self) -> list[int]:
        """See ClassOutcome."""
        return self.mixed_classes.tolist()

    def examples_of(self, index: int) -> np.ndarray:
        """See ClassOutcome."""
        return self.true[:, index]

    def decided_as(self, index: int) -> np.ndarray:
        """See ClassOutcome."""
        return self.decided[:, index]

    def extended(self, wrong: bool) -> "SetOutcome":
        """See ClassOutcome: one pseudo-example with none of the mixed classes, and one with all."""
        rows = np.tile(self.probabilities.mean(axis=0), (2, 1))
        for c, part in zip(self.mixed_classes, self.parts, strict=True):
            rows[:, c] = part.extended(wrong).probabilities[-2:, 1]
        in_all = label_sets.of(np.flatnonzero(self.true.all(axis=0)).tolist())
        added = [in_all, in_all | label_sets.of(self.mixed_classes.tolist())]
        return SetOutcome(
            np.concatenate([self.labels, added]), np.vstack([self.probabilities, rows])
        )


def _over_parts(point: Callable[[Outcome], float]) -> Callable[[SetOutcome], float]:
    def mean(outcome: SetOutcome) -> float:
        return float(np.mean([point(part) for part in outcome.parts] or np.nan))

    return mean


def _over_parts_resampled(
    resampled: Callable[[Outcome, np.ndarray, bool], np.ndarray],
) -> Callable[[SetOutcome, np.ndarray], np.ndarray]:
    """resampled: takes whether there is time for all examples, or only for a first order."""

    def mean(outcome: SetOutcome, weights: np.ndarray) -> np.ndarray:
        if not outcome.parts:
            return np.full(weights.shape[1], np.nan)
        exact = len(outcome.labels) * len(outcome.parts) <= EXACT_UP_TO
        return mean_over_classes(
            np.array([resampled(part, weights, exact) for part in outcome.parts])
        )

    return mean


def _auc(part: Outcome, weights: np.ndarray, exact: bool) -> np.ndarray:
    if exact:
        return next(auc.exact_class_aucs(part, weights))
    return auc.first_order_class_aucs(part, weights)[0]


def _precision(part: Outcome, weights: np.ndarray, exact: bool) -> np.ndarray:
    of_ranking = precision.exact if exact else precision.first_order
    return next(iter(of_ranking(part.rankings, weights)))


def _f1(part: Outcome, weights: np.ndarray, exact: bool) -> np.ndarray:
    found, true, decided = (table[[1]] @ weights for table in _counted(part))
    return np.where(true > 0, ratio(2 * found, true + decided), np.nan)[0]


def _balanced(part: Outcome, weights: np.ndarray, exact: bool) -> np.ndarray:
    return ratio(part.hits @ weights, part.true_class @ weights).mean(axis=0)


def _counted(part: Outcome) -> tuple:
    return part.hits, part.true_class, part.predicted_class


def _exact_match(outcome: SetOutcome) -> float:
    return sklearn_metrics.accuracy_score(outcome.true, outcome.decided)


MULTILABEL_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "accuracy",
            "accuracy of decisions (micro)",
            "micro",
            "maximize",
            "Share of right decisions, class present or absent, over all examples and classes. "
            "High for rare classes even if none is found.",
            lambda outcome: 1 - sklearn_metrics.hamming_loss(outcome.true, outcome.decided),
            lambda outcome, weights: weighted_mean(
                1 - outcome.misses / outcome.class_count, weights
            ),
            chance=chance.most_frequent_decisions,
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
            pseudo_errors=True,
        ),
        Metric(
            "exact_match",
            "exact match",
            "examples",
            "maximize",
            "Share of examples whose classes are all decided rightly.",
            _exact_match,
            lambda outcome, weights: weighted_mean(outcome.correct.astype(np.float64), weights),
            interval="clopper-pearson",
            difference_interval="bonett-price",
            share=lambda outcome: (outcome.correct, np.ones(len(outcome.labels), bool)),
            chance=chance.most_frequent_set,
        ),
        Metric(
            "balanced_accuracy",
            "macro balanced accuracy",
            "macro",
            "maximize",
            "Mean of the recalls of a class and of its absence, averaged over the classes.",
            _over_parts(
                lambda part: sklearn_metrics.balanced_accuracy_score(part.labels, part.predicted)
            ),
            _over_parts_resampled(_balanced),
            chance=chance.half,
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
            pseudo_errors=True,
        ),
        Metric(
            "f1",
            "macro F1",
            "macro",
            "maximize",
            "Harmonic mean of precision and recall, averaged over the classes.",
            _over_parts(
                lambda part: sklearn_metrics.f1_score(part.labels, part.predicted, zero_division=0)
            ),
            _over_parts_resampled(_f1),
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
            pseudo_errors=True,
        ),
        Metric(
            "auc",
            "macro AUC",
            "macro",
            "maximize",
            "Area under the ROC curve of a class against its absence, averaged over the classes.",
            _over_parts(
                lambda part: sklearn_metrics.roc_auc_score(part.labels, part.probabilities[:, 1])
            ),
            _over_parts_resampled(_auc),
            chance=chance.half,
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
            pseudo_errors=True,
        ),
        Metric(
            "average_precision",
            "macro average precision",
            "macro",
            "maximize",
            "Area under the precision-recall curve of a class, averaged over the classes. Of a "
            "rare class's examples that are found, few may be right though the AUC is high.",
            _over_parts(
                lambda part: sklearn_metrics.average_precision_score(
                    part.labels, part.probabilities[:, 1]
                )
            ),
            _over_parts_resampled(_precision),
            chance=chance.mean_share,
            interval="pseudo-error bootstrap",
            difference_interval="paired pseudo-error bootstrap",
            pseudo_errors=True,
        ),
        Metric(
            "log_loss",
            "log loss of decisions (micro)",
            "micro",
            "minimize",
            "Mean negative log probability of a class's presence or absence, in nats, over all "
            "examples and classes.",
            lambda outcome: outcome.surprise.mean(),
            lambda outcome, weights: weighted_mean(outcome.surprise, weights),
            terms=lambda outcome: outcome.surprise,
            chance=chance.mean_entropy,
        ),
        Metric(
            "brier",
            "Brier score of decisions (micro)",
            "micro",
            "minimize",
            "Mean squared error of the predicted probabilities, 0 to 1, over all examples and "
            "classes.",
            lambda outcome: outcome.brier.mean(),
            lambda outcome, weights: weighted_mean(outcome.brier, weights),
            terms=lambda outcome: outcome.brier,
            chance=chance.mean_brier,
        ),
    )
}
