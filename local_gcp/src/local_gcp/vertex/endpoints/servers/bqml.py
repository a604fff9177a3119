"""Serves a BigQuery ML model that was trained here: python -m ...servers.bqml FILE

An instance is {column: value}. A prediction has the columns of the saved answers of real models:
LABEL_values (the classes, as text), LABEL_probs and predicted_LABEL, each a list; of a regression
predicted_LABEL alone.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pyarrow as pa

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.ml import functions
from local_gcp.bigquery.ml.training import Trained, label_text
from local_gcp.bigquery.schema import Field
from local_gcp.vertex.endpoints.servers.model_http import BadInstance, serve


def predict(model: Trained, request: dict[str, Any]) -> list[dict[str, Any]]:
    """The predictions of rows; raises BadInstance."""
    rows = request["instances"]
    if not all(isinstance(row, dict) for row in rows):
        raise BadInstance("Expected an object of columns for each instance.")
    try:
        table = pa.table([_column(rows, field) for field in model.encoder.fields], _names(model))
        found = functions.call("ML.PREDICT", model, table, {})
    except (ValueError, pa.ArrowException, BigQueryError) as error:
        raise BadInstance(str(error)) from None
    label = model.label.name
    predicted = found[f"predicted_{label}"].to_pylist()
    if not model.classifies:
        return [{f"predicted_{label}": [value]} for value in predicted]
    shares = found[f"predicted_{label}_probs"].to_pylist()
    return [
        {
            f"{label}_values": [label_text(pair["label"]) for pair in pairs],
            f"{label}_probs": [pair["prob"] for pair in pairs],
            f"predicted_{label}": [label_text(one)],
        }
        for one, pairs in zip(predicted, shares, strict=True)
    ]


def _names(model: Trained) -> list[str]:
    return [field.name for field in model.encoder.fields]


def _column(rows: list[dict[str, Any]], field: Field) -> pa.Array:
    """One column; a value that is not there is NULL. Raises pa.ArrowException, BadInstance."""
    if missing := [n for n, row in enumerate(rows) if field.name not in row]:
        raise BadInstance(f"instances[{missing[0]}] has no column {field.name}.")
    values = [row[field.name] for row in rows]
    if field.type in ("INT64", "FLOAT64"):
        # A whole number may come as text, since those of JSON are doubles.
        values = [float(value) if isinstance(value, str) else value for value in values]
    return pa.array(values).cast(field.arrow)


if __name__ == "__main__":
    try:
        with open(sys.argv[1], "rb") as file:
            model = pickle.load(file)
    except FileNotFoundError:
        sys.exit(f"error: the model {sys.argv[1]} was deleted in BigQuery")
    serve(lambda request: predict(model, request))
