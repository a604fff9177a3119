"""Each field of a request's message, sent once: what becomes of it.

A field is refused by name, named in an error, returned, or has an effect that another test shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from types import ModuleType
from typing import Any

from google.api_core.exceptions import GoogleAPICallError
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from local_gcp.wire import RpcError

DEEPEST = 6
KEY = "a-key"
"""Of the entry in each map."""
WELL_KNOWN = {
    "google.protobuf.Any": {"@type": "type.googleapis.com/google.protobuf.Duration", "value": "7s"},
    "google.protobuf.Duration": "7s",
    "google.protobuf.Timestamp": "2030-01-01T00:00:00Z",
    "google.protobuf.FieldMask": "displayName",
    "google.protobuf.Value": {"a": "b"},
    "google.protobuf.Struct": {"a": "b"},
    "google.protobuf.BoolValue": True,
    "google.protobuf.Int32Value": 7,
    "google.protobuf.ListValue": [1],
}
VALUES = {FieldDescriptor.CPPTYPE_BOOL: True, FieldDescriptor.CPPTYPE_STRING: "x"}


def paths(
    api: ModuleType, descriptor: Descriptor, valid: Mapping[str, Any], depth: int = 0, above=()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """((name, ...), value) of each field that a client may set.

    `api`: the module of the messages' classes. `valid`: values that fit, by the field's name;
    other fields get one by their type.
    """
    hidden = _output_only(_documented(api, descriptor))
    for field in descriptor.fields:
        if field.name in hidden or depth > DEEPEST or field.message_type in above:
            continue
        here, kind = (field.name,), field.message_type
        if kind is None:
            value = _value_of(field, valid)
            yield here, [value] if field.is_repeated else value
        elif is_map(field):
            entry = kind.fields_by_name["value"]
            if entry.message_type is None:
                yield here, {KEY: _value_of(entry, valid)}
            else:
                for below, value in paths(api, entry.message_type, valid, depth + 1, above):
                    yield (*here, *below), value
        elif kind.full_name in WELL_KNOWN:
            value = WELL_KNOWN[kind.full_name]
            yield here, [value] if field.is_repeated else value
        else:
            for below, value in paths(api, kind, valid, depth + 1, (*above, descriptor)):
                yield (*here, *below), value


def with_field(message: Message, path: tuple[str, ...], value: Any) -> Message:
    """A copy of the message with the field set, in the first item of a list or the entry `KEY`."""
    result = type(message)()
    result.CopyFrom(message)
    holder = result
    for name in path[:-1]:
        field = holder.DESCRIPTOR.fields_by_name[name]
        item = getattr(holder, name)
        if is_map(field):
            holder = item[KEY]
        elif field.is_repeated:
            holder = item[0] if item else item.add()
        else:
            item.SetInParent()
            holder = item
    json_format.ParseDict({path[-1]: value}, holder)
    return result


def value_at(message: Message | None, path: tuple[str, ...]) -> Any:
    """The field as JSON; None if it is not set, or there is no such field."""
    for name in path[:-1]:
        if message is None or name not in message.DESCRIPTOR.fields_by_name:
            return None
        field, message = message.DESCRIPTOR.fields_by_name[name], getattr(message, name)
        if is_map(field):
            message = message.get(KEY)
        elif field.is_repeated:
            message = message[0] if message else None
    if message is None:
        return None
    return json_format.MessageToDict(message, preserving_proto_field_name=True).get(path[-1])


def is_map(field: FieldDescriptor) -> bool:
    """Return whether the field is a map."""
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def named(message: str, path: tuple[str, ...], value: Any, base: Container[str]) -> bool:
    """Return whether an error names the field or its value. `base`: fields that are always sent."""
    shown = (repr(value), f'"{value}"', f"/{value} ", f" {value} ")
    texts = [*path[path[0] in base :], *path[-1:], *shown]
    return any(text in message for text in texts)


def taken(
    api: ModuleType, request: Any, send: Callable[[Any], Any], valid: Mapping[str, Any]
) -> set[str]:
    """Names of the fields that `send` takes, or refuses without naming them.

    `request`: one that `send` accepts. Its own fields are sent with another value, too.
    """
    kind, found = type(request), set()
    sent = kind.pb(request)
    base = {field.name for field, _ in sent.ListFields()}
    for path, value in paths(api, sent.DESCRIPTOR, valid):
        try:
            send(kind(with_field(sent, path, value)))
        except (RpcError, GoogleAPICallError) as error:
            if not named(error.message, path, value, base):
                found.add(f"{'.'.join(path)}: {error.message}")
        else:
            found.add(".".join(path))
    return found


def _output_only(message: Any) -> set[str]:
    """Names of the fields that its documentation calls output only."""
    return set(re.findall(r"^ {8}(\w+) \([^)]*\):\n +Output only\.", message.__doc__ or "", re.M))


def _documented(api: ModuleType, descriptor: Descriptor) -> Any:
    """The client's class of a message."""
    found: Any = api
    for part in descriptor.full_name.removeprefix(f"{descriptor.file.package}.").split("."):
        found = getattr(found, part, None)
    return found


def _value_of(field: FieldDescriptor, valid: Mapping[str, Any]) -> Any:
    if field.name in valid:
        return valid[field.name]
    if field.enum_type:
        return field.enum_type.values[-1].name
    return VALUES.get(field.cpp_type, 1)
