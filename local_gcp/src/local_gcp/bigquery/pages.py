"""Pages of REST lists. A token names the last item shown, so none is repeated or left out."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from .errors import invalid


def token_of(position: Any) -> str:
    """The token of a position (any JSON)."""
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def position_of(token: str | None) -> Any:
    """The position in a token, None without token; raises BigQueryError(invalid) if malformed."""
    if not token:
        return None
    try:
        return json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError):
        raise invalid(f"Invalid page token: {token}") from None


def page_by_name(
    items: list[tuple[str, Any]], size: int | None, token: str | None
) -> tuple[list[Any], str | None]:
    """(page, next page's token or None) of (name, item) pairs, by name."""
    after = position_of(token)
    rest = [(name, item) for name, item in items if after is None or name > after]
    shown = rest[: size or 1000]
    more = len(rest) > len(shown)
    return [item for _, item in shown], token_of(shown[-1][0]) if more and shown else None
