"""Compares observations of local_gcp with facts of the real services."""

from __future__ import annotations

import re
from typing import Any

_ANY = {"<text>": ".*", "<number>": r"[0-9]+(\.[0-9]+)?", "<digits>": "[0-9]+"}
"""Placeholders in texts of facts, for what no two answers have in common."""


def holds(answer: dict[str, Any], seen: Any) -> bool:
    """Compare an observation with an answer of a fact, which has one of

    "is": the value; "has": a part of it (fields of an object, items of a list); "in order": items
    that come in this order among others. Texts may have placeholders.
    """
    if "is" in answer:
        return _same(answer["is"], seen)
    if "has" in answer:
        return _part(answer["has"], seen)
    left = iter(seen)
    return all(wanted in left for wanted in answer["in order"])


def _same(wanted: Any, seen: Any) -> bool:
    if isinstance(wanted, str) and isinstance(seen, str):
        pattern = "".join(
            _ANY.get(part, re.escape(part)) for part in re.split("(<[a-z]+>)", wanted)
        )
        return re.fullmatch(pattern, seen, re.DOTALL) is not None
    if isinstance(wanted, dict) and isinstance(seen, dict):
        same = wanted.keys() == seen.keys()
        return same and all(_same(value, seen[name]) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(seen, list):
        same = len(wanted) == len(seen)
        return same and all(_same(*pair) for pair in zip(wanted, seen, strict=True))
    return type(wanted) is type(seen) and wanted == seen


def _part(wanted: Any, seen: Any) -> bool:
    if isinstance(wanted, dict) and isinstance(seen, dict):
        return all(name in seen and _part(value, seen[name]) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(seen, list):
        return all(any(_same(item, other) for other in seen) for item in wanted)
    return _same(wanted, seen)
