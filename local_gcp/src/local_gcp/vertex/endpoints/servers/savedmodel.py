"""Emulates Google's pre-built TensorFlow prediction images: a SavedModel's signature, in rows.

A script: `python SAVEDMODEL_SERVER` (see jobs/images.py) in an environment with TensorFlow, where
local_gcp is not installed. The contract is TensorFlow Serving's REST API, which those images are:
https://www.tensorflow.org/tfx/serving/api_rest - {"instances": [...], "signature_name": ...}; an
instance is the value of the only input, or {input: value}; {"b64": "..."} are bytes; a prediction
is the value of the only output, or {output: value}, where outputs called ..._bytes are {"b64"}.
"""

import base64
import sys

import numpy as np
import tensorflow as tf
from model_http import BadInstance, serve, storage_path

DEFAULT = "serving_default"


class Model:
    """A loaded SavedModel."""

    def __init__(self, folder: str):
        self._signatures = tf.saved_model.load(folder).signatures
        if DEFAULT not in self._signatures:
            raise SystemExit(f"{folder} has no signature {DEFAULT}: {list(self._signatures)}")

    def predict(self, request: dict) -> list:
        """The predictions of a request's instances; BadInstance."""
        name = request.get("signature_name") or DEFAULT
        if name not in self._signatures:
            raise BadInstance(f"Serving signature name: {name!r} not found in signature def.")
        signature, instances = self._signatures[name], request["instances"]
        if not instances:
            raise BadInstance("No instances.")
        inputs = signature.structured_input_signature[1]
        values = {key: _column(instances, key, spec, len(inputs)) for key, spec in inputs.items()}
        try:
            outputs = signature(**values)
        except tf.errors.OpError as error:
            raise BadInstance(error.message) from None
        columns = {key: _plain(key, tensor) for key, tensor in outputs.items()}
        for key, column in columns.items():
            if not isinstance(column, list) or len(column) != len(instances):
                raise BadInstance(f"Output {key} has no row for each instance.")
        if len(columns) == 1:
            return next(iter(columns.values()))
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _column(instances: list, key: str, spec: tf.TensorSpec, count: int) -> tf.Tensor:
    """One input of all instances."""
    rows = []
    for place, instance in enumerate(instances):
        named = isinstance(instance, dict) and set(instance) != {"b64"}
        if named and key not in instance:
            raise BadInstance(f"Failed to process element: {place}: missing key: {key}.")
        if not named and count > 1:
            raise BadInstance(f"Failed to process element: {place}: expected an object.")
        rows.append(_decoded(instance[key] if named else instance))
    try:
        if spec.dtype == tf.string:
            tensor = tf.constant(rows, tf.string)
        else:
            tensor = tf.constant(np.array(rows, spec.dtype.as_numpy_dtype))
    except (ValueError, TypeError) as error:
        raise BadInstance(f"Failed to process key {key} as {spec.dtype.name}: {error}") from None
    if not spec.shape.is_compatible_with(tensor.shape):
        raise BadInstance(f"Input {key} has the shape {tensor.shape}, expected {spec.shape}.")
    return tensor


def _decoded(value: object) -> object:
    if isinstance(value, dict) and set(value) == {"b64"}:
        return base64.b64decode(value["b64"], validate=True)
    return [_decoded(item) for item in value] if isinstance(value, list) else value


def _plain(key: str, tensor: tf.Tensor) -> object:
    def plain(value: object) -> object:
        if isinstance(value, list):
            return [plain(item) for item in value]
        if not isinstance(value, bytes):
            return value
        if key.endswith("_bytes"):
            return {"b64": base64.b64encode(value).decode()}
        return value.decode()

    return plain(tensor.numpy().tolist())


if __name__ == "__main__":
    try:
        model = Model(storage_path())
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    serve(model.predict)
