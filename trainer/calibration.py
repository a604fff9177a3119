"""Calibrates a model's probabilities: fitted on the validation split, applied to every answer.

`apply` is the one function that does it: with NumPy for the model of a group's own file, and in the
graph of a SavedModel with TensorFlow's functions of the same names. Both compute in float64.

temperature  softmax of the log probabilities divided by T, which is that of the logits divided by
             T; of a multi-label task the same of each class and its absence. T maximizes the
             likelihood. If every decision on the validation split is right, the likelihood grows
             without bound as T falls to 0, and T remains 1.
isotonic     each class against the rest by an increasing function, then divided by their sum; of
             two classes the second one's alone; of a multi-label task each by itself.

Both are scikit-learn's CalibratedClassifierCV of a model that is fitted already; tests hold them
against it. Fitting imports scikit-learn and SciPy, which the server does without.
"""

import math
from typing import Any

import numpy as np

from trellis_contracts.held_out import ISOTONIC, TEMPERATURE
from trellis_contracts.postprocessing import Calibration, Curve

_HALF = 0.5
_EPSILON = float(np.finfo(np.float64).eps)

# A temperature further from 1 says that the probabilities are all alike, or all 0 and 1.
_FARTHEST = 100.0


def fit(
    method: str, labels: np.ndarray, probabilities: np.ndarray, classes: tuple[str, ...]
) -> Calibration:
    """The calibration that fits best. method: one of held_out.METHODS. labels: (n,) class
    indices, or (n, classes) bool of a multi-label task. probabilities: (n, classes).
    """
    p = np.asarray(probabilities, np.float64)
    if method == TEMPERATURE:
        return _temperature(labels, p)
    assert method == ISOTONIC, method
    of_class = labels if labels.ndim == 2 else labels[:, None] == np.arange(len(classes))
    first = 1 if labels.ndim == 1 and len(classes) == 2 else 0
    curves = {classes[c]: _increasing(p[:, c], of_class[:, c]) for c in range(first, len(classes))}
    return Calibration(method=method, examples=len(p), curves=curves)


def apply(
    calibration: Calibration | None,
    probabilities: Any,
    classes: tuple[str, ...],
    sets: bool,
    xp: Any = np,
) -> Any:
    """The calibrated probabilities, (n, classes) float32. probabilities: the model's, float32.
    sets: of a multi-label task. xp: numpy, or tensorflow.experimental.numpy in a graph.
    """
    if calibration is None:
        return probabilities
    p = xp.asarray(probabilities, np.float64)
    if calibration.temperature is not None:
        found = _tempered(p, calibration.temperature, sets, xp)
    else:
        assert calibration.curves is not None
        found = _curved(p, calibration.curves, classes, sets, xp)
    return xp.asarray(found, np.float32)


def _tempered(p: Any, temperature: float, sets: bool, xp: Any) -> Any:
    if sets:
        both = xp.stack([p, 1 - p], -1)
        return _softmax(xp.log(both + _EPSILON) / temperature, xp)[..., 0]
    return _softmax(xp.log(p + _EPSILON) / temperature, xp)


def _softmax(logits: Any, xp: Any) -> Any:
    powers = xp.exp(logits - xp.max(logits, -1, keepdims=True))
    return powers / xp.sum(powers, -1, keepdims=True)


def _curved(p: Any, curves: Any, classes: tuple[str, ...], sets: bool, xp: Any) -> Any:
    places = {place: name for place, name in enumerate(classes) if name in curves}
    columns = {
        place: _interpolated(p[:, place], curves[name], xp) for place, name in places.items()
    }
    if len(columns) < len(classes):
        ((known, column),) = columns.items()
        columns[1 - known] = 1 - column
        return xp.stack([columns[0], columns[1]], -1)
    found = xp.stack([columns[place] for place in places], -1)
    if sets:
        return found
    total = xp.sum(found, -1, keepdims=True)
    # As scikit-learn does: where no class remains, all are equal.
    return xp.where(total > 0, found / xp.where(total > 0, total, 1.0), 1 / len(classes))


def _interpolated(p: Any, curve: Curve, xp: Any) -> Any:
    """np.interp of (n,) values by steps that TensorFlow has too: a sum of ramps."""
    x, y = np.array(curve.x), np.array(curve.y)
    ramps = xp.clip((p[:, None] - x[:-1]) / np.diff(x), 0.0, 1.0)
    return float(y[0]) + xp.sum(ramps * np.diff(y), -1)


def _temperature(labels: np.ndarray, p: np.ndarray) -> Calibration:
    from scipy import optimize

    sets = labels.ndim == 2
    decided = p > _HALF if sets else p.argmax(axis=1)
    if (decided == labels).all():
        return Calibration(
            method=TEMPERATURE,
            examples=len(p),
            temperature=1.0,
            remark=f"every decision on the {len(p):,} examples of the validation split is right, "
            "which bounds no temperature: the probabilities are left as they are",
        )

    def loss(log_temperature: float) -> float:
        found = _tempered(p, math.exp(log_temperature), sets, np)
        if sets:
            likelihood = np.where(labels, found, 1 - found)
        else:
            likelihood = found[np.arange(len(p)), labels]
        return -float(np.log(np.maximum(likelihood, np.finfo(np.float64).tiny)).mean())

    end = math.log(_FARTHEST)
    options = {"xatol": 1e-9}
    best = optimize.minimize_scalar(loss, bounds=(-end, end), method="bounded", options=options)
    # Nine digits are those of a float32.
    temperature = float(f"{math.exp(best.x):.9g}")
    return Calibration(method=TEMPERATURE, examples=len(p), temperature=temperature)


def _increasing(p: np.ndarray, of_class: np.ndarray) -> Curve:
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, of_class)
    x, y = fitted.X_thresholds_, fitted.y_thresholds_
    return Curve(tuple(map(float, x)), tuple(map(float, y)))
