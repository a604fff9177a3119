"""A request's `parameters`: whether its predictions are to be explained, and how, and whether each
instance is to be answered by itself.

    {"instances": [...], "parameters": {"explain": {}, "each": true}}

With `each`, an instance that is refused has {"error": MESSAGE} in the place of its prediction, and
the others have their predictions; without, it fails the request. Batch prediction asks for it,
since Vertex AI gives up all instances of a request that fails.

The fields of `explain`, each of which may be left out:

    class     whose probability is explained; default: the one predicted for the instance
    paths     how many orders of the columns are drawn, an even number from 4 to 50; default 10. A
              model of one image has no orders
    steps     of images: how often the gradient is taken, from 16 to 300; default 50
    baseline  of images: the plain picture that an image is compared with, black, grey or white;
              default black

A number may come as 10.0, as every number does that has passed through protobuf's Struct.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from trainer.serving.errors import Violation, short

EXPLAIN = "parameters.explain"

# https://cloud.google.com/vertex-ai/docs/reference/rest/v1/ExplanationSpec had 50 paths at most;
# the paper on integrated gradients finds 20 to 300 steps enough.
PATHS = (4, 50)
STEPS = (16, 300)
# In units of the largest value that a pixel can have.
BASELINES = {"black": 0.0, "grey": 0.5, "white": 1.0}

Instance = TypeVar("Instance")


@dataclass(frozen=True)
class Explain:
    """The fields of `explain`; label: of the class, None: the predicted one. baseline: None if
    none is asked for.
    """

    label: str | None = None
    paths: int = 10
    steps: int = 50
    baseline: str | None = None


@dataclass(frozen=True)
class Request(Generic[Instance]):
    """A request that has been read. explain: None if no explanation is wanted."""

    instances: list[Instance]
    explain: Explain | None


_OF_COLUMNS = ("paths",)
_OF_IMAGES = ("steps", "baseline")


def options(columns: bool, images: bool) -> tuple[str, ...]:
    """The fields that `explain` may have. columns: there are several, or one that is no image."""
    return ("class", *(_OF_COLUMNS if columns else ()), *(_OF_IMAGES if images else ()))


def read(parameters: Any, allowed: Sequence[str]) -> tuple[Explain | None, list[Violation]]:
    """The requested explanation, or its errors. allowed: the fields that `explain` may have."""
    if parameters is None or parameters == {}:
        return None, []
    if not isinstance(parameters, dict):
        return None, [Violation("parameters", 'expected an object, such as {"explain": {}}')]
    wrong = [
        Violation(f"parameters.{short(name)}", "unknown; expected explain, each")
        for name in parameters
        if name not in ("explain", "each")
    ]
    if not isinstance(parameters.get("each", False), bool):
        wrong.append(Violation("parameters.each", "expected true or false"))
    requested = parameters.get("explain")
    if requested is None:
        return None, wrong
    if not isinstance(requested, dict):
        wrong.append(Violation(EXPLAIN, 'expected an object, such as {} or {"class": "1"}'))
        return None, wrong
    fields: dict[str, Any] = {}
    for name, value in requested.items():
        field = f"{EXPLAIN}.{short(name)}"
        if name not in allowed:
            wrong.append(Violation(field, f"unknown; expected {', '.join(allowed)}"))
        elif value is not None:
            try:
                fields["label" if name == "class" else name] = _READERS[name](value)
            except ValueError as error:
                wrong.append(Violation(field, str(error)))
    return Explain(**fields), wrong


def _label(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected the name of a class, a string")
    return value


def _baseline(value: Any) -> str:
    if not isinstance(value, str) or value not in BASELINES:
        raise ValueError(f"expected {', '.join(BASELINES)}")
    return value


def _paths(value: Any) -> int:
    low, high = PATHS
    if not _is_whole(value) or not low <= value <= high or value % 2:
        raise ValueError(f"expected an even number from {low} to {high}")
    return int(value)


def _steps(value: Any) -> int:
    low, high = STEPS
    if not _is_whole(value) or not low <= value <= high:
        raise ValueError(f"expected a whole number from {low} to {high}")
    return int(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0


_READERS: Mapping[str, Any] = {
    "class": _label,
    "paths": _paths,
    "steps": _steps,
    "baseline": _baseline,
}
