"""Variants of the emulation where Google's documentation leaves the behaviour open.

    local-gcp up --variant etags=failed-precondition --variant list-lag=5

or LOCAL_GCP_VARIANTS="etags=failed-precondition,list-lag=5". The default of each is the most
probable; a program for Google Cloud should work with the others too.
"""

from __future__ import annotations

import dataclasses
import os
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

VARIABLE = "LOCAL_GCP_VARIANTS"


class VariantError(ValueError):
    """An unknown variant, or an invalid value of one."""


def _variant(default: Any, means: str) -> Any:
    return dataclasses.field(default=default, metadata={"means": means})


@dataclasses.dataclass(frozen=True)
class Variants:
    """See the module. Fields are named on the command line with - for _."""

    operation_seconds: float = _variant(
        1.0,
        "duration of Vertex AI's operations without work: creation of an endpoint or a dataset, "
        "upload and copy of a model, deletions. 0: done in the response",
    )
    failing_operations: int = _variant(
        0,
        "number of operations of each method of Vertex AI, from the first, that end with INTERNAL "
        "and without effect",
    )
    list_operations: Literal["answered", "unimplemented"] = _variant(
        "answered", "whether datasets, endpoints, models and regions have ListOperations"
    )
    taken_aliases: Literal["moved", "refused"] = _variant(
        "moved",
        "if a version gets an alias of another version of the model: move it or refuse; "
        "`default` always moves",
    )
    list_lag: float = _variant(
        0.0,
        "delay of Vertex AI's lists: they show the state of so many seconds ago; a get is current",
    )
    etags: Literal["checked", "aborted", "failed-precondition"] = _variant(
        "checked",
        "code that refuses the first of two updates of an endpoint with an etag, as if another "
        "client had just changed it",
    )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Variants:
        """Read LOCAL_GCP_VARIANTS; VariantError."""
        given = filter(None, (word.strip() for word in environment.get(VARIABLE, "").split(",")))
        return cls.parse(*given)

    @classmethod
    def parse(cls, *given: str) -> Variants:
        """Parse NAME=VALUE; the last of a name counts. VariantError."""
        kinds, values = get_type_hints(cls), {}
        for words in given:
            name, _, text = words.partition("=")
            field = name.replace("-", "_")
            if field not in kinds:
                known = ", ".join(kind.replace("_", "-") for kind in kinds)
                raise VariantError(f"There is no variant {name!r}; there are: {known}.")
            values[field] = _value(name, kinds[field], text)
        return cls(**values)


def described() -> Iterator[str]:
    """Lines for --help: name with values or default, then the meaning."""
    kinds = get_type_hints(Variants)
    for field in dataclasses.fields(Variants):
        values = "|".join(get_args(kinds[field.name])) or f"{field.default:g}"
        yield f"{field.name.replace('_', '-')}={values}"
        yield from textwrap.wrap(
            field.metadata["means"], 76, initial_indent="    ", subsequent_indent="    "
        )


def _value(name: str, kind: Any, text: str) -> Any:
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise VariantError(f"{name} is {' or '.join(get_args(kind))}, not {text!r}.")
        return text
    try:
        number = kind(text)
    except ValueError:
        number = -1
    if not 0 <= number <= 3600:  # false for a NaN, too
        raise VariantError(f"{name} is a number from 0 to 3600, not {text!r}.")
    return number
