"""Counts the failed trials that a tuning job tolerates.

Source: "Handle failed trials" in Vertex AI's guide to creating hyperparameter tuning jobs.
"""

from __future__ import annotations

from collections.abc import Sequence

from local_gcp.vertex.tuning.trials import State, Trial

_MANY = 3


def too_many_failures(trials: Sequence[Trial], max_failed: int) -> str | None:
    """Return why the job fails now; None if it continues.

    With `max_failed` above 0 the job ends after that number of failed trials. With 0 Vertex ends
    the job when its first trial fails (here: a trial fails before any has succeeded), and
    later when failures have "grown too high", in number or ratio. That last rule is not published;
    here: three or more, and more than have succeeded.
    """
    failed = [t for t in trials if t.state is State.INFEASIBLE and not t.stopped_early]
    succeeded = sum(trial.state is State.SUCCEEDED for trial in trials)
    if not failed:
        return None
    if max_failed:
        if len(failed) < max_failed:
            return None
        rule = f"maxFailedTrialCount is {max_failed}"
    elif not succeeded:
        rule = "the first trial failed, and maxFailedTrialCount is not set"
    elif len(failed) >= _MANY and len(failed) > succeeded:
        rule = f"only {succeeded} succeeded, and maxFailedTrialCount is not set"
    else:
        return None
    count = "1 trial" if len(failed) == 1 else f"{len(failed)} trials"
    last = max(failed, key=lambda trial: trial.end or 0)
    return f"{count} failed: {rule}. Trial {last.id}: {last.infeasible_reason}"
