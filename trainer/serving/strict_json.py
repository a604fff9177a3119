"""What the fast JSON parser does not say: where a number is none, and that a field is given twice.

orjson tells the place of an error in bytes, which helps nobody with a generated request, and of two
fields of one name it keeps the last. Python's own parser sees both, and is asked only where there
is reason to: it is ten times slower.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson

from trainer.serving.errors import Violation, short

# Bytes. A larger body would take a core for a second and more.
_LOOKED_THROUGH = 1 << 20


def why_not_json(body: bytes, error: orjson.JSONDecodeError) -> Violation:
    """What makes `body` no JSON: a NaN or an infinity by its field, else the parser's words."""
    try:
        document = json.loads(body) if len(body) <= _LOOKED_THROUGH else None
    except (ValueError, RecursionError):
        document = None
    for path, value in _walk(document):
        if isinstance(value, float) and not math.isfinite(value):
            found = json.dumps(value)
            reason = f"{found} is no number of JSON; null says that it is not known"
            return Violation(path or "body", reason)
    return Violation("body", f"not JSON: {error}")


def may_repeat(body: bytes, document: dict[str, Any]) -> bool:
    """Whether a field may be given twice in a request that was parsed: whether `body` has as many
    fields as are left of it.

    A count of `":`, which costs a hundredth of looking. What is missed has a space before a colon.
    """
    left = len(document)
    for instance in document["instances"]:
        if isinstance(instance, dict):
            left += len(instance)
            left += sum(len(value) for value in instance.values() if isinstance(value, dict))
    return body.count(b'":') != left


def repeated(body: bytes) -> list[Violation]:
    """Every field that is given twice."""
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
    except RecursionError:  # deeper than any instance is: what reads it refuses it
        return []
    if not found:  # as nearly always; to look for the places takes longer than all before
        return []
    twice = ((path, value) for path, value in _walk(document) if isinstance(value, _Repeated))
    return [Violation(_field(path, value.name), "given twice") for path, value in twice]


class _Repeated:
    """In the place of an object with two fields of one name."""

    def __init__(self, name: str):
        self.name = name


def _field(path: str, name: str) -> str:
    return f"{path}.{short(name)}" if path else short(name)


def _walk(document: Any) -> Iterator[tuple[str, Any]]:
    """(path, value) of all that is in a document, in its order: ("instances[0].radius", 17.9)."""
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
