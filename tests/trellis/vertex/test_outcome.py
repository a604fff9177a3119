import pytest
from google.cloud.aiplatform_v1.types import CustomJob, JobState
from google.rpc import code_pb2

from trellis.identity import ROUND_LABEL
from trellis.verdict import JobFailed, JobFailedForGood, Verdict
from trellis.vertex.jobs import CUSTOM
from trellis.vertex.outcome import raise_unless_succeeded, verdict

NAME = "projects/123/locations/us-central1/customJobs/456"


def job(state, code=0, message="", round_="3"):
    return CustomJob(
        name=NAME,
        display_name="digits training/1",
        state=JobState[f"JOB_STATE_{state}"],
        error={"code": code, "message": message},
        labels={ROUND_LABEL: round_},
    )


EXITED = "The replica workerpool0-0 exited with a non-zero status of 1."
OUT_OF_MEMORY = "The replica workerpool0-0 ran out-of-memory and exited."


@pytest.mark.parametrize(
    ("ended", "expected"),
    [
        (job("SUCCEEDED"), Verdict.SUCCESS),
        (job("QUEUED"), Verdict.WAIT),
        (job("PENDING"), Verdict.WAIT),
        (job("RUNNING"), Verdict.WAIT),
        (job("CANCELLING"), Verdict.WAIT),
        (job("PAUSED"), Verdict.WAIT),
        (job("FAILED", code_pb2.INVALID_ARGUMENT, EXITED), Verdict.GIVE_UP),
        (job("FAILED", code_pb2.RESOURCE_EXHAUSTED, OUT_OF_MEMORY), Verdict.GIVE_UP),
        (job("FAILED", code_pb2.DEADLINE_EXCEEDED, "The job timed out."), Verdict.GIVE_UP),
        (job("FAILED", code_pb2.INTERNAL, "Internal error occurred."), Verdict.RETRY),
        (job("FAILED", code_pb2.UNAVAILABLE, "Resources are insufficient."), Verdict.RETRY),
        (job("FAILED", code_pb2.RESOURCE_EXHAUSTED, "Quota exceeded."), Verdict.RETRY),
        (job("EXPIRED"), Verdict.RETRY),
        (job("PARTIALLY_SUCCEEDED"), Verdict.GIVE_UP),
        (job("CANCELLED"), Verdict.GIVE_UP),
        (job("CANCELLED", round_="2"), Verdict.RETRY),
    ],
    ids=lambda value: getattr(getattr(value, "state", None), "name", None),
)
def test_what_a_state_means_for_the_task(ended, expected):
    assert verdict(ended, "3") is expected


def test_some_predictions_are_a_success_only_for_who_takes_them():
    some = job("PARTIALLY_SUCCEEDED")
    assert verdict(some, "3", partly=True) is Verdict.SUCCESS
    assert verdict(job("FAILED"), "3", partly=True) is Verdict.GIVE_UP


def test_a_failure_says_what_vertex_says_and_where_to_look():
    with pytest.raises(JobFailedForGood) as raised:
        raise_unless_succeeded(job("FAILED", code_pb2.INVALID_ARGUMENT, EXITED), CUSTOM, "3")
    text = str(raised.value)
    assert "custom job 'digits training/1' failed" in text
    assert EXITED in text
    assert "/locations/us-central1/training/456?project=123" in text
    assert "Clear this task" in text


def test_googles_fault_is_left_to_the_retries():
    with pytest.raises(JobFailed, match="Airflow retries"):
        raise_unless_succeeded(job("FAILED", code_pb2.INTERNAL, "oops"), CUSTOM, "3")
