"""Replaces the parts of an answer that differ from run to run by constants."""

from __future__ import annotations

import re
from typing import Any

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_VOLATILE = {
    "<etag>": {"etag"},
    "<int>": {
        "creationTime",
        "expirationTime",
        "generation",
        "lastModifiedTime",
        "lastModified",
        "numericId",
        "projectNumber",
    },
    "<hash>": {"md5Hash", "crc32c"},
    "<email>": {"userByEmail", "user_email", "email"},
}
TOKENS = {field: token for token, fields in _VOLATILE.items() for field in fields}
"""Fields of which only the type is a fact, by name."""

_IN_2030 = "1893456000000"
_UNORDERED = {"access"}
_PROSE = {"description", "friendlyName", "displayName"}


class Texts:
    """Replaces sentences: their words are no facts, only whether two are the same."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def replaced(self, text: str) -> str:
        """`text n`, the same for the same sentence."""
        return self._seen.setdefault(text, f"text {len(self._seen) + 1}")


def normal(value: Any, texts: Texts | None = None, field: str = "") -> Any:
    """JSON with `<time>`, `<int>`, `<etag>` and the like for what no two runs have in common."""
    if isinstance(value, dict):
        return {name: normal(item, texts, name) for name, item in value.items()}
    if isinstance(value, list):
        items = [normal(item, texts, field) for item in value]
        return sorted(items, key=str) if field in _UNORDERED else items
    if not isinstance(value, str):
        return value
    if field in TOKENS:
        return TOKENS[field]
    if TIME.fullmatch(value):
        return "<time>"
    if field == "id" and value.isdigit():
        return "<id>"
    if texts and field in _PROSE and " " in value:
        return texts.replaced(value)
    if field == "id":
        return re.sub(r"/\d{12,}$", "/<int>", value)
    return re.sub(r"generation=(\d+|\$\{\w+\})", "generation=<int>", value)


def request_json(value: Any, texts: Texts, field: str = "") -> Any:
    """A request's JSON: sent again as it is, without sentences and secrets."""
    if isinstance(value, dict):
        return {name: request_json(item, texts, name) for name, item in value.items()}
    if isinstance(value, list):
        return [request_json(item, texts, field) for item in value]
    if isinstance(value, str) and field in _PROSE and " " in value:
        return texts.replaced(value)
    if isinstance(value, str) and field == "expirationTime" and TIME.fullmatch(value):
        return _IN_2030  # milliseconds, which the recording shows as a date
    return value
