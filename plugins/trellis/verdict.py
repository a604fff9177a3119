"""What the end of a job of any service means for the task that waits for it."""

import enum


class Verdict(enum.Enum):
    """WAIT: it goes on. RETRY: another attempt may succeed. GIVE_UP: no attempt will."""

    SUCCESS = "success"
    WAIT = "wait"
    RETRY = "retry"
    GIVE_UP = "give up"
