"""Airflow stores the source of each function given to a task or a DAG, and finds it by parsing.

Of functions that nobody reads there it need not be found: parsing that of each hook of a deployment
was a third of the time that serializing a DAG takes.
"""

from collections.abc import Callable
from typing import Any


def unread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what calls a function or method and has no source: a wrapper that Python makes."""
    return function.__call__  # type: ignore[operator]
