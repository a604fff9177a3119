"""Arguments of all tasks of a DAG: retries, their delays, and the alert."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from trellis.workflow.spec.platform import Platform


def arguments(platform: Platform, on_failure: Callable[[Any], None]) -> dict[str, Any]:
    """Retries for every task: they cost little, as each attempt adopts the job of the one before.

    An error that no retry can cure is raised as AirflowFailException, which is not retried.
    """
    return {
        "retries": 3,
        "retry_delay": timedelta(seconds=platform.retry_seconds),
        "retry_exponential_backoff": 2,
        "max_retry_delay": timedelta(minutes=10),
        "on_failure_callback": on_failure,
    }
