"""What the attempts of one task may cost together: the figure of its plan.

A job whose fault is Google's is repeated by Airflow, and each job may run until its own limit. So
the next one gets what those before, at their own prices, have left of the figure. Once nothing is
left, the task fails for good. A person who clears the task decides on new costs, and the count
begins again.
"""

from trellis.verdict import JobFailedForGood

LEAST_SECONDS = 60.0
"""Time without which another job would only pay for its start."""


def left(allowed: float, used: float, *, least: float, unit: str, what: str) -> float:
    """What the next job of a task may use, in `unit`.

    allowed: what all jobs of the task may use. used: what the jobs so far have. least: with less,
    another job is not worth its start. what: a title for people. Raises JobFailedForGood if too
    little is left.
    """
    rest = allowed - used
    if used and rest < least:
        raise JobFailedForGood(
            f"The attempts of this task have used {used:,.2f} {unit}, of the {allowed:,.2f} {unit} "
            f"that its plan has for the {what}: another one might cost more than the plan says. "
            "Clear this task to allow it as much again."
        )
    return rest
