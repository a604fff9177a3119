"""Converts exceptions of DuckDB and the file readers to the errors that BigQuery reports."""

from __future__ import annotations

import logging

import duckdb
import pyarrow as pa

from local_gcp.rest import ApiError

from .errors import BigQueryError
from .sql import of_duckdb

log = logging.getLogger(__name__)


def as_bigquery_error(error: Exception, why_stopped: str = "local_gcp stopped") -> BigQueryError:
    """The error to report for `error`, which ended a job or a request.

    `why_stopped`: the reason, if it was interrupted.
    """
    if isinstance(error, BigQueryError):
        return error
    if isinstance(error, ApiError):  # from Cloud Storage, about a source or destination
        return BigQueryError("notFound" if error.code == 404 else "invalid", error.message)
    if isinstance(error, duckdb.InterruptException):
        return BigQueryError("stopped", f"Job execution was cancelled: {why_stopped}")
    if isinstance(error, duckdb.InternalException | duckdb.FatalException):
        log.exception("DuckDB failed", exc_info=error)
        return BigQueryError("internalError", f"local_gcp failed: {_first_line(error)}")
    if isinstance(error, duckdb.Error):
        return of_duckdb(error)
    if isinstance(error, pa.ArrowException):
        return BigQueryError("invalid", _first_line(error))
    log.exception("local_gcp failed", exc_info=error)
    return BigQueryError(
        "internalError",
        f"local_gcp failed: {type(error).__name__}: {error}. This is a bug in local_gcp; "
        "server.log has the traceback.",
    )


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
