"""Polls in the task's own process before it defers, and in the trigger.

A task that resumes before the scheduler has read the executor's event of its deferral loses an
attempt (https://github.com/apache/airflow/issues/72716). That event may be 5 s late: a task's
supervisor that misses the end of its process looks again after `[workers] min_heartbeat_interval`;
so it was for one in eight deferrals. So a task itself waits for work that ends soon, and a trigger
delays its first poll for longer than that.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

IN_TASK_SECONDS = 10.0
"""A task defers only if its work takes longer than this: about what a deferral costs, whose first
poll is FIRST_POLL_SECONDS later, and which another process resumes."""

FIRST_POLL_SECONDS = 8.0
"""Delay of a trigger's first poll, unless its poll interval is longer: Airflow's 5 s, and
3 s for a pass of the scheduler's loop."""

LONGEST_PAUSE_SECONDS = 60.0
"""Longest pause between two polls after failures, unless the poll interval is longer."""

T = TypeVar("T")


def in_task(poll: Callable[[], T | None]) -> T | None:
    """Return the result of `poll` within a few seconds; None if it returns nothing, or fails.

    A failed poll does not fail the task: the trigger then waits, and repeats failed polls.
    """
    deadline = time.monotonic() + IN_TASK_SECONDS
    pause = 0.1
    while time.monotonic() + pause < deadline:
        time.sleep(pause)
        try:
            found = poll()
        except Exception:
            return None
        if found is not None:
            return found
        pause = min(2 * pause, 1.0)
    return None


async def in_trigger(
    poll: Callable[[], Awaitable[T | None]], subject: str, poll_interval: float, log: Any
) -> T:
    """Call `poll` every `poll_interval` seconds until it returns something; returns that.

    A failed poll does not count as a failure of `subject`: it is logged and repeated, with growing
    pauses.
    """
    failures = 0
    await asyncio.sleep(max(FIRST_POLL_SECONDS, poll_interval))
    while True:
        try:
            if (found := await poll()) is not None:
                return found
            failures = 0
        except Exception as error:
            failures += 1
            log.warning("Could not poll %s, retrying: %s", subject, error)
        pause = min(poll_interval * 2**failures, LONGEST_PAUSE_SECONDS)
        await asyncio.sleep(max(pause, poll_interval))
