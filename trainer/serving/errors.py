"""Why a prediction was not made, as Google's APIs say it.

A response that is no prediction has the form of https://cloud.google.com/apis/design/errors:

    {"error": {"code": 400, "status": "INVALID_ARGUMENT",
               "message": "instances[3].image_bytes.b64: not base64 ...",
               "details": [{"@type": "type.googleapis.com/google.rpc.BadRequest",
                            "fieldViolations": [{"field": "instances[3].image_bytes.b64",
                                                 "description": "not base64 ..."}]}]}}

`details` is there only if fields of the request are to blame.
"""

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

# A wrong client is often wrong in every instance: enough to see the pattern.
MAX_VIOLATIONS = 10


class ServingError(Exception):
    """A prediction that was not made. code: the HTTP status; the message is for the client."""

    code = 500
    retry_after: int | None = None  # seconds; None: the same request will fail again


class OverloadedError(ServingError):
    """This replica has as much accepted work as it can hold."""

    code = 429
    retry_after = 1


class NotReadyError(ServingError):
    """The model is still being loaded."""

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
    """The model has no answer, through no fault of the request."""


@dataclass(frozen=True)
class Violation:
    """What is wrong with one field, for example `instances[3].image_bytes`."""

    field: str
    description: str

    def __str__(self):
        return f"{self.field}: {self.description}"


class InvalidRequestError(ServingError):
    """A request that can never be answered, with all that is wrong with it."""

    code = 400

    def __init__(self, violations: Sequence[Violation]):
        self.violations = violations[:MAX_VIOLATIONS]
        message = "; ".join(map(str, self.violations))
        if left_out := len(violations) - len(self.violations):
            message += f"; and {left_out} more"
        super().__init__(message)


class InvalidFieldError(ValueError):
    """What is wrong with one field of an instance. path: the field within it, or empty."""

    def __init__(self, path: str, description: str):
        super().__init__(description)
        self.path = path

    def of_instance(self, index: int) -> Violation:
        """The violation, when the instance is the request's index-th."""
        return Violation(f"instances[{index}]{self.path and '.'}{self.path}", str(self))


def short(name: str) -> str:
    """A name that a client gave, for a message."""
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
