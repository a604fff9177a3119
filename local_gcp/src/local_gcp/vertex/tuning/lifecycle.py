"""The life cycle of a tuning job as pure functions of its trials and their runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from google.rpc import code_pb2

from local_gcp.jobs.run import Run
from local_gcp.vertex.tuning.failures import too_many_failures
from local_gcp.vertex.tuning.spec import Study
from local_gcp.vertex.tuning.trials import Measurement, State, Trial, merge, select_final


@dataclasses.dataclass
class Progress:
    """Decisions about a tuning job, which survive a restart and are final."""

    closed: str | None = None
    """Reason why no more trials are proposed; running ones continue."""
    failure: str | None = None
    """Reason why the job has failed; running trials are ended."""
    failure_code: int = code_pb2.INVALID_ARGUMENT
    """google.rpc.Code; this is Vertex AI's for the failure of a program."""
    cancelled: bool = False
    """A request cancelled it; running trials are ended."""

    @property
    def ending(self) -> bool:
        return self.cancelled or self.failure is not None


def observe(
    study: Study, trial: Trial, run: Run, reported: Sequence[Measurement], no_metric: str
) -> Trial:
    """`trial`, updated from its run and its measurements so far.

    `no_metric` is the reason of a trial that succeeds without the study's metric.
    """
    measurements = merge(trial.measurements, reported)
    trial = dataclasses.replace(trial, start=run.started, measurements=measurements)
    if not run.final:
        return trial
    trial = dataclasses.replace(trial, end=run.ended)
    # A run that is stopped early is cancelled, but its trial is complete with what it has reported.
    if run.state != "succeeded" and not trial.stopped_early:
        reason = run.error["message"] if run.error else "The trial was cancelled."
        return dataclasses.replace(trial, state=State.INFEASIBLE, infeasible_reason=reason)
    final = select_final(measurements, best=study.best_measurement, maximize=study.maximize)
    if final is None:
        return dataclasses.replace(trial, state=State.INFEASIBLE, infeasible_reason=no_metric)
    return dataclasses.replace(trial, state=State.SUCCEEDED, final=final)


def decide(
    study: Study,
    trials: Sequence[Trial],
    progress: Progress,
    *,
    max_failed: int,
    created: float,
    now: float,
) -> Progress:
    """`progress`, updated from the trials."""
    if progress.ending:
        return progress
    if failure := too_many_failures(trials, max_failed):
        return dataclasses.replace(progress, failure=failure)
    if progress.closed is None and study.study_stopping:
        reason = study.study_stopping.reason(
            trials, created=created, now=now, maximize=study.maximize
        )
        return dataclasses.replace(progress, closed=reason)
    return progress


def to_stop(study: Study, trials: Sequence[Trial], progress: Progress) -> list[Trial]:
    """Trials that a stopping rule ends now."""
    active = [trial for trial in trials if trial.state is State.ACTIVE]
    if progress.ending:
        return []
    if progress.closed and study.study_stopping and study.study_stopping.should_stop_asap:
        return active
    if not study.trial_stopping:
        return []
    return [
        trial
        for trial in active
        if study.trial_stopping.should_stop(trial, trials, maximize=study.maximize)
    ]


def vacancies(study: Study, trials: Sequence[Trial], progress: Progress, parallel: int) -> int:
    """Return how many more trials may be proposed now."""
    if progress.ending or progress.closed:
        return 0
    unfinished = sum(not trial.done for trial in trials)
    return max(0, min(parallel - unfinished, study.max_trials - len(trials)))


def finished(study: Study, trials: Sequence[Trial], progress: Progress) -> bool:
    """Return whether no trial is running and none will be proposed."""
    if any(not trial.done for trial in trials):
        return False
    return progress.ending or bool(progress.closed) or len(trials) >= study.max_trials
