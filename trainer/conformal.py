"""Split-conformal prediction: sets of classes and intervals of numbers with a coverage that holds
for any model, whatever its errors, as long as new examples are drawn as the validation split was.

Of examples that are independent, the score of a new one is as likely to have any rank among those
of the validation split. So the quantile is the ceil((n + 1) coverage)-th smallest of their n scores
(Vovk, Gammerman & Shafer 2005; Papadopoulos et al. 2002). The score of a class is 1 less its
probability, that of a number the distance of the prediction, as in MAPIE's "lac" and "absolute".

Of groups, such as patients with several images, it is a new group that is drawn. Each of K groups
then has the weight 1 / (K + 1), shared by its examples (Lee, Barber & Willett,
https://arxiv.org/abs/2306.06342): the coverage is that of a random example of a random new group.
With groups of one example both are the same.
"""

import numpy as np

from trellis_contracts.postprocessing import Conformal

_ROUNDING = 1e-9


def of_classes(
    coverage: float, labels: np.ndarray, probabilities: np.ndarray, groups: np.ndarray | None
) -> Conformal:
    """What makes sets of classes. labels: (n,) class indices. probabilities: (n, classes).

    groups: (n,), None of independent examples. Raises ValueError if there are too few.
    """
    of_truth = np.asarray(probabilities, np.float64)[np.arange(len(labels)), labels]
    # Kept as the probability itself, which is compared without rounding.
    above = -quantile(-of_truth, coverage, groups)
    return _conformal(coverage, labels, groups, above=above)


def of_numbers(
    coverage: float, labels: np.ndarray, values: np.ndarray, groups: np.ndarray | None
) -> Conformal:
    """What makes intervals of numbers. labels, values: (n,) true and predicted."""
    return _conformal(
        coverage, labels, groups, margin=quantile(np.abs(labels - values), coverage, groups)
    )


def quantile(scores: np.ndarray, coverage: float, groups: np.ndarray | None) -> float:
    """The score that a new one does not exceed with probability `coverage`. Raises ValueError if
    that takes more examples, or groups.
    """
    of = np.arange(len(scores)) if groups is None else np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(of)
    weights = 1 / ((len(sizes) + 1) * sizes[of])
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order]) >= coverage - _ROUNDING
    if not reached.any():
        raise ValueError(f"{len(sizes)} are too few for a coverage of {coverage:g}")
    return float(scores[order][reached.argmax()])


def _conformal(
    coverage: float,
    labels: np.ndarray,
    groups: np.ndarray | None,
    above: float | None = None,
    margin: float | None = None,
) -> Conformal:
    return Conformal(
        coverage=coverage,
        examples=len(labels),
        groups=None if groups is None else len(np.unique(groups)),
        above=above,
        margin=margin,
    )
