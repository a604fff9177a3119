"""Logs every call at level DEBUG, with names and types of fields, but without values.

    LOCAL_GCP_LOG_LEVEL=DEBUG local-gcp up       # then HOME/server.log has lines with `call: {...}`

A line is JSON: `service`, `method` and `url` (or the gRPC `rpc`), `status`, and `request` and
`response` with "", 0, false in place of each value and one entry in place of a list or a map.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import proto
from google.protobuf.descriptor import FieldDescriptor
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)

_MOST_BYTES = 1 << 20
"""Longer bodies are not logged; most are bytes of objects."""


def outline(value: Any) -> Any:
    """JSON without its values."""
    if isinstance(value, dict):
        return {name: outline(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_merged([outline(item) for item in value])] if value else []
    return None if value is None else type(value)()


def outline_of_message(message: Any) -> Any:
    """A protobuf message without its values: the set fields, by their names in JSON."""
    name = message.DESCRIPTOR.full_name
    if name in ("google.protobuf.Value", "google.protobuf.Struct", "google.protobuf.Any"):
        return name
    found: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.type != FieldDescriptor.TYPE_MESSAGE:
            found[field.json_name] = ""
        elif field.message_type.GetOptions().map_entry:
            found[field.json_name] = {"*": ""}
        elif hasattr(value, "ListFields"):
            found[field.json_name] = outline_of_message(value)
        else:
            found[field.json_name] = [_merged([outline_of_message(item) for item in value])]
    return found


def log_rpc(path: str, status: str, *messages: tuple[Any, Any]) -> None:
    """Log a gRPC call; `messages` are (class, request) and, unless it failed, (class, response)."""
    if log.isEnabledFor(logging.DEBUG):
        shown = zip(("request", "response"), messages, strict=False)
        outlines = {name: outline_of_message(_plain(*message)) for name, message in shown}
        log.debug("call: %s", json.dumps({"rpc": path, "status": status, **outlines}))


def _plain(kind: Any, value: Any) -> Any:
    """Convert to plain protobuf; `value` is a message or a dict of its fields, `kind` may be
    proto-plus.
    """
    if isinstance(kind, proto.message.MessageMeta):
        return kind.pb(value if isinstance(value, kind) else kind(value))
    return value if isinstance(value, kind) else kind(**value)


def logged(app: ASGIApp) -> ASGIApp:
    """The ASGI application, with its calls in the log if the level is DEBUG."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not log.isEnabledFor(logging.DEBUG):
            return await app(scope, receive, send)
        sent, answered, status = bytearray(), bytearray(), 0

        async def receiving() -> Message:
            message = await receive()
            if len(sent) <= _MOST_BYTES:
                sent.extend(message.get("body", b""))
            return message

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            if len(answered) <= _MOST_BYTES:
                answered.extend(message.get("body", b""))
            await send(message)

        await app(scope, receiving, sending)
        host = dict(scope["headers"]).get(b"host", b"").decode()
        query = scope["query_string"].decode()
        url = scope.get("raw_path", b"").decode() + (f"?{query}" if query else "")
        line = {"host": host, "method": scope["method"], "url": url, "status": status}
        log.debug(
            "call: %s", json.dumps(line | _json("request", sent) | _json("response", answered))
        )

    return call


def _json(part: str, body: bytearray) -> dict[str, Any]:
    if not body.lstrip().startswith(b"{") or len(body) > _MOST_BYTES:
        return {}
    try:
        return {part: outline(json.loads(body))}
    except ValueError:
        return {}


def _merged(outlines: list[Any]) -> Any:
    """One outline with the fields of all."""
    dicts = [one for one in outlines if isinstance(one, dict)]
    if not dicts:
        return outlines[0]
    names = dict.fromkeys(name for one in dicts for name in one)
    return {name: _merged([one[name] for one in dicts if name in one]) for name in names}
