"""The section `local` of an experiment file: what differs on a small machine.

It is merged over the rest of the file where platform.yaml has `profile: local`, before anything
else looks at the values: the merged file is checked, planned and hashed like one without it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from trellis.workflow.spec.problems import Problem
from trellis.workflow.spec.yaml_file import Document

Profile = Literal["local"]

LOCAL: Final = "local"
"""The section, and the profile that takes it."""


def has_local(document: Document) -> bool:
    """Return whether a file has the section at all."""
    return LOCAL in document.values


def named(name: object, profile: Profile | None) -> str:
    """Name for messages of a file that is read on a platform of that profile."""
    return f"{name} with its section `{profile}`" if profile else f"{name}"


def of(document: Document, profile: Profile | None) -> Document:
    """The file as it is on a platform of that profile, without its section `local`.

    A field that the section changes has the line that it has there. Raises FileError if the
    section is no mapping, or has a section `local` itself.
    """
    if not has_local(document):
        return document
    changes = document.values[LOCAL]
    if not isinstance(changes, Mapping):
        message = "expected keys of an experiment file, to be merged over the others"
        raise document.error([Problem((LOCAL,), message)])
    if LOCAL in changes:
        raise document.error([Problem((LOCAL, LOCAL), "no key of this section: there is one")])
    values = {name: value for name, value in document.values.items() if name != LOCAL}
    if profile is None:
        return replace(document, values=values)
    return replace(
        document,
        name=named(document.name, profile),
        values=merge(values, changes),
        lines=document.lines
        | {where[1:]: line for where, line in document.lines.items() if where[:1] == (LOCAL,)},
    )


def merge(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with `changes`: mappings are merged, anything else is replaced, null removes it."""
    merged = dict(values)
    for name, change in changes.items():
        if change is None:
            merged.pop(name, None)
        elif isinstance(change, Mapping):
            inner = values.get(name)
            merged[name] = merge(inner if isinstance(inner, Mapping) else {}, change)
        else:
            merged[name] = change
    return merged
