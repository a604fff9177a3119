"""Differences of an answer from the recorded one."""

from __future__ import annotations

from typing import Any


def differences(recorded: Any, answered: Any, at: str = "") -> list[str]:
    """Each as `path: what`: missing, extra, a type, a value; empty if there is none.

    Where a fact says `<time>` and the like, any value of that type will do. Lists of another length
    are compared as far as both go.
    """
    if isinstance(recorded, dict) and isinstance(answered, dict):
        found = []
        for name in dict.fromkeys((*recorded, *answered)):
            path = f"{at}.{name}" if at else name
            if name not in answered:
                found.append(f"{path}: missing")
            elif name not in recorded:
                found.append(f"{path}: extra")
            else:
                found += differences(recorded[name], answered[name], path)
        return found
    if isinstance(recorded, list) and isinstance(answered, list):
        found = [f"{at}: length"] if len(recorded) != len(answered) else []
        for one, other in zip(recorded, answered, strict=False):
            found += differences(one, other, f"{at}[]")
        return list(dict.fromkeys(found))
    if kind(recorded) != kind(answered):
        return [f"{at}: {kind(recorded)}, not {kind(answered)}"]
    if recorded == answered or (isinstance(recorded, str) and recorded.startswith("<")):
        return []
    return [f"{at}: value"]


def kind(value: Any) -> str:
    """The JSON type's name."""
    names = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")
