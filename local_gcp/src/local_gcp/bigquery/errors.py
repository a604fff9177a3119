"""BigQuery's errors, with its messages: one exception class for requests and jobs."""

from __future__ import annotations

# https://cloud.google.com/bigquery/docs/error-messages#errortable
_STATUS = {
    "accessDenied": 403,
    "backendError": 503,
    "conditionNotMet": 412,
    "duplicate": 409,
    "internalError": 500,
    "invalid": 400,
    "invalidQuery": 400,
    "jobBackendError": 400,
    "jobInternalError": 400,
    "notFound": 404,
    "notImplemented": 501,
    "quotaExceeded": 403,
    "resourceInUse": 400,
    "resourcesExceeded": 400,
    "responseTooLarge": 403,
    "stopped": 200,
    "timeout": 400,
}


class BigQueryError(Exception):
    """An error as BigQuery reports it: the response to a request, or a job's `status.errorResult`.

    `reason`: machine-readable cause, one of BigQuery's (`invalidQuery`, `notFound`, ...).
    `message`: human-readable, in BigQuery's wording.
    `location`: where, e.g. "query" or a file's address; None if there is no such place.
    """

    def __init__(self, reason: str, message: str, location: str | None = None):
        super().__init__(message)
        self.reason, self.message, self.location = reason, message, location

    @property
    def status(self) -> int:
        """The HTTP status of a request that fails with this error."""
        return _STATUS.get(self.reason, 400)

    @property
    def proto(self) -> dict:
        """REST ErrorProto."""
        proto = {"reason": self.reason, "message": self.message}
        return proto if self.location is None else {**proto, "location": self.location}


def invalid_query(message: str, position: tuple[int, int] | None = None) -> BigQueryError:
    """Error for an invalid query; `position` is (line, column), both from 1."""
    if position is not None:
        message = f"{message} at [{position[0]}:{position[1]}]"
    return BigQueryError("invalidQuery", message, "query")


def invalid(message: str) -> BigQueryError:
    """Error for an invalid value in a request."""
    return BigQueryError("invalid", message)


def not_found(kind: str, name: object, location: str | None = None) -> BigQueryError:
    """`kind`: "Table", "Dataset", "Model" or "Job"; `name` as BigQuery writes it (`p:d.t`).

    `location`: of the job that needs it; None for a request.
    """
    where = f" was not found in location {location}" if location else ""
    return BigQueryError("notFound", f"Not found: {kind} {name}{where}")


def already_exists(kind: str, name: object) -> BigQueryError:
    """Error for a name that is taken."""
    return BigQueryError("duplicate", f"Already Exists: {kind} {name}")


def not_emulated(what: str) -> BigQueryError:
    """Error for a feature of BigQuery that local_gcp lacks; it never returns a wrong result
    instead.
    """
    return BigQueryError("notImplemented", f"local_gcp does not emulate {what}.", "query")
