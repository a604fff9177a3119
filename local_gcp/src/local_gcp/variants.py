"""How one local_gcp answers where Google's documentation leaves it open, and how fast.

    local-gcp up --variant etags=failed-precondition --variant list-lag=5

or LOCAL_GCP_VARIANTS="etags=failed-precondition,list-lag=5". The default of each is what is most
probable; a program that is to work with Google Cloud works under each of the others too.
"""

from __future__ import annotations

import dataclasses
import os
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

VARIABLE = "LOCAL_GCP_VARIANTS"


class VariantError(ValueError):
    """There is no such variant, or it has no such value."""


def _variant(default: Any, means: str) -> Any:
    return dataclasses.field(default=default, metadata={"means": means})


@dataclasses.dataclass(frozen=True)
class Variants:
    """See the module. Fields are named on the command line with - for _."""

    operation_seconds: float = _variant(
        1.0,
        "how long Vertex AI's operations take that need no work here: to create an endpoint or a "
        "dataset, to upload or copy a model, to delete anything. 0: done in the answer",
    )
    failing_operations: int = _variant(
        0,
        "so many operations of each method of Vertex AI, the first ones, are accepted and end with "
        "INTERNAL; nothing comes of them",
    )
    list_operations: Literal["answered", "unimplemented"] = _variant(
        "answered", "whether endpoints and models have ListOperations"
    )
    taken_aliases: Literal["moved", "refused"] = _variant(
        "moved",
        "what happens if a version is given an alias that another version of the model has; "
        "`default` always moves",
    )
    list_lag: float = _variant(
        0.0, "Vertex AI's lists show what was so many seconds ago; a get shows what is"
    )
    etags: Literal["checked", "aborted", "failed-precondition"] = _variant(
        "checked",
        "of two updates of an endpoint that carry an etag, the first is refused with this code, as "
        "if another client had just changed the endpoint",
    )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Variants:
        """From LOCAL_GCP_VARIANTS; VariantError."""
        given = filter(None, (word.strip() for word in environment.get(VARIABLE, "").split(",")))
        return cls.parse(*given)

    @classmethod
    def parse(cls, *given: str) -> Variants:
        """From NAME=VALUE; the last of a name counts. VariantError."""
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
    """Lines for --help: name and values or default, then what it means."""
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
