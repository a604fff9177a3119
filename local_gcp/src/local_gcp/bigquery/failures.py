"""Converts exceptions of DuckDB and the file readers to the errors that BigQuery reports."""

from __future__ import annotations

import errno
import logging

import duckdb

from local_gcp.rest import ApiError, internal_error

from .errors import BigQueryError, not_emulated
from .sql import of_duckdb

log = logging.getLogger(__name__)


def as_bigquery_error(error: Exception, why_stopped: str = "local_gcp stopped") -> BigQueryError:
    """The error to report for `error`, which ended a job or a request.

    `why_stopped`: the reason, if it was interrupted.
    """
    if isinstance(error, BigQueryError):
        return error
    if isinstance(error, ApiError):  # from Cloud Storage, about a source or destination
        reason = {404: "notFound", 501: "notImplemented"}.get(error.code, "invalid")
        return BigQueryError(reason, error.message)
    if isinstance(error, duckdb.InterruptException):
        return BigQueryError("stopped", f"Job execution was cancelled: {why_stopped}")
    if isinstance(error, duckdb.InternalException | duckdb.FatalException):
        return _gap(error)
    if isinstance(error, duckdb.Error):
        return of_duckdb(error)
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOSPC:
        message = f"local_gcp has not enough memory or disk space: {error}"
        return BigQueryError("resourcesExceeded", message)
    return _gap(error)


def _gap(error: Exception) -> BigQueryError:
    """notImplemented: clients retry the reasons of internal errors, and would blame BigQuery."""
    log.error("local_gcp failed", exc_info=error)
    return not_emulated(f"this: {internal_error(error)}")
