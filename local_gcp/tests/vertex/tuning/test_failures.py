"""Number of failed trials that a tuning job tolerates."""

import pytest

from local_gcp.vertex.tuning.failures import too_many_failures
from local_gcp.vertex.tuning.trials import State, Trial

STATES = {"+": State.SUCCEEDED, "-": State.INFEASIBLE, ".": State.ACTIVE}


def trials(marks):
    """One trial for each mark: + succeeded, - failed, . running."""
    return [
        Trial(str(i), {}, STATES[mark], end=float(i), infeasible_reason=f"exit {i}")
        for i, mark in enumerate(marks, 1)
    ]


@pytest.mark.parametrize(
    ("marks", "max_failed", "ends"),
    [
        ("...", 0, False),
        ("-..", 0, True),  # a failure before any success: "a problem in your training code"
        ("+-.", 0, False),
        ("+--", 0, False),
        ("+---", 0, True),
        ("+++---", 0, False),
        ("-..", 2, False),
        ("-+-", 2, True),
        ("-++++++", 1, True),
    ],
)
def test_when_failures_end_the_job(marks, max_failed, ends):
    assert bool(too_many_failures(trials(marks), max_failed)) == ends


def test_the_reason_names_the_rule_and_the_last_failure():
    text = too_many_failures(trials("+-.-"), 2)
    assert text == "2 trials failed: maxFailedTrialCount is 2. Trial 4: exit 4"
