"""Verdict on the end of a job of any service for the task that waits for it."""

import enum

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
