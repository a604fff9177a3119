"""What the end of a job, of whatever service, means for the task that waits for it."""

import enum


class Verdict(enum.Enum):
    SUCCESS = "success"
    WAIT = "wait"
    RETRY = "retry"
    GIVE_UP = "give up"
