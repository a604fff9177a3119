"""BOOSTED_TREE_CLASSIFIER and _REGRESSOR on scikit-learn's histogram gradient boosting.

BigQuery ML uses XGBoost: the same second-order boosting over histograms. Remaining differences:
the first prediction is the label's mean (log odds) rather than 0.5, and the minimum of a leaf
counts rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from .learning import SEED, Problem, Progress, loss
from .options import Options


@dataclass
class Boosted:
    """A fitted ensemble."""

    estimator: Any
    classes: int

    def scores(self, x: np.ndarray) -> np.ndarray:
        if not len(x):
            return np.zeros((0, self.classes)) if self.classes else np.zeros(0)
        # OpenMP's threads busy-wait for each other: on a loaded machine, one thread is faster.
        with threadpool_limits(1, "openmp"):
            return self.estimator.predict_proba(x) if self.classes else self.estimator.predict(x)

    def splits(self) -> list[tuple[int, float, float]]:
        """(column of the matrix, gain, rows) of every split of every tree."""
        # scikit-learn has no public accessor of its trees' nodes; `_predictors` has them.
        nodes = [tree.nodes for stage in self.estimator._predictors for tree in stage]
        return [
            (int(node["feature_idx"]), float(node["gain"]), float(node["count"]))
            for tree in nodes
            for node in tree[tree["is_leaf"] == 0]
        ]


def fit(problem: Problem, options: Options, progress: Progress) -> Boosted:
    """Train. Boosting is sequential, so the first trees of a long run equal those of a short one:
    all iterations run at once, and those after BigQuery ML's early stop are dropped.
    """
    began = time.monotonic()
    estimator = _fitted(problem, options)
    stages = zip(_staged(estimator, problem.x), _staged(estimator, problem.eval_x), strict=True)
    seconds = (time.monotonic() - began) / estimator.n_iter_
    for done, (scores, eval_scores) in enumerate(stages, start=1):
        more = progress.add(
            loss(problem.labels, scores, problem.weights),
            loss(problem.eval_labels, eval_scores),
            options["learn_rate"],
            seconds=seconds,
        )
        if not more and done < estimator.n_iter_:
            estimator._predictors = estimator._predictors[:done]
            break
    return Boosted(estimator, problem.classes)


def _fitted(problem: Problem, options: Options) -> Any:
    kind = HistGradientBoostingClassifier if problem.classes else HistGradientBoostingRegressor
    estimator = kind(
        learning_rate=options["learn_rate"],
        max_iter=options["max_iterations"],
        max_depth=options["max_tree_depth"],
        max_leaf_nodes=None,  # only the depth is limited, as in XGBoost's default
        min_samples_leaf=max(1, options["min_tree_child_weight"]),
        l2_regularization=options["l2_reg"],
        max_features=options["colsample_bynode"],
        early_stopping=False,
        random_state=SEED,
    )
    # With weights, scikit-learn sorts each column once for each of its 255 bins.
    weights = None if (problem.weights == 1).all() else problem.weights
    return estimator.fit(problem.x, problem.labels, sample_weight=weights)


def _staged(estimator: Any, x: np.ndarray) -> Any:
    """The scores after each iteration."""
    if not len(x):
        return [np.zeros((0, 1))] * estimator.n_iter_
    classifies = hasattr(estimator, "staged_predict_proba")
    return estimator.staged_predict_proba(x) if classifies else estimator.staged_predict(x)
