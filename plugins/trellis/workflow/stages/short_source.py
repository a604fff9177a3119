"""Airflow stores the source of each function given to a task or a DAG, and finds it by parsing.

Functions that nobody reads there are given with a source of two lines: finding that of each hook of
a deployment was a third of the time that serializing a DAG takes.
"""

from collections.abc import Callable
from typing import Any


def short(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a source of two lines."""

    def call(*arguments: Any) -> Any:
        return function(*arguments)

    call.__name__ = function.__name__
    return call
