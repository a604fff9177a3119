"""Finds the JSON errors that the fast parser does not report: NaN, and repeated fields.

orjson gives the byte offset of an error, which does not help with a generated request, and keeps
the last of two fields with the same name. Python's parser reports both. It is ten times slower, so
it is used only when needed.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson

from trainer.serving.errors import Violation, short

# Bytes. Searching a larger body would take more than a second of CPU.
_MAX_SEARCHED = 1 << 20


def why_not_json(body: bytes, error: orjson.JSONDecodeError) -> Violation:
    """Return why `body` is not JSON: the field with NaN or an infinity, else the parser's
    message.
    """
    try:
        document = json.loads(body) if len(body) <= _MAX_SEARCHED else None
    except (ValueError, RecursionError):
        document = None
    for path, value in _walk(document):
        if isinstance(value, float) and not math.isfinite(value):
            found = json.dumps(value)
            reason = f"{found} is not a JSON number; use null if the value is not known"
            return Violation(path or "body", reason)
    return Violation("body", f"not JSON: {error}")


def may_repeat(body: bytes, document: dict[str, Any]) -> bool:
    """Return whether a parsed request may have a repeated field: whether `body` has more fields
    than the document.

    Counts `":`, at a hundredth of a search's cost. Misses fields with a space before the colon.
    """
    left = len(document)
    if isinstance(parameters := document.get("parameters"), dict):
        left += len(parameters) + sum(len(v) for v in parameters.values() if isinstance(v, dict))
    for instance in document["instances"]:
        if isinstance(instance, dict):
            left += len(instance)
            left += sum(len(value) for value in instance.values() if isinstance(value, dict))
    return body.count(b'":') != left


def repeated(body: bytes) -> list[Violation]:
    """Every repeated field."""
    found = []

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Repeated:
        fields = dict(pairs)
        if len(fields) == len(pairs):
            return fields
        counts = Counter(name for name, _ in pairs)
        found.append(_Repeated(next(name for name, count in counts.items() if count > 1)))
        return found[-1]

    try:
        document = json.loads(body, object_pairs_hook=read)
    except RecursionError:  # nested deeper than any instance: the reader refuses it
        return []
    if not found:  # almost always, and finding the paths takes longer than all of the above
        return []
    twice = ((path, value) for path, value in _walk(document) if isinstance(value, _Repeated))
    return [Violation(_field(path, value.name), "given twice") for path, value in twice]


class _Repeated:
    """Replaces an object that has two fields with the same name."""

    def __init__(self, name: str):
        self.name = name


def _field(path: str, name: str) -> str:
    return f"{path}.{short(name)}" if path else short(name)


def _walk(document: Any) -> Iterator[tuple[str, Any]]:
    """(path, value) of everything in a document, in order: ("instances[0].radius", 17.9)."""
    yield "", document
    # Iterators, not their contents: a long list must not become a longer list of paths.
    waiting = [_inside("", document)]
    while waiting:
        found = next(waiting[-1], None)
        if found is None:
            waiting.pop()
            continue
        yield found
        if isinstance(found[1], dict | list):
            waiting.append(_inside(*found))


def _inside(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        return ((_field(path, name), item) for name, item in value.items())
    if isinstance(value, list):
        return ((f"{path}[{place}]", item) for place, item in enumerate(value))
    return iter(())
