"""DuckDB's memory, which the queries of all requests share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import duckdb

from .errors import BigQueryError

WAITS = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between the attempts of a request that finds no memory."""

T = TypeVar("T")


def patiently(function: Callable[[], T]) -> T:
    """Call `function`; while the queries of others take all memory, again after their ends.

    It must change nothing when it fails: its transaction is rolled back.
    """
    for seconds in WAITS:
        try:
            return function()
        except duckdb.OutOfMemoryException:
            time.sleep(seconds)
    try:
        return function()
    except duckdb.OutOfMemoryException as error:
        raise BigQueryError(
            "backendError",
            f"Other queries take all of local_gcp's memory for BigQuery; retry: {error}",
        ) from error
