"""What a model's file declares of a hyperparameter, in JSON Schema's words: whether the words are
right, which values they allow, and how a message says so.
"""

import json
import keyword
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

FLAGS = (
    "abstain",
    "calibrate",
    "coverage",
    "dataset",
    "decide",
    "epochs",
    "help",
    "metric",
    "model",
    "model_sha256",
    "output",
    "outputs",
    "profile",
    "seed",
    "start",
    "strategy",
    "task",
)
"""Flags of trainer.task, which no hyperparameter can be named as."""

_TYPES: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
_NUMBERS = ("integer", "number")
_LARGEST = 1e300
_LOWER, _UPPER = ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")
_WORDS = ("type", "default", "description", "unit", "enum", *_LOWER, *_UPPER)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


def expected(words: Mapping[str, Any]) -> str:
    """Describe the values that a hyperparameter takes: `a whole number from 1 to 8`, `a number
    above 0 and at most 1`. words: JSON Schema's.
    """
    if "enum" in words:
        names = "one of " + ", ".join(map(str, words["enum"]))
        if "by_class" not in words:
            return names
        number = expected({"type": "number", **words["by_class"]})
        return f"{names}; or {number} for each of some classes, as {{CLASS: 2, OTHER: 0.5}}"
    kinds = {"number": "a number", "integer": "a whole number", "boolean": "true or false"}
    kind = kinds.get(words["type"], "text")
    if "minimum" in words and "maximum" in words:
        return f"{kind} from {words['minimum']} to {words['maximum']}"
    texts = {
        "minimum": "of at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    bounds = " and ".join(f"{text} {words[word]}" for word, text in texts.items() if word in words)
    return f"{kind} {bounds}".strip()


def fits(words: Mapping[str, Any], value: Any) -> bool:
    """Return whether a value of the right type is one that a hyperparameter takes."""
    if "enum" in words and value not in words["enum"]:
        return "by_class" in words and _fits_by_class(words["by_class"], value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return (
        math.isfinite(value)
        and words.get("minimum", value) <= value <= words.get("maximum", value)
        and ("exclusiveMinimum" not in words or value > words["exclusiveMinimum"])
        and ("exclusiveMaximum" not in words or value < words["exclusiveMaximum"])
    )


def _fits_by_class(bounds: Mapping[str, Any], text: str) -> bool:
    """Return whether a text is a JSON object with a number within the bounds for each of some
    classes.
    """
    try:
        numbers = json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(numbers, dict)
        and bool(numbers)
        and all(_is(number, "number") and fits(bounds, number) for number in numbers.values())
    )


def problems(name: str, words: dict[str, Any], common: Collection[str]) -> Iterator[str]:
    """What is wrong with a declaration. common: hyperparameters of every Keras model."""
    if name in common:
        yield "every model has it; leave it out, and fix or search it in the YAML"
    elif name in FLAGS or keyword.iskeyword(name) or not _NAME.fullmatch(name):
        yield "no name for a hyperparameter: lower-case letters, digits and _, and none of " + (
            ", ".join(FLAGS)
        )
    if unknown := [str(word) for word in words if word not in _WORDS]:
        yield f"unknown {', '.join(unknown)}; known: {', '.join(_WORDS)}"
        return
    if missing := [word for word in ("default", "description") if word not in words]:
        yield f"{' and '.join(missing)} missing"
        return
    if not all(isinstance(words.get(word, ""), str) for word in ("description", "unit")):
        yield "description and unit are texts"
    kind: Any = words.get("type", _TYPES.get(type(words["default"])))
    if kind not in _TYPES.values():
        yield f"expected type {', '.join(_TYPES.values())}, and a default of it"
    else:
        yield from _bounds(words, kind)


def _bounds(words: dict[str, Any], kind: str) -> Iterator[str]:
    limits = {word: words[word] for word in (*_LOWER, *_UPPER) if word in words}
    choices = words.get("enum")
    values = choices if isinstance(choices, list) else []
    for value in [words["default"], *limits.values(), *values]:
        if not _is(value, kind):
            number = isinstance(value, int) and abs(value) > _LARGEST  # too long to be shown
            got = "a number above 1e300" if number else repr(value)
            yield f"got {got} for a hyperparameter of type {kind}"
            return
    if choices is not None and (len(values) < 2 or len(set(values)) < len(values)):
        yield "enum: expected a list of at least two different values"
        return
    if kind == "string" and choices is None:
        yield 'a text needs "enum", the list of its values'
    elif kind in _NUMBERS and choices is None:
        if not all(any(word in limits for word in side) for side in (_LOWER, _UPPER)):
            yield "a number needs bounds: minimum and maximum (or exclusiveMinimum, ...Maximum)"
    elif limits and kind not in _NUMBERS:
        yield f"{', '.join(limits)}: bounds are for numbers"
    if not fits(words, words["default"]):
        yield f"its default {words['default']!r} is not {expected({**words, 'type': kind})}"


def _is(value: Any, kind: str) -> bool:
    """Return whether a value is of a type of JSON Schema's, and, if a number, one that JSON can
    have.
    """
    if isinstance(value, int | float) and not -_LARGEST < value < _LARGEST:
        return False
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return _TYPES.get(type(value)) == kind


def complete(words: dict[str, Any]) -> dict[str, Any]:
    """Add type and expected, in the order of the trainer's own."""
    kind = words.get("type", _TYPES[type(words["default"])])
    default = float(words["default"]) if kind == "number" else words["default"]
    words = {**words, "type": kind, "default": default}
    return {"type": kind, "expected": expected(words), **words}
