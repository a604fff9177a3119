"""Checks and converts the bodies of JSON requests by the types of an API's fields.

request_types/API.json holds them as facts of Google's discovery documents: for each message its
fields, each "string", "int64" (a string that is a number), "integer", "number", "boolean", "any", a
message's name, or one of these as "[...]" (repeated) or "{...}" (a map). Conversions are those of
Google's JSON parser, which takes "1" for 1 and, for a field that is not repeated, a list of one.
A field that is not emulated is refused by name (`emulated_fields`), and one that Google does not
know as Google refuses it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from local_gcp.emulated_fields import MESSAGES
from local_gcp.rest import ApiError, not_emulated, unknown_field

_RANGES = {"integer": (-(2**31), 2**32 - 1), "int64": (-(2**63), 2**64 - 1)}
_LENIENT = {("QueryParameterValue", "value"), ("TableDataInsertAllRequest.rows", "insertId")}
"""Texts for which Google's clients send numbers and booleans, and BigQuery takes them."""
_NAMES = {
    "boolean": "TYPE_BOOL",
    "int64": "TYPE_INT64",
    "integer": "TYPE_INT32",
    "number": "TYPE_DOUBLE",
    "string": "TYPE_STRING",
}


def checked(body: Mapping[str, Any], message: str, api: str) -> dict[str, Any]:
    """The body as `message` of `api` ("bigquery", "storage").

    ApiError 400, with the path of the field, for a value of another type.
    """
    return _message(body, message, api, "")


@cache
def fields_of(message: str, api: str) -> Mapping[str, str]:
    """Types of a message's fields by their names."""
    return _messages(api)[message]


@cache
def _messages(api: str) -> Mapping[str, Mapping[str, str]]:
    text = resources.files("local_gcp").joinpath(f"request_types/{api}.json").read_text()
    return json.loads(text)


def _message(value: Mapping[str, Any], message: str, api: str, path: str) -> dict[str, Any]:
    types, emulated = fields_of(message, api), MESSAGES[api].get(message)
    result = dict(value)
    for name, given in value.items():
        where = f"{path}.{name}" if path else name
        if types and name not in types:
            raise unknown_field(name, path)
        ignored = emulated is not None and name in emulated.output.split()
        if path and (given is None or ignored):
            # Of a value that is stored as a whole: Google's clients send all fields of it.
            del result[name]
            continue
        if given is None:  # it deletes a field in a PATCH
            continue
        if (message, name) in _LENIENT and isinstance(given, bool | int | float):
            given = json.dumps(given)
        result[name] = _value(given, types.get(name, "any"), api, where)
        if emulated and not emulated.takes(name, result[name]):
            raise not_emulated(f"the field {where} ({_short(given)})")
    return result


def _value(given: Any, kind: str, api: str, path: str) -> Any:
    if kind == "any":
        return given
    if kind.startswith("["):
        if not isinstance(given, list):
            raise _wrong(given, kind, path)
        items = enumerate(given)
        return [_value(item, kind[1:-1], api, f"{path}[{index}]") for index, item in items]
    if isinstance(given, list):
        if len(given) != 1:
            raise ApiError(
                400,
                f"Invalid JSON payload received. Unknown name {path!r}: "
                "Proto field is not repeating, cannot start list.",
                "badRequest",
            )
        return _value(given[0], kind, api, path)
    if kind in _NAMES:
        return _scalar(given, kind, path)
    if not isinstance(given, dict):
        raise _wrong(given, kind, path)
    if kind.startswith("{"):
        return {
            name: None if item is None else _value(item, kind[1:-1], api, f"{path}.{name}")
            for name, item in given.items()
        }
    return _message(given, kind, api, path)


def _scalar(given: Any, kind: str, path: str) -> Any:
    if kind == "string" and isinstance(given, str):
        return given
    if kind == "boolean":
        given = {"true": True, "false": False}.get(given, given) if _text(given) else given
        if isinstance(given, bool):
            return given
    elif kind != "string" and not isinstance(given, bool) and isinstance(given, str | int | float):
        try:
            number = float(given)
            if kind == "number" and math.isfinite(number):
                return number
            whole = int(given) if _text(given) or isinstance(given, int) else int(number)
            least, most = _RANGES[kind]
            if kind != "number" and (_text(given) or whole == given) and least <= whole <= most:
                return str(whole) if kind == "int64" else whole
        except (ValueError, OverflowError, KeyError):
            pass
    raise _wrong(given, kind, path)


def _text(given: Any) -> bool:
    return isinstance(given, str)


def _wrong(given: Any, kind: str, path: str) -> ApiError:
    name = _NAMES.get(kind, kind)
    return ApiError(400, f"Invalid value at '{path}' ({name}), {_short(given)}", "invalid")


def _short(given: Any) -> str:
    shown = json.dumps(given)
    return shown if len(shown) <= 100 else f"{shown[:100]}..."
