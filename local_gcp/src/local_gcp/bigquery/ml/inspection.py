"""ML.WEIGHTS, ML.FEATURE_IMPORTANCE, ML.TRAINING_INFO and ML.FEATURE_INFO.

Names, types and order of the columns are BigQuery's; see the pages bigqueryml-syntax-weights,
-importance, -train and -feature under
https://cloud.google.com/bigquery/docs/reference/standard-sql/.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from local_gcp.bigquery.schema import Field

from .answers import Arguments, Fields
from .features import Slot
from .training import Trained, label_text

INTERCEPT = "__INTERCEPT__"
Rows = list[dict[str, Any]]


def _fields(**types: str) -> Fields:
    return tuple(Field(name, type_) for name, type_ in types.items())


def _pairs(name: str, **types: str) -> Field:
    return Field(name, "STRUCT", "REPEATED", _fields(**types))


def training_fields(model: Trained, given: Fields | None, options: Arguments) -> Fields:
    """The columns of `training`."""
    run = _fields(training_run="INT64", iteration="INT64")
    floats = _fields(loss="FLOAT64", eval_loss="FLOAT64", learning_rate="FLOAT64")
    return (*run, *floats, *_fields(duration_ms="INT64"))


def training(model: Trained, rows: None, options: Arguments) -> Rows:
    """The last iteration first, as in BigQuery's example."""
    return [
        {
            "training_run": 0,
            "iteration": i.index,
            "loss": i.loss,
            "eval_loss": i.eval_loss,
            "learning_rate": i.learn_rate,
            "duration_ms": i.duration_ms,
        }
        for i in reversed(model.iterations)
    ]


def feature_fields(model: Trained, given: Fields | None, options: Arguments) -> Fields:
    """The columns of `feature_info`."""
    floats = dict.fromkeys(["min", "max", "mean", "median", "stddev"], "FLOAT64")
    counts = dict.fromkeys(["category_count", "null_count", "dimension"], "INT64")
    return _fields(input="STRING", **floats, **counts)


def feature_info(model: Trained, rows: None, options: Arguments) -> Rows:
    """A row per input column, with statistics of the training rows."""
    return model.encoder.information


def importance_fields(model: Trained, given: Fields | None, options: Arguments) -> Fields:
    """The columns of `importance`."""
    floats = ("importance_weight", "importance_gain", "importance_cover")
    return _fields(feature="STRING", **dict.fromkeys(floats, "FLOAT64"))


def importance(model: Trained, rows: None, options: Arguments) -> Rows:
    """Number of splits by each feature, and their mean gain and mean cover (sum of hessians)."""
    owners = [slot.feature for slot in model.encoder.slots for _ in range(slot.width)]
    totals = {owner: np.zeros(3) for owner in owners}  # splits, gain, cover
    for column, (splits, gain, cover) in model.predictor.importance().items():
        totals[owners[column]] += np.array([splits, splits * gain, splits * cover])
    return [
        {
            "feature": feature,
            "importance_weight": float(splits),
            "importance_gain": float(gain / max(splits, 1)),
            "importance_cover": float(cover / max(splits, 1)),
        }
        for feature, (splits, gain, cover) in totals.items()
    ]


def weights_fields(model: Trained, given: Fields | None, options: Arguments) -> Fields:
    """The columns of `weights`."""
    categories = _pairs("category_weights", category="STRING", weight="FLOAT64")
    fields = (*_fields(processed_input="STRING", weight="FLOAT64"), categories)
    return (*fields, *_fields(class_label="STRING")) if len(model.classes) > 2 else fields


def weights(model: Trained, rows: None, options: Arguments) -> Rows:
    """Weights of the original features or, if `standardize`, of the standardised ones."""
    linear, found = model.predictor, []
    for output in range(linear.weights.shape[1]):
        intercept = float(linear.intercept[output])
        label = label_text(model.classes[output]) if len(model.classes) > 2 else None
        for slot, own in _by_slot(model, linear.weights[:, output]):
            weight = None
            if slot.encoding == "number":
                weight = float(own[0])
                if not options.get("standardize"):
                    weight /= slot.scale
                    intercept -= weight * slot.mean
            found.append(
                {
                    "processed_input": slot.name,
                    "weight": weight,
                    "category_weights": _categories(slot, own, "weight"),
                    "class_label": label,
                }
            )
        found.append(
            {
                "processed_input": INTERCEPT,
                "weight": intercept,
                "category_weights": [],
                "class_label": label,
            }
        )
    return found


def _by_slot(model: Trained, vector: np.ndarray) -> list[tuple[Slot, np.ndarray]]:
    ends = np.cumsum([slot.width for slot in model.encoder.slots])[:-1]
    return list(zip(model.encoder.slots, np.split(vector, ends), strict=True))


def _categories(slot: Slot, values: np.ndarray, name: str) -> Rows:
    """Categories of a slot with their values; empty for a number."""
    if slot.encoding == "number":
        return []
    names = slot.categories or [str(i) for i in range(slot.width)]  # an array of numbers
    pairs = dict(zip(names, map(float, values), strict=True))
    if slot.dropped is not None:
        pairs[slot.dropped] = 0.0
    return [{"category": category, name: pairs[category]} for category in sorted(pairs)]
