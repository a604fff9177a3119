"""Converts between JSON and google.protobuf.Value, for gRPC clients and the container.

A Value has only doubles. Whole numbers are written without a point, as Google's own JSON does: a
container that expects an index gets 3, not 3.0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from google.protobuf import struct_pb2

_EXACT = 2.0**53


def parse(text: bytes) -> Any:
    """Parse JSON. Raises ValueError if it is invalid, also for NaN and Infinity, which Python
    accepts; the message has their path. RecursionError if it is nested too deeply.
    """
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if "integer string conversion" in str(error):
            raise ValueError("a number has more than 4300 digits") from None
        raise
    check_finite(parsed)
    return parsed


def check_finite(value: Any, path: str = "") -> None:
    """Raise ValueError with the path of the first NaN or infinity: instances[3].size."""
    # Iterators, not their contents: a long list must not become a longer list of paths.
    waiting = [iter([(path, value)])]
    while waiting:
        found = next(waiting[-1], None)
        if found is None:
            waiting.pop()
            continue
        path, value = found
        if isinstance(value, dict | list):
            waiting.append(_inside(path, value))
        elif isinstance(value, float) and not math.isfinite(value):
            raise ValueError(
                f"{path or 'the body'}: {json.dumps(value)} is not a number of JSON; send null, or "
                "leave the field out"
            )


def _inside(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        return ((f"{path}.{name}" if path else name, item) for name, item in value.items())
    return ((f"{path}[{place}]", item) for place, item in enumerate(value))


def to_json(value: struct_pb2.Value) -> Any:
    """The value for `json.dumps`; may contain NaN and infinity."""
    kind = value.WhichOneof("kind")
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() and abs(number) < _EXACT else number
    if kind == "struct_value":
        return {name: to_json(field) for name, field in value.struct_value.fields.items()}
    if kind == "list_value":
        return [to_json(item) for item in value.list_value.values]
    if kind == "string_value":
        return value.string_value
    return value.bool_value if kind == "bool_value" else None


def from_json(value: Any) -> struct_pb2.Value:
    """The Value of a result of `json.loads`."""
    if value is None:
        return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, (int, float)):
        return struct_pb2.Value(number_value=value)
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, list):
        items = [from_json(item) for item in value]
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=items))
    fields = {name: from_json(item) for name, item in value.items()}
    return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))
