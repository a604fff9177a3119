"""Converts DuckDB's runtime errors to BigQuery's messages."""

from __future__ import annotations

import re

import duckdb

from local_gcp.bigquery.errors import BigQueryError

_RULES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"Could not convert string 'bq:(.*)' to INT64", re.DOTALL), r"\1"),
    (re.compile(r"ValueError: bq:(.*)", re.DOTALL), r"\1"),
    (re.compile(r"Overflow in addition of INT\d+ \((.*)\)"), r"int64 overflow: \1"),
    (re.compile(r"Overflow in subtraction of INT\d+ \((.*)\)"), r"int64 overflow: \1"),
    (re.compile(r"Overflow in multiplication of INT\d+ \((.*)\)"), r"int64 overflow: \1"),
    (re.compile(r"Overflow in negation of .*"), r"int64 overflow: -(-9223372036854775808)"),
    (re.compile(r"More than one row returned by a subquery.*", re.DOTALL),
     "Scalar subquery produced more than one element"),
    (re.compile(r'Could not parse string "(.*)" according to format', re.DOTALL),
     r'Failed to parse input string "\1"'),
    (re.compile(r'(?:invalid timestamp field format|timestamp field value out of range): "(.*?)"'),
     r"Invalid timestamp: '\1'"),
    (re.compile(r'(?:invalid date field format|date field value out of range): "(.*?)"'),
     r"Invalid date: '\1'"),
    (re.compile(r"invalid time field format: \"(.*?)\""), r"Invalid time: '\1'"),
    (re.compile(r"Type HUGEINT with value (-?\d+) can't be cast.*INT64"), r"int64 overflow: \1"),
    (re.compile(r"Type DOUBLE with value (\S+) can't be cast.*INT64"),
     r"Illegal conversion of floating point number to an integer: \1"),
    (re.compile(r"NOT NULL constraint failed: \S*?\.?\"?([^\".]+)\"?$", re.MULTILINE),
     r"Required field \1 cannot be null"),
    (re.compile(r"(?:Unknown TimeZone|Unknown time zone)[^']*'([^']*)'"), r"Invalid time zone: \1"),
    (re.compile(r"MERGE INTO command cannot affect the same target row more than once"),
     "UPDATE/MERGE must match at most one source row for each target row"),
    (re.compile(r"Malformed JSON.*", re.DOTALL), "Invalid input: syntax error while parsing value"),
]  # fmt: skip
_WRONG = (
    duckdb.ConversionException,
    duckdb.DataError,
    duckdb.InvalidInputException,
    duckdb.OutOfRangeException,
    duckdb.ConstraintException,
    duckdb.SequenceException,
)


def of_duckdb(error: Exception) -> BigQueryError:
    """BigQuery's error for a DuckDB error.

    If DuckDB cannot compile the statement, the translation is wrong: notImplemented, with its text.
    """
    text = str(error)
    if isinstance(error, duckdb.InterruptException):
        return BigQueryError("stopped", "Job execution was cancelled: User requested cancellation")
    if isinstance(error, duckdb.OutOfMemoryException):
        return BigQueryError(
            "resourcesExceeded",
            f"Resources exceeded during query execution: {_first_line(text)}",
            "query",
        )
    for pattern, replacement in _RULES:
        match = pattern.search(text)
        if match:
            return BigQueryError("invalidQuery", match.expand(replacement).strip(), "query")
    if isinstance(error, _WRONG):
        return BigQueryError("invalidQuery", _first_line(text), "query")
    return BigQueryError(
        "notImplemented", f"local_gcp cannot run this statement: {_first_line(text)}", "query"
    )


def _first_line(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else "unknown error"
    return re.sub(r"^[A-Z][A-Za-z ]*Error: ", "", line)
