"""ML.PREDICT, ML.EVALUATE, ML.CONFUSION_MATRIX and ML.ROC_CURVE.

Each is a pair of functions: one for its columns, known before it runs, and one for its rows. Names,
types and order of the columns are BigQuery's:
https://cloud.google.com/bigquery/docs/reference/standard-sql/
bigqueryml-syntax-predict, -evaluate, -confusion, -roc.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from local_gcp.bigquery.errors import invalid_query
from local_gcp.bigquery.schema import Field

from . import metrics
from .training import Trained, label_text, label_values

Fields = tuple[Field, ...]
Arguments = dict[str, Any]


def predict_fields(model: Trained, given: Fields, options: Arguments) -> Fields:
    """The columns: predictions first, then the input's."""
    predicted = _predicted(model)
    twice = {f.name.lower() for f in predicted} & {f.name.lower() for f in given}
    if twice:
        raise invalid_query(
            "Invalid table-valued function ML.PREDICT\nDuplicate column names in the result are "
            f"not supported. Found duplicate(s): {', '.join(sorted(twice))}"
        )
    return predicted + given


def _predicted(model: Trained) -> Fields:
    name = f"predicted_{model.label.name}"
    if not model.classifies:
        return (Field(name, "FLOAT64"),)
    pair = (Field("label", model.label.type), Field("prob", "FLOAT64"))
    return Field(name, model.label.type), Field(f"{name}_probs", "STRUCT", "REPEATED", pair)


def predict(model: Trained, rows: pa.Table, options: Arguments) -> list[pa.Array]:
    """The predicted columns; the caller adds the input's."""
    scores = model.predictor.scores(model.encoder.transform(rows, "PREDICT"))
    if not model.classifies:
        return [pa.array(scores)]
    classes = pa.array(model.classes, model.label.arrow)
    chosen = metrics.classify(scores, options.get("threshold", metrics.THRESHOLD))
    # Two classes: the positive one first. More: the most probable first.
    order = np.argsort(-scores, axis=1, kind="stable")
    if len(model.classes) == 2:
        order = np.tile([1, 0], (len(scores), 1))
    sorted_scores = np.take_along_axis(scores, order, axis=1)
    pairs = {"label": classes.take(pa.array(order.ravel())), "prob": sorted_scores.ravel()}
    return [classes.take(pa.array(chosen)), _lists(pairs, order.shape)]


def _lists(columns: dict[str, Any], shape: tuple[int, int]) -> pa.ListArray:
    structs = pa.StructArray.from_arrays([pa.array(c) for c in columns.values()], list(columns))
    offsets = np.arange(shape[0] + 1, dtype=np.int32) * shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), structs)


def evaluate_fields(model: Trained, given: Fields | None, options: Arguments) -> Fields:
    """The columns of `evaluate`."""
    names = metrics.CLASSIFICATION if model.classifies else metrics.REGRESSION
    return tuple(Field(name, "FLOAT64") for name in names)


def evaluate(model: Trained, rows: pa.Table | None, options: Arguments) -> list[dict[str, Any]]:
    """One row; without input, the metrics from the training."""
    if rows is None:
        return [model.evaluation]
    labels, scores = judged(model, rows, "EVALUATE")
    if not len(labels):
        return [dict.fromkeys(f.name for f in evaluate_fields(model, None, options))]
    if not model.classifies:
        return [metrics.regression(labels, scores)]
    threshold = options.get("threshold", metrics.THRESHOLD)
    return [metrics.classification(labels, scores, threshold)]


def judged(model: Trained, rows: pa.Table | None, function: str) -> tuple[np.ndarray, np.ndarray]:
    """(labels, scores) of the rows; without rows, of the model's evaluation rows.

    Rows with a NULL label are left out.
    """
    if rows is None:
        return model.evaluated
    rows = labelled(model, rows, function)
    labels = label_values(rows[label_column(model, rows, function)], model.classes, model.label)
    return labels, model.predictor.scores(model.encoder.transform(rows, function))


def labelled(model: Trained, rows: pa.Table, function: str) -> pa.Table:
    """The rows that have a label. Raises BigQueryError if there is no column for it."""
    return rows.filter(pc.is_valid(rows[label_column(model, rows, function)]))


def label_column(model: Trained, rows: pa.Table, function: str) -> str:
    """The label's column, in any case. Raises BigQueryError if there is none."""
    for name in rows.column_names:
        if name.lower() == model.label.name.lower():
            return name
    raise invalid_query(
        f"Invalid table-valued function ML.{function}\nColumn {model.label.name} is not found in "
        f"the input data to the {function} function."
    )


def confusion_fields(model: Trained, given: Fields | None, options: Arguments) -> Fields:
    """`expected_label` of the input's type, then one column per class."""
    label = model.label
    for field in given or ():
        label = field if field.name.lower() == model.label.name.lower() else label
    names: list[str] = []
    for text in map(label_text, model.classes):
        name = re.sub(r"\W", "_", text, flags=re.ASCII)
        name = name if re.match(r"[A-Za-z_]", name) else f"_{name}"
        number = 0
        unique = name
        while unique.lower() in {n.lower() for n in (*names, "expected_label")}:
            number += 1
            unique = f"{name}_{number}"
        names.append(unique)
    return (Field("expected_label", label.type), *(Field(n, "INT64") for n in names))


def confusion(model: Trained, rows: pa.Table | None, options: Arguments) -> list[dict[str, Any]]:
    """A row per label, ascending; unknown labels get a row too if they occur."""
    labels, scores = judged(model, rows, "CONFUSION_MATRIX")
    predicted = metrics.classify(scores, options.get("threshold", metrics.THRESHOLD))
    given = None if rows is None else labelled(model, rows, "CONFUSION_MATRIX")
    texts = (
        np.array(model.classes, object)[labels]
        if given is None
        else np.array(given[label_column(model, given, "CONFUSION_MATRIX")].to_pylist(), object)
    )
    count = len(model.classes)
    names = [f.name for f in confusion_fields(model, None, options)[1:]]
    found = []
    known = {value: index for index, value in enumerate(model.classes)}
    unknown = {value for value, label in zip(texts, labels, strict=True) if label < 0}
    for value in sorted({*model.classes, *unknown}, key=lambda v: (str(type(v)), v)):
        own = labels == known[value] if value in known else texts == value
        counts = np.bincount(predicted[own], minlength=count)
        row = dict(zip(names, map(int, counts), strict=True))
        found.append({"expected_label": value, **row})
    return found


def roc_fields(model: Trained, given: Fields | None, options: Arguments) -> Fields:
    """The columns of `roc`."""
    floats = ("threshold", "recall", "false_positive_rate")
    counts = ("true_positives", "false_positives", "true_negatives", "false_negatives")
    return (
        *(Field(name, "FLOAT64") for name in floats),
        *(Field(name, "INT64") for name in counts),
    )


def roc(model: Trained, rows: pa.Table | None, options: Arguments) -> list[dict[str, Any]]:
    """Highest threshold first; by default the percentiles of the positive class's scores."""
    labels, scores = judged(model, rows, "ROC_CURVE")
    positive, truth = scores[:, 1], labels == 1
    thresholds = options.get("thresholds")
    if thresholds is None and len(positive):
        percentiles = np.quantile(positive, np.linspace(0, 1, 101), method="nearest")
        thresholds = np.unique(percentiles)
    found = []
    for threshold in sorted(map(float, thresholds if thresholds is not None else ()), reverse=True):
        chosen = positive >= threshold
        hits, false_alarms = int((chosen & truth).sum()), int((chosen & ~truth).sum())
        positives, negatives = int(truth.sum()), int((~truth).sum())
        found.append(
            {
                "threshold": threshold,
                "recall": hits / positives if positives else None,
                "false_positive_rate": false_alarms / negatives if negatives else None,
                "true_positives": hits,
                "false_positives": false_alarms,
                "true_negatives": negatives - false_alarms,
                "false_negatives": positives - hits,
            }
        )
    return found
