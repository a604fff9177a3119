"""Pages of a list method: newest first, stable while resources are created and deleted."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Any, TypeVar

from google.protobuf import field_mask_pb2

from local_gcp.field_errors import invalid_field

T = TypeVar("T")

DEFAULT_SIZE, LARGEST_SIZE = 100, 1000


def page(resources: Iterable[T], page_size: int, page_token: str) -> tuple[list[T], str]:
    """(one page, token of the next or ""). Resources have `create_time` and `name`.

    The token identifies the end of the last page, so if a resource is created or deleted between
    two calls, no other one is repeated or left out. INVALID_ARGUMENT for a bad size or token.
    """
    if page_size < 0:
        raise invalid_field("page_size", f"{page_size} is negative.")
    size = min(page_size or DEFAULT_SIZE, LARGEST_SIZE)
    ordered = sorted(resources, key=_position, reverse=True)
    if page_token:
        last = _decode(page_token)
        ordered = [resource for resource in ordered if _position(resource) < last]
    rest = len(ordered) > size
    return ordered[:size], _encode(ordered[size - 1]) if rest else ""


def masked(resource: T, mask: field_mask_pb2.FieldMask) -> T:
    """A copy with only the fields of `mask`; an empty mask, or "*", keeps all."""
    if not mask.paths or "*" in mask.paths:
        return resource
    kind = type(resource)
    result = kind()
    try:
        mask.MergeMessage(kind.pb(resource), kind.pb(result))
    except KeyError as error:
        raise invalid_field("read_mask", f"There is no field {error}.") from None
    except ValueError as error:
        raise invalid_field("read_mask", str(error)) from None
    return result


def _position(resource: Any) -> tuple[str, str]:
    return f"{resource.create_time.timestamp():020.6f}", resource.name


def _encode(resource: Any) -> str:
    return base64.urlsafe_b64encode("\n".join(_position(resource)).encode()).decode()


def _decode(token: str) -> tuple[str, str]:
    try:
        time, name = base64.urlsafe_b64decode(token).decode().split("\n")
    except (binascii.Error, ValueError):
        raise invalid_field("page_token", f"{token!r} is not a token of this method.") from None
    return time, name
