"""Translates the end of a BigQuery job for the Airflow task that waits for it.

A job is DONE with or without an error result. BigQuery documents which errors are transient
(https://cloud.google.com/bigquery/docs/error-messages): faults on its side and rate limits.
A query that is wrong, or exceeds its resources, fails the same way every time.

The message of a query that is wrong quotes the value that it stumbled over ("Bad double value:
..."): no log and no alert gets it. The console shows it to those who may see the job.
"""

from collections.abc import Mapping
from typing import Any

from google.api_core import exceptions

from trellis import console
from trellis.identity import same_round
from trellis.verdict import Verdict, conclude
from trellis_contracts.withheld import quoted, withheld

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

QUOTES_NOTHING = {
    *PASSING,
    "accessDenied",
    "billingNotEnabled",
    "billingTierLimitExceeded",
    "blocked",
    "bytesBilledLimitExceeded",
    "duplicate",
    "notFound",
    "notImplemented",
    "resourceInUse",
    "resourcesExceeded",
    "responseTooLarge",
    CANCELLED,
}
"""Reasons of errors whose messages name tables, limits and permissions, never a value of a row."""


def verdict(job: Any, labels: dict[str, str]) -> Verdict:
    """Judge a job's state for an attempt whose own job would get these labels.

    A failure that is the job's own fault is final for the attempts of the round that inserted it.
    A task that was cleared since, or another task that shares the work, may try again.
    """
    if job.state != "DONE":
        return Verdict.WAIT
    if not job.error_result:
        return Verdict.SUCCESS
    if job.error_result.get("reason") in PASSING:
        return Verdict.RETRY
    return Verdict.GIVE_UP if same_round(job.labels, labels) else Verdict.RETRY


def raise_unless_succeeded(job: Any, labels: dict[str, str]) -> None:
    """Raise JobFailed or JobFailedForGood for a job that is done with an error."""
    conclude(verdict(job, labels), lambda: describe(job))


def may_pass(error: Any) -> bool:
    """Return whether BigQuery may accept later a call that it refused.

    Rate and quota limits are 403, too: the reason distinguishes them from a missing permission. It
    comes before the class: of a job's error whose reason the client does not know
    (`bytesBilledLimitExceeded`, and others that the table of error messages has), it makes an
    InternalServerError.
    """
    if known := _reasons(error) & QUOTES_NOTHING:
        return known <= PASSING
    if isinstance(error, exceptions.ServerError):
        return not isinstance(error, exceptions.MethodNotImplemented)
    return isinstance(error, exceptions.TooManyRequests)


def too_large(error: Any) -> bool:
    """Return whether a query reads or needs more than it may. error: google.api_core's."""
    too_much = {"bytesBilledLimitExceeded", "resourcesExceeded", "responseTooLarge"}
    return not too_much.isdisjoint(_reasons(error))


def _reasons(error: Any) -> set[str | None]:
    """The reasons that BigQuery has given."""
    return {one.get("reason") for one in getattr(error, "errors", None) or []}


def message(error: Mapping[str, Any]) -> str:
    """BigQuery's message, unless it may quote a value of a row. error: as the REST API has it."""
    reason, text = error.get("reason", "no reason"), error.get("message", "")
    if reason not in QUOTES_NOTHING:
        text = quoted(text, "its message may quote rows, and only the console shows it")
    return f"BigQuery says ({reason}): {text}"


def describe(job: Any) -> str:
    """Describe how the job ended, with BigQuery's error message and the console's link."""
    error = job.error_result
    how = "was cancelled" if error.get("reason") == CANCELLED else "failed"
    return "\n".join(
        [
            f"BigQuery job {job.job_id} {how}.",
            withheld(message(error)),
            f"Console: {console.bigquery(job.project, job.location, job.job_id)}",
        ]
    )


def message_of(error: Any) -> str:
    """BigQuery's message, without the URL of the request."""
    errors = getattr(error, "errors", None) or []
    return next((e["message"] for e in errors if e.get("message")), None) or str(error)
