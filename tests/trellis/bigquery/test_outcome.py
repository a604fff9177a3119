"""Meaning of a job's end, for the task that inserted it and for others."""

from types import SimpleNamespace

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud.bigquery import Client, QueryJob

from tests.wording import says
from trellis.bigquery.outcome import may_pass, raise_unless_succeeded, verdict
from trellis.identity import KEY_LABEL, ROUND_LABEL
from trellis.verdict import JobFailed, JobFailedForGood, Verdict

MINE = {KEY_LABEL: "a", ROUND_LABEL: "3"}


def job(reason=None, state="DONE", labels=MINE):
    error = {"reason": reason, "message": "Why: so."} if reason else None
    return SimpleNamespace(
        job_id="j", project="p", location="US", state=state, error_result=error, labels=labels
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (job(), Verdict.SUCCESS),
        (job(state="PENDING"), Verdict.WAIT),
        (job(state="RUNNING"), Verdict.WAIT),
        (job("invalidQuery"), Verdict.GIVE_UP),
        (job("resourcesExceeded"), Verdict.GIVE_UP),
        (job("stopped"), Verdict.GIVE_UP),
        (job("backendError"), Verdict.RETRY),
        (job("rateLimitExceeded"), Verdict.RETRY),
        # A person has cleared the task since.
        (job("invalidQuery", labels=MINE | {ROUND_LABEL: "0"}), Verdict.RETRY),
        (job("stopped", labels=MINE | {ROUND_LABEL: "0"}), Verdict.RETRY),
        # Another run, which shares the work, inserted it.
        (job("invalidQuery", labels=MINE | {KEY_LABEL: "b"}), Verdict.RETRY),
        (job("invalidQuery", labels={}), Verdict.RETRY),
    ],
)
def test_verdicts(found, expected):
    assert verdict(found, MINE) is expected


def test_a_success_raises_nothing():
    raise_unless_succeeded(job(), MINE)


def test_an_error_says_what_bigquery_says_and_where_to_look():
    with pytest.raises(JobFailedForGood, match="failed") as raised:
        raise_unless_succeeded(job("resourcesExceeded"), MINE)
    assert "BigQuery says (resourcesExceeded): Why: so." in str(raised.value)
    assert "https://console.cloud.google.com/bigquery?project=p&j=bq:US:j" in str(raised.value)
    with pytest.raises(JobFailedForGood, match="was cancelled"):
        raise_unless_succeeded(job("stopped"), MINE)
    with pytest.raises(JobFailed, match="Airflow retries"):
        raise_unless_succeeded(job("backendError"), MINE)


def test_an_error_that_may_quote_a_value_is_shown_by_the_console_alone():
    with pytest.raises(JobFailedForGood) as raised:
        raise_unless_succeeded(job("invalidQuery"), MINE)
    assert "Why: so." not in str(raised.value)
    assert says(str(raised.value), "(invalidQuery)", "/bigquery?project=p&j=bq:US:j")


def of_unknown(reason):
    """The error that the client raises for a job's error with this reason."""
    job = QueryJob.from_api_repr(
        {
            "jobReference": {"projectId": "p", "jobId": "j", "location": "US"},
            "configuration": {"query": {"query": "SELECT 1"}},
            "status": {
                "state": "DONE",
                "errorResult": {"reason": reason, "message": "Why: so."},
                "errors": [{"reason": reason, "message": "Why: so."}],
            },
        },
        Client("p", AnonymousCredentials()),
    )
    error = job.exception()
    assert isinstance(error, exceptions.InternalServerError)
    return error


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (exceptions.Forbidden("no", errors=[{"reason": "accessDenied"}]), False),
        (exceptions.Forbidden("slower", errors=[{"reason": "rateLimitExceeded"}]), True),
        (exceptions.Forbidden("enough", errors=[{"reason": "quotaExceeded"}]), True),
        (exceptions.TooManyRequests("slower"), True),
        (exceptions.BadRequest("Syntax error"), False),
        (exceptions.ServiceUnavailable("later"), True),
        (exceptions.MethodNotImplemented("never"), False),
        # What the client makes of reasons that it does not know.
        (of_unknown("bytesBilledLimitExceeded"), False),
        (of_unknown("jobInternalError"), True),
        (exceptions.InternalServerError("a fault", errors=[{"reason": "invalid"}]), True),
    ],
)
def test_a_refused_call_may_pass_or_not(error, passes):
    assert may_pass(error) is passes
