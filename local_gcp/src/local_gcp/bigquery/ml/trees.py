"""BOOSTED_TREE_CLASSIFIER and _REGRESSOR on XGBoost, the library that BigQuery ML uses.

BigQuery ML runs XGBoost 0.9 or 1.1 (its option XGBOOST_VERSION). Where the defaults of today's
release differ, those of 0.9 are set: the first prediction is 0.5, and TREE_METHOD AUTO is exact
below 4,194,304 rows and else approx. Source:
https://cloud.google.com/bigquery/docs/reference/standard-sql/bigqueryml-syntax-create-boosted-tree
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from local_gcp.bigquery.errors import not_emulated

from .learning import SEED, Problem, Progress, with_a_column
from .options import Options

if TYPE_CHECKING:
    import xgboost

FIRST_PREDICTION = 0.5
EXACT_ROWS = 4 << 20
"""From this many rows, XGBoost 0.9's `auto` is `approx`."""
ONE_THREAD = 64 * 1024**2
"""Matrices of up to this many bytes are trained on in one thread: OpenMP's busy-wait for each
other, which costs more than they save there."""


@dataclass
class Boosted:
    """A fitted ensemble."""

    booster: xgboost.Booster
    classes: int

    def scores(self, x: np.ndarray) -> np.ndarray:
        if not len(x):
            return np.zeros((0, self.classes)) if self.classes else np.zeros(0)
        found = self.booster.predict(_matrix(x)).astype(float)
        return np.column_stack([1 - found, found]) if self.classes == 2 else found

    def importance(self) -> dict[int, tuple[float, float, float]]:
        """Importance by column of the matrix: number of splits, and their mean gain and cover.

        Cover is the sum of hessians, as XGBoost defines it. Columns without a split are left out.
        """
        kinds = ("weight", "gain", "cover")
        found: list[Any] = [self.booster.get_score(importance_type=kind) for kind in kinds]
        weight, gain, cover = found
        return {int(name[1:]): (weight[name], gain[name], cover[name]) for name in weight}


def fit(problem: Problem, options: Options, progress: Progress) -> Boosted:
    """Train. The losses of an iteration are those that XGBoost reports, with the rows' weights."""
    import xgboost

    if not problem.classes and (np.abs(problem.labels) > math.sqrt(_LARGEST)).any():
        raise not_emulated("labels of boosted trees beyond 1.8e19, whose squares have no 32 bits")
    training = _matrix(problem.x, problem.labels, problem.weights)
    watched = [(training, "training")]
    # A label of -1 is a class that the training rows lack, which XGBoost cannot represent.
    known = np.flatnonzero((problem.eval_labels >= 0) | (problem.classes == 0))
    if len(known):
        held = (problem.eval_x, problem.eval_labels, problem.eval_weights)
        watched.append((_matrix(*(part[known] for part in held)), "evaluation"))
    booster = xgboost.Booster(_parameters(problem, options), [m for m, _ in watched])
    more, done = True, 0
    while more:
        booster.update(training, done)
        losses = _losses(booster.eval_set(watched, done), problem.classes)
        more = progress.add(losses["training"], losses.get("evaluation"), options["learn_rate"])
        done += 1
    booster.set_param({"nthread": 1})  # predictions are as fast, and do not wait for each other
    return Boosted(booster, problem.classes)


def _parameters(problem: Problem, options: Options) -> dict[str, Any]:
    method = options["tree_method"].lower()
    if method == "auto":
        # Today's exact method cannot draw columns by node; that of 0.9 could.
        exact = len(problem.x) < EXACT_ROWS and options["colsample_bynode"] == 1
        method = "exact" if exact else "approx"
    found = {
        "eta": options["learn_rate"],
        "alpha": options["l1_reg"],
        "lambda": options["l2_reg"],
        "gamma": options["min_split_loss"],
        "max_depth": options["max_tree_depth"],
        "min_child_weight": options["min_tree_child_weight"],
        "num_parallel_tree": options["num_parallel_tree"],
        "tree_method": method,
        "booster": options["booster_type"].lower(),
        **{name: options[name] for name in _SHARES},
        "base_score": FIRST_PREDICTION,
        "seed": SEED,
        "nthread": 1 if problem.x.nbytes <= ONE_THREAD else 0,
        "verbosity": 0,
    }
    if options["booster_type"] == "DART":
        found |= {
            "rate_drop": options["dropout"],
            "normalize_type": options["dart_normalize_type"].lower(),
        }
    if not problem.classes:
        return {**found, "objective": "reg:squarederror", "eval_metric": "rmse"}
    if problem.classes == 2:
        return {**found, "objective": "binary:logistic", "eval_metric": "logloss"}
    return {
        **found,
        "objective": "multi:softprob",
        "num_class": problem.classes,
        "eval_metric": "mlogloss",
    }


_LARGEST = float(np.finfo(np.float32).max)
_SHARES = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")


def _matrix(x: np.ndarray, labels: Any = None, weights: Any = None) -> xgboost.DMatrix:
    import xgboost

    # XGBoost's numbers have 32 bits. Splits see the order of values, which the bounds keep.
    x = np.clip(with_a_column(x), -_LARGEST, _LARGEST)
    return xgboost.DMatrix(x, labels, weight=weights, nthread=1)


def _losses(line: str, classes: int) -> dict[str, float]:
    """The losses in a line of XGBoost, such as `[0]\ttraining-logloss:0.46`, by set.

    A root of a mean squared error becomes the mean squared error, as BigQuery ML reports it.
    """
    pairs = (word.rsplit(":", 1) for word in line.split("\t")[1:])
    return {
        name.rsplit("-", 1)[0]: float(value) if classes else float(value) ** 2
        for name, value in pairs
    }
