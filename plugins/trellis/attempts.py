"""The time that the attempts of one task may take together: a plan's bound holds for all of them.

A job whose fault is Google's is repeated by Airflow, and each job may run until its own time limit.
So the next one gets the time that those before have left of it. Once nothing is left, the task
fails for good. A person who clears the task decides on new costs, and the count begins again.
"""

from trellis.verdict import JobFailedForGood

LEAST_SECONDS = 60.0
"""Time without which another job would only pay for its start."""


def seconds_left(allowed: float, used: float, what: str) -> float:
    """Seconds that the next job of a task may run.

    allowed: seconds that all jobs of the task may run. used: those of the jobs so far. what: a
    title for people. Raises JobFailedForGood if too little is left.
    """
    seconds = allowed - used
    if used and seconds < min(LEAST_SECONDS, allowed / 2):
        raise JobFailedForGood(
            f"The attempts of this task have run for {used / 3600:.2f} h, of the "
            f"{allowed / 3600:.2f} h that its plan has for the {what}: another one might cost more "
            "than the plan says. Clear this task to allow it as much again."
        )
    return seconds
