"""Errors of a prediction, in the format of Google's APIs.

An error response has the format of https://cloud.google.com/apis/design/errors:

    {"error": {"code": 400, "status": "INVALID_ARGUMENT",
               "message": "instances[3].image.b64: not base64 ...",
               "details": [{"@type": "type.googleapis.com/google.rpc.BadRequest",
                            "fieldViolations": [{"field": "instances[3].image.b64",
                                                 "description": "not base64 ..."}]}]}}

`details` is present only if fields of the request are wrong.
"""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass

import orjson
from starlette.responses import Response

# https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto
_STATUS = {
    400: "INVALID_ARGUMENT",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    408: "DEADLINE_EXCEEDED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}

# A client often makes the same mistake in every instance: a few show the pattern.
MAX_VIOLATIONS = 10


class ServingError(Exception):
    """A failed prediction. code: the HTTP status; the message is for the client."""

    code = 500
    retry_after: int | None = None  # seconds; None: the same request will fail again


class OverloadedError(ServingError):
    """The queue of this replica is full."""

    code = 429
    retry_after = 1


class NotReadyError(ServingError):
    """The model is still loading."""

    code = 503
    retry_after = 5


class StorageUnavailableError(ServingError):
    """Cloud Storage did not answer."""

    code = 503
    retry_after = 1


class TooLargeError(ServingError):
    """The request has too many bytes."""

    code = 413


class TooSlowError(ServingError):
    """The request's body did not arrive in time."""

    code = 408


class ModelFailureError(ServingError):
    """The model fails on a valid request."""


@dataclass(frozen=True)
class Violation:
    """A problem of one field, for example `instances[3].image`."""

    field: str
    description: str

    def __str__(self):
        return f"{self.field}: {self.description}"


class InvalidRequestError(ServingError):
    """An invalid request. violations: every wrong field."""

    code = 400

    def __init__(self, violations: Sequence[Violation]):
        self.violations = violations[:MAX_VIOLATIONS]
        message = "; ".join(map(str, self.violations))
        if left_out := len(violations) - len(self.violations):
            message += f"; and {left_out} more"
        super().__init__(message)


class InvalidFieldError(ValueError):
    """An invalid field of an instance. path: the field within it, or empty."""

    def __init__(self, path: str, description: str):
        super().__init__(description)
        self.path = path

    def of_instance(self, index: int) -> Violation:
        """The violation for the instance at `index` of the request."""
        return Violation(f"instances[{index}]{self.path and '.'}{self.path}", str(self))


class InvalidInstanceError(ValueError):
    """An instance some fields of which prove invalid only after its request has been read: images.

    errors: of each such field.
    """

    def __init__(self, errors: Sequence[InvalidFieldError]):
        super().__init__("; ".join(f"{error.path}: {error}" for error in errors))
        self.errors = errors


def trace(error: Exception) -> str:
    """The kind of an unexpected error and where it was raised, for the log. Its message, which
    only the caller gets, may quote the instance: a model's own operations may say anything.
    """
    return f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"


def short(name: str) -> str:
    """A client's name shortened for a message."""
    return name if len(name) <= 30 else f"{name[:30]}..."


def response(code: int, message: str, error: ServingError | None = None) -> Response:
    """The error as an HTTP response."""
    document: dict = {"code": code, "status": _STATUS.get(code, "UNKNOWN"), "message": message}
    if isinstance(error, InvalidRequestError):
        document["details"] = [
            {
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [vars(violation) for violation in error.violations],
            }
        ]
    retry = error.retry_after if error else None
    return Response(
        orjson.dumps({"error": document}),
        status_code=code,
        headers={"retry-after": str(retry)} if retry else None,
        media_type="application/json",
    )
