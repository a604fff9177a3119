"""Serves a model that AutoML trained here: python -m local_gcp.vertex.endpoints.servers.automl DIR

Instances and predictions are those of Google's schemas: a table's row is {column: value}, an image
{"content": base64}, with the parameters confidenceThreshold and maxPredictions.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from local_gcp.vertex.automl.features import DataError
from local_gcp.vertex.automl.model import ImageModel, TabularModel, load
from local_gcp.vertex.endpoints.servers.model_http import BadInstance, serve


def predict_rows(model: TabularModel, request: dict[str, Any]) -> list[Any]:
    """The predictions for rows of a table; raises BadInstance."""
    try:
        table = pa.Table.from_pylist(request["instances"])
    except (AttributeError, TypeError, pa.ArrowException) as error:
        raise BadInstance(f"The instances are not objects of one kind: {error}") from None
    missing = [name for name in model.features.columns if name not in table.column_names]
    if missing:
        raise BadInstance(f"The instances have no column {', '.join(missing)}.")
    try:
        return _checked(*model.predict(table))
    except DataError as error:
        raise BadInstance(str(error)) from None


def predict_images(model: ImageModel, request: dict[str, Any]) -> list[Any]:
    """The predictions for images; raises BadInstance."""
    parameters = request.get("parameters") or {}
    threshold = float(parameters.get("confidenceThreshold") or 0)
    most = int(parameters.get("maxPredictions") or 10)
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for place, instance in enumerate(request["instances"]):
            content = instance.get("content") if isinstance(instance, dict) else None
            if not isinstance(content, str):
                raise BadInstance(f'instances[{place}]: expected {{"content": base64}}.')
            paths.append(Path(folder, str(place)))
            paths[-1].write_bytes(base64.b64decode(content))
        return _checked(*model.predict(paths, threshold, most))


def _checked(predictions: list[Any], problems: list[str | None]) -> list[Any]:
    for place, problem in enumerate(problems):
        if problem is not None:
            raise BadInstance(f"instances[{place}]: {problem}")
    return predictions


if __name__ == "__main__":
    try:
        model = load(Path(sys.argv[1]))
    except DataError as error:
        sys.exit(f"error: {error}")
    predict = predict_rows if isinstance(model, TabularModel) else predict_images
    serve(lambda request: predict(model, request))
