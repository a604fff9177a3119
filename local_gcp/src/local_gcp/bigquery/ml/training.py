"""Trains the model of a CREATE MODEL from rows and options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from local_gcp.bigquery.errors import invalid_query
from local_gcp.bigquery.schema import Field, field_from_arrow

from . import linear, metrics, network, trees
from .features import Encoder, Recipe, as_floats, refuse_large
from .learning import Iteration, Predictor, Problem, Progress
from .options import Options
from .split import column_named, ordered, split

MOST_CLASSES = 50
"""The most labels of a classification: https://cloud.google.com/bigquery/quotas#create_model_statement"""

_LEARNERS = {
    "LOGISTIC_REG": linear.fit,
    "LINEAR_REG": linear.fit,
    "BOOSTED_TREE_CLASSIFIER": trees.fit,
    "BOOSTED_TREE_REGRESSOR": trees.fit,
    "DNN_CLASSIFIER": network.fit,
    "DNN_REGRESSOR": network.fit,
}
_CLASSIFIERS = {"LOGISTIC_REG", "BOOSTED_TREE_CLASSIFIER", "DNN_CLASSIFIER"}
_LABEL_TYPES = {"INT64", "FLOAT64", "NUMERIC"}
_CLASS_TYPES = {"INT64", "FLOAT64", "NUMERIC", "BOOL", "STRING", "DATE", "DATETIME", "TIME"}


@dataclass
class Trained:
    """A model: all that the ML.* functions need; it contains no training features.

    `classes`: label values in ascending order, none for a regression; of two, the second is the
    positive class. `evaluated`: labels and scores of the evaluation rows (the held-out rows, else
    the training rows), for functions that are called without input.
    """

    options: Options
    encoder: Encoder
    predictor: Predictor
    iterations: list[Iteration]
    label: Field
    classes: list[Any]
    evaluation: metrics.Metrics
    evaluated: tuple[np.ndarray, np.ndarray]
    rows: dict[str, int]
    """Numbers of rows for "training" and "evaluation"."""

    @property
    def model_type(self) -> str:
        return self.options["model_type"]

    @property
    def classifies(self) -> bool:
        return bool(self.classes)


def train(rows: pa.Table, options: Options, report: Callable[[Iteration], None]) -> Trained:
    """Fit a model of `options` (as `options.check` completed them) on `rows`.

    `report` is called after each iteration. Raises BigQueryError with BigQuery's message for
    unsuitable data.
    """
    # XGBoost counts from 1 in ML.TRAINING_INFO, the others from 0.
    progress = Progress(options, report, int(options["model_type"].startswith("BOOSTED_TREE")))
    name = _label_column(rows, options)
    label = field_from_arrow(rows.schema.field(name))
    classifies = options["model_type"] in _CLASSIFIERS
    if label.repeated or label.type not in (_CLASS_TYPES if classifies else _LABEL_TYPES):
        raise invalid_query(
            f"Unsupported type {label.data_type} of the label column {name} for model type "
            f"{options['model_type']}"
        )
    rows = ordered(rows.filter(pc.is_valid(rows[name])))  # rows with NULL labels are not used
    training, held = split(rows, options)
    if not training.num_rows:
        raise invalid_query("Input data doesn't contain any rows.")
    weight_column = options.get("instance_weight_col")
    left_out = {name.lower()}
    if weight_column:
        weight_column = column_named(training, weight_column, "INSTANCE_WEIGHT_COL")
        left_out.add(weight_column.lower())
    classes = _classes(training[name]) if classifies else []
    labels, eval_labels = (label_values(part[name], classes, label) for part in (training, held))
    by_class = _class_weights(options, classes, labels)
    weights, eval_weights = (
        _weights(part, values, weight_column, by_class)
        for part, values in ((training, labels), (held, eval_labels))
    )
    recipe = Recipe(
        standardize=not options["model_type"].startswith("BOOSTED_TREE"),
        category=options.get("category_encoding_method", "ONE_HOT_ENCODING"),
    )
    features = [n for n in training.column_names if n.lower() not in left_out]
    encoder = Encoder.fit(training, features, recipe)
    problem = Problem(
        encoder.transform(training, "PREDICT"),
        labels,
        weights,
        encoder.transform(held, "PREDICT"),
        eval_labels,
        eval_weights,
        len(classes),
    )
    predictor = _LEARNERS[options["model_type"]](problem, options, progress)
    if len(problem.eval_labels):
        judged = (problem.eval_labels, predictor.scores(problem.eval_x))
    else:
        judged = (problem.labels, predictor.scores(problem.x))
    if not np.isfinite(judged[1]).all():
        raise invalid_query(
            "The training diverged: predictions are NaN or infinite. Use a lower learning rate, or "
            "scale the label."
        )
    return Trained(
        options,
        encoder,
        predictor,
        progress.iterations,
        label,
        classes,
        metrics.classification(*judged) if classifies else metrics.regression(*judged),
        judged,
        {"training": len(labels), "evaluation": len(problem.eval_labels)},
    )


def _label_column(rows: pa.Table, options: Options) -> str:
    wanted = options["input_label_cols"][0].lower()
    for name in rows.column_names:
        if name.lower() == wanted:
            return name
    raise invalid_query(
        "Unable to identify the label column in query statement. Either specify the label column "
        "using OPTIONS(input_label_cols=['your_label_col']) or name the label column in the data "
        "as 'label'."
    )


def _classes(column: pa.ChunkedArray) -> list[Any]:
    classes = sorted(pc.unique(column).to_pylist())
    if len(classes) < 2:
        raise invalid_query(
            "Classification model requires at least 2 unique labels and the label column had only "
            f"{len(classes)} unique label."
        )
    if len(classes) > MOST_CLASSES:
        raise invalid_query(
            f"Classification model requires at most {MOST_CLASSES} unique labels and the label "
            f"column had {len(classes)} unique labels."
        )
    return classes


def label_values(column: pa.ChunkedArray, classes: list[Any], label: Field) -> np.ndarray:
    """Class indices (-1: a class unknown to the model), or values as float64.

    Raises BigQueryError(invalidQuery) for values that are NaN or infinite.
    """
    column = column.cast(label.arrow) if column.type != label.arrow else column
    if classes:
        index = pc.index_in(column, pa.array(classes, label.arrow))
        return pc.fill_null(index, -1).to_numpy().astype(np.int64)
    values = as_floats(column).to_numpy()
    if not np.isfinite(values).all():
        raise invalid_query(f"The label column {label.name} contains NaN or infinite values.")
    refuse_large(label.name, values)
    return values


def _instance_weights(rows: pa.Table, name: str) -> np.ndarray:
    if field_from_arrow(rows.schema.field(name)).data_type not in _LABEL_TYPES:
        raise invalid_query(f"INSTANCE_WEIGHT_COL {name} must be a numerical column")
    weights = pc.fill_null(as_floats(rows[name]), 0.0).to_numpy()
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise invalid_query(f"INSTANCE_WEIGHT_COL {name} has values that are not weights")
    return weights


def _class_weights(options: Options, classes: list[Any], labels: np.ndarray) -> np.ndarray | None:
    """The weight of each class, and a last one, 0, for classes that the training rows lack.

    None without class weights.
    """
    if options.get("auto_class_weights"):
        counts = np.bincount(labels, minlength=len(classes))
        return np.append(len(labels) / (counts * len(classes)), 0.0)
    given = options.get("class_weights")
    if given is None:
        return None
    names = [label_text(c) for c in classes]
    if set(given) != set(names):
        raise invalid_query(
            f"CLASS_WEIGHTS must have a weight for every class label: given {sorted(given)}, the "
            f"labels are {names}"
        )
    return np.array([*(given[n] for n in names), 0.0])


def _weights(
    rows: pa.Table, labels: np.ndarray, column: str | None, by_class: np.ndarray | None
) -> np.ndarray:
    """The weight of each row, 1 without a column and class weights."""
    weights = np.ones(rows.num_rows) if column is None else _instance_weights(rows, column)
    return weights if by_class is None else weights * by_class[labels]


def label_text(value: Any) -> str:
    """A label as BigQuery writes it in STRINGs."""
    return str(value).lower() if isinstance(value, bool) else str(value)
