"""Find the job that a task already has, or create it: exactly one, even if processes die.

Every attempt first lists the jobs with the task's label, so a job outlives the worker that created
it: the next attempt adopts it. Labels alone do not prevent duplicates; three facts matter:

- Airflow's scheduler never runs two attempts of one task at the same time.
- Vertex does not document its lists as strongly consistent. The task's retry delay separates
  attempts; within one attempt, a create whose response got lost is looked up after LAG_SECONDS.
- A refused create (429) created nothing; any other error may have, so it is not simply repeated.
"""

import datetime
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.api_core import exceptions, retry
from google.cloud.aiplatform_v1.types import JobState

from trellis import attempts
from trellis.identity import KEY_LABEL, ROUND_LABEL
from trellis.verdict import JobFailed, JobFailedForGood, Verdict
from trellis.vertex.jobs import Jobs, job_id, state_of
from trellis.vertex.outcome import FINISHED, raise_unless_succeeded, verdict

# How long one attempt tries before it leaves the rest to Airflow's retries. The quota on
# submissions is per minute, so two minutes often suffice.
PATIENCE_SECONDS = 120.0
FIRST_PAUSE_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 30.0

# How long a list may lag behind a create whose response got lost.
LAG_SECONDS = 10.0

TRY_AGAIN = (
    exceptions.ResourceExhausted,
    exceptions.ServiceUnavailable,
    exceptions.DeadlineExceeded,
    exceptions.InternalServerError,
    exceptions.Aborted,
)

# A mistake in the job or a missing permission: for a person to fix.
_NEVER = (exceptions.InvalidArgument, exceptions.PermissionDenied, exceptions.NotFound)


@dataclass(frozen=True)
class Cap:
    """What the jobs of a task may cost together, and how long each may take.

    usd: the plan's figure; None: what one job may cost. per_hour: gives the price of an hour of a
    job, of a search that of one trial, in US dollars. seconds: time limit of a kind of job whose
    message has none; the caller enforces it.
    """

    usd: float | None
    per_hour: Callable[[Any], float]
    seconds: float | None = None


def find_or_create(jobs: Jobs, message: Any, log: Any, cap: Cap | None = None) -> Any:
    """The job of the task that labelled `message`: adopted if it is there, else created.

    Adopts a job that succeeded, runs or waits. A job that failed by its own fault in this round (no
    one has cleared the task since) fails this attempt at once, as it failed the previous one. In
    all other cases (cancelled, Google's fault, an earlier round's failure) it creates a new job,
    with the time for which those before have left money (`within_plan`).

    Raises JobFailed when Vertex refuses for two minutes, with the quota's name if it is one;
    JobFailedForGood as above, and for errors that waiting does not fix: permissions, a
    malformed job.
    """
    try:
        return retrying(log)(_find_or_create_once)(jobs, message, log, cap)
    except _NEVER as error:
        raise JobFailedForGood(
            f"Vertex AI refuses this {jobs.kind.title}: {reason(error)}"
        ) from error
    except exceptions.RetryError as error:
        raise JobFailed(
            f"Vertex AI accepted no {jobs.kind.title} for {PATIENCE_SECONDS:.0f} s: "
            f"{reason(error.cause)}"
        ) from error


def retrying(log: Any) -> retry.Retry:
    """Retries of a function while Vertex AI is busy: two minutes, then RetryError."""
    return retry.Retry(
        predicate=retry.if_exception_type(*TRY_AGAIN),
        initial=FIRST_PAUSE_SECONDS,
        maximum=LONGEST_PAUSE_SECONDS,
        timeout=PATIENCE_SECONDS,
        on_error=lambda error: log.warning("Vertex AI refused, retrying: %s", reason(error)),
    )


def find(jobs: Jobs, key: str, round_: str) -> Any | None:
    """The job that decides what an attempt does: the best of those with the label, or None.

    In this order: a job that succeeded, one that runs or waits, one that failed by its own fault in
    this round. The newest of equals.
    """
    jobs_of_task = jobs.with_label(KEY_LABEL, key)
    rulings = [(job, verdict(job, round_, jobs.kind.partly)) for job in jobs_of_task]
    for job, ruling in rulings:
        if ruling is Verdict.SUCCESS:
            return job
    for job, ruling in rulings:
        if ruling is Verdict.WAIT and state_of(job) != JobState.JOB_STATE_CANCELLING:
            return job
    for job, ruling in rulings:
        own_fault = state_of(job) == JobState.JOB_STATE_FAILED and ruling is Verdict.GIVE_UP
        if own_fault and job.labels.get(ROUND_LABEL) == round_:
            return job
    return None


def within_plan(jobs: Jobs, message: Any, cap: Cap | None) -> Any:
    """The next job of a task, with the time that is paid for after the jobs before it.

    Of a tuning job, the time is that of each trial. Raises JobFailedForGood if nothing is left. A
    pipeline of AutoML has no time limit, and one that fails is not billed:
    https://cloud.google.com/vertex-ai/pricing#automl_models
    """
    scheduling = getattr(message, jobs.kind.spec).scheduling if jobs.kind.spec else None
    longest = scheduling.timeout.total_seconds() if scheduling else None
    if cap is None or not (longest := longest or cap.seconds):
        return message
    seconds = seconds_left(jobs, message, cap, longest)
    if scheduling and seconds < longest:
        scheduling.timeout = datetime.timedelta(seconds=max(1, int(seconds)))
    return message


def seconds_left(
    jobs: Jobs, job: Any, cap: Cap, longest: float, before: datetime.datetime | None = None
) -> float:
    """Seconds that a job, or each trial of a search, may run, `longest` at most.

    before: what was created then or later is not counted. Raises JobFailedForGood as `within_plan`.
    """
    key, round_ = job.labels[KEY_LABEL], job.labels[ROUND_LABEL]
    spent = usd_spent(jobs, key, round_, cap.per_hour, before)
    second = cap.per_hour(job) * max(1, getattr(job, "max_trial_count", 1)) / 3600
    allowed = longest * second if cap.usd is None else cap.usd
    least = min(attempts.LEAST_SECONDS, longest / 2) * second
    rest = attempts.left(allowed, spent, least=least, unit="USD", what=jobs.kind.title)
    # A plan's figures are rounded.
    return min(longest, math.ceil(rest / second))


def usd_spent(
    jobs: Jobs,
    key: str,
    round_: str,
    per_hour: Callable[[Any], float],
    before: datetime.datetime | None = None,
) -> float:
    """US dollars of a task's jobs in this round, by their own times and machines; of tuning jobs,
    those of all trials together.

    before: without jobs that were created then or later.
    """
    return sum(
        _seconds(part) / 3600 * per_hour(job)
        for job in jobs.with_label(KEY_LABEL, key)
        if job.labels.get(ROUND_LABEL) == round_ and (before is None or job.create_time < before)
        for part in (job.trials if hasattr(job, "trials") else [job])
    )


def _seconds(part: Any) -> float:
    """Seconds of a job or trial. Of one that does not say when it ended, until its last change."""
    if not part.start_time:
        return 0.0
    ended = part.end_time or getattr(part, "update_time", None) or part.start_time
    return float(max(0.0, (ended - part.start_time).total_seconds()))


def reason(error: Any) -> str:
    """Google's message, and for a quota its name, which the message does not always have."""
    text = getattr(error, "message", None) or str(error)
    names = []
    for detail in getattr(error, "details", None) or []:
        for violation in getattr(detail, "violations", []):
            names.append(getattr(violation, "subject", "") or violation.description)
        metadata = getattr(detail, "metadata", None) or {}
        names += [metadata[k] for k in ("quota_metric", "quota_limit") if k in metadata]
    missing = [name for name in names if name not in text]
    return f"{text} (quota: {', '.join(missing)})" if missing else text


def _find_or_create_once(jobs: Jobs, message: Any, log: Any, cap: Cap | None) -> Any:
    round_ = message.labels[ROUND_LABEL]
    found = find(jobs, message.labels[KEY_LABEL], round_)
    if found is None:
        message = within_plan(jobs, message, cap)
        try:
            created = jobs.create(message)
        except exceptions.ResourceExhausted:
            raise
        except TRY_AGAIN as error:
            log.warning("The create may have been executed, looking again: %s", reason(error))
            time.sleep(LAG_SECONDS)
            raise
        log.info("Created %s %s", jobs.kind.title, created.name)
        return created
    if state_of(found) in FINISHED:
        raise_unless_succeeded(found, jobs.kind, round_)
    log.info(
        "This task already has %s %s, created %s: adopting it",
        jobs.kind.title,
        job_id(found.name),
        time.strftime("%H:%M:%S UTC", found.create_time.utctimetuple()),
    )
    return found
