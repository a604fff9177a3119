"""Verdict on the end of a job of any service for the task that waits for it."""

import enum
from collections.abc import Callable

from airflow.sdk.exceptions import AirflowException, AirflowFailException

RETRIED = "This may be transient; Airflow retries it."
"""Remark on a failure after which another attempt may succeed."""

NOT_RETRIED = (
    "Not retried, as it would fail the same way. "
    "Clear this task to run a new job once the cause is fixed."
)
"""Remark on a job's failure after which no attempt will succeed."""


class Verdict(enum.Enum):
    """WAIT: it goes on. RETRY: another attempt may succeed. GIVE_UP: no attempt will."""

    SUCCESS = "success"
    WAIT = "wait"
    RETRY = "retry"
    GIVE_UP = "give up"


class JobFailed(AirflowException):
    """The job failed for a reason that may be transient: the task's retries start another."""


class JobFailedForGood(AirflowFailException):
    """The job failed and would fail again: no retry until a person clears the task."""


def conclude(ruling: Verdict, describe: Callable[[], str]) -> None:
    """Raise JobFailed or JobFailedForGood for a job that ended so. describe: says how."""
    if ruling is Verdict.RETRY:
        raise JobFailed(f"{describe()}\n{RETRIED}")
    if ruling is Verdict.GIVE_UP:
        raise JobFailedForGood(f"{describe()}\n{NOT_RETRIED}")
