"""How often, and how soon, a task is tried again: arguments of all tasks of a DAG."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from research.platform import Platform


def arguments(platform: Platform, on_failure: Callable[[Any], None]) -> dict[str, Any]:
    """A retry costs little: it adopts the job that the attempt before it started.

    What no retry can mend is raised as AirflowFailException, and not tried again.
    """
    return {
        "retries": 3,
        "retry_delay": timedelta(seconds=platform.retry_seconds),
        "retry_exponential_backoff": 2,
        "max_retry_delay": timedelta(minutes=10),
        "on_failure_callback": on_failure,
    }
