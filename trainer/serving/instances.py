"""A request's body -> its instances as they are, or an error that names every wrong field.

    {"instances": [...], "parameters": {...}}

"parameters" may be absent, see trainer.serving.parameters. trainer.serving.rows reads instances.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import orjson

from trainer.serving import parameters, strict_json
from trainer.serving.errors import (
    InvalidInstanceError,
    InvalidRequestError,
    Violation,
    short,
)
from trainer.serving.limits import MAX_INSTANCES
from trainer.serving.parameters import Request

Outcome = TypeVar("Outcome")


def checked(outcomes: Sequence[Outcome | Exception]) -> list[Outcome]:
    """The results of a request's instances; raises if any is an exception.

    InvalidInstanceErrors become one InvalidRequestError, which names the fields; others are raised
    unchanged.
    """
    good: list[Outcome] = []
    violations = []
    for index, outcome in enumerate(outcomes):
        if isinstance(outcome, InvalidInstanceError):
            violations += [error.of_instance(index) for error in outcome.errors]
        elif isinstance(outcome, Exception):
            raise outcome
        else:
            good.append(outcome)
    if violations:
        raise InvalidRequestError(violations)
    return good


def unwrap(body: bytes, expected: str, options: Sequence[str]) -> Request[Any]:
    """A request, its instances as they are. expected: what one is, for messages; options: the
    fields that `explain` may have.

    Raises InvalidRequestError.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequestError([strict_json.why_not_json(body, error)]) from error
    if not isinstance(document, dict):
        raise InvalidRequestError([_expected("body", '{"instances": [...]}', document)])
    violations = [
        Violation(short(name), 'unknown; expected {"instances": [...]}')
        for name in document
        if name not in ("instances", "parameters")
    ]
    explain, wrong = parameters.read(document.get("parameters"), options)
    violations += wrong
    instances = document.get("instances")
    if not isinstance(instances, list):
        violations.append(_expected("instances", f"a list of {expected}", instances))
        raise InvalidRequestError(violations)
    if not 1 <= len(instances) <= MAX_INSTANCES:
        violations.append(
            Violation("instances", f"expected 1 to {MAX_INSTANCES} instances, got {len(instances)}")
        )
    if violations:
        raise InvalidRequestError(violations)
    if strict_json.may_repeat(body, document) and (repeated := strict_json.repeated(body)):
        raise InvalidRequestError(repeated)
    return Request(instances, explain)


def apart(body: bytes) -> list[bytes] | None:
    """The bodies of requests for each instance by itself, if the parameter `each` asks for them.

    Raises InvalidRequestError for what is wrong with the whole request; None if nothing asks.
    """
    if b'"each"' not in body:
        return None
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None  # `unwrap` says why
    given = document.get("parameters") if isinstance(document, dict) else None
    if not isinstance(given, dict) or given.get("each") is not True:
        return None
    others = {name: value for name, value in given.items() if name != "each"}
    whole = unwrap(orjson.dumps({**document, "parameters": {}}), "instances", ())
    if strict_json.may_repeat(body, document) and (repeated := strict_json.repeated(body)):
        raise InvalidRequestError(repeated)
    return [orjson.dumps({"instances": [one], "parameters": others}) for one in whole.instances]


def _expected(field: str, what: str, value: Any) -> Violation:
    return Violation(field, f"expected {what}, got {kind_of(value)}")


def kind_of(value: Any) -> str:
    """A short description of a JSON value, for messages."""
    match value:
        case None:
            return "nothing"
        case bool() | int() | float():
            return f"the value {value!r}"
        case str():
            return f"a string of {len(value)} characters"
        case list():
            return f"a list of {len(value)}"
        case _:
            names = ", ".join(map(short, list(value)[:5]))
            return f"an object with {names}" if value else "an empty object"
