"""What the end of a BigQuery job means for the Airflow task that waits for it.

A job is DONE with an error result or without. Which errors may pass is what BigQuery's own table
says (https://cloud.google.com/bigquery/docs/error-messages): its side's faults and limits of rate.
A query that is wrong, or needs more than it may have, ends the same way every time.
"""

from typing import Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException
from google.api_core import exceptions

from vertex.identity import KEY_LABEL, ROUND_LABEL
from vertex.verdict import Verdict

PASSING = {
    "backendError",
    "internalError",
    "jobBackendError",
    "jobInternalError",
    "jobRateLimitExceeded",
    "quotaExceeded",
    "rateLimitExceeded",
    "tableUnavailable",
    "timeout",
}
CANCELLED = "stopped"


class BigQueryJobFailed(AirflowException):
    """The job did not succeed for a reason that may pass: the task's retries insert another."""


class BigQueryJobFailedForGood(AirflowFailException):
    """The job did not succeed and would not the next time: no retry until a person clears it."""


def verdict(job: Any, labels: dict[str, str]) -> Verdict:
    """What a job's state means for an attempt that would label its own job so.

    A failure that is the job's own fault counts for the attempts of the round that inserted it. A
    person who cleared the task since, or another task that shares the piece of work, asks again.
    """
    if job.state != "DONE":
        return Verdict.WAIT
    if not job.error_result:
        return Verdict.SUCCESS
    if job.error_result.get("reason") in PASSING:
        return Verdict.RETRY
    asked = [(job.labels or {}).get(name) for name in (KEY_LABEL, ROUND_LABEL)]
    same = asked == [labels[KEY_LABEL], labels[ROUND_LABEL]]
    return Verdict.GIVE_UP if same else Verdict.RETRY


def raise_unless_succeeded(job: Any, labels: dict[str, str]) -> None:
    """Raise BigQueryJobFailed or BigQueryJobFailedForGood for a job that is done with an error."""
    ruling = verdict(job, labels)
    if ruling is Verdict.RETRY:
        raise BigQueryJobFailed(f"{describe(job)}\nThis may pass: the task is tried again.")
    if ruling is Verdict.GIVE_UP:
        raise BigQueryJobFailedForGood(
            f"{describe(job)}\nNot tried again by itself, as it would end the same way. "
            "Clear this task to run a new job once the cause is gone."
        )


def may_pass(error: Any) -> bool:
    """Whether a call that BigQuery refused may be taken later.

    Limits of rate and quota come as 403 too: the reason tells them from a missing permission.
    """
    if isinstance(error, exceptions.ServerError):
        return not isinstance(error, exceptions.MethodNotImplemented)
    if isinstance(error, exceptions.TooManyRequests):
        return True
    return any(e.get("reason") in PASSING for e in getattr(error, "errors", None) or [])


def describe(job: Any) -> str:
    """How the job ended, BigQuery's own words, and where to look."""
    error = job.error_result
    how = "was cancelled" if error.get("reason") == CANCELLED else "failed"
    return "\n".join(
        [
            f"BigQuery job {job.job_id} {how}.",
            f"BigQuery says ({error.get('reason', 'no reason')}): {error.get('message', '')}",
            f"Console: {console_url(job)}",
        ]
    )


def console_url(job: Any) -> str:
    """Google Cloud console's page of a job."""
    return (
        f"https://console.cloud.google.com/bigquery?project={job.project}"
        f"&j=bq:{job.location}:{job.job_id}&page=queryresults"
    )
