"""Faults that no stand-in for Google can be asked for: refusals, lost answers, odd pasts."""

import datetime
import logging

import pytest
from google.api_core import exceptions
from google.cloud.aiplatform_v1.types import (
    BatchPredictionJob,
    CustomJob,
    HyperparameterTuningJob,
    JobState,
    Scheduling,
)
from google.rpc import code_pb2, error_details_pb2

from trellis.identity import KEY_LABEL, ROUND_LABEL
from trellis.verdict import JobFailed, JobFailedForGood
from trellis.vertex import submission
from trellis.vertex.jobs import BATCH, CUSTOM, TUNING
from trellis.vertex.submission import Cap, find_or_create

LOG = logging.getLogger(__name__)


class Jobs:
    """A JobService that holds jobs in a list, and fails as it is told."""

    kind = CUSTOM

    def __init__(self, *past, faults=(), created_though_failed=False):
        self.jobs = list(past)
        self.faults = list(faults)
        self.created_though_failed = created_though_failed

    def with_label(self, key, value):
        return [job for job in self.jobs if job.labels[key] == value]

    def create(self, message):
        fault = self.faults.pop(0) if self.faults else None
        if fault is None or self.created_though_failed:
            message = CustomJob(message)
            message.name = f"projects/1/locations/r/customJobs/{len(self.jobs) + 1}"
            message.state = JobState.JOB_STATE_QUEUED
            message.create_time = datetime.datetime.now(datetime.UTC)
            self.jobs.insert(0, message)
        if fault is not None:
            raise fault
        return message


def past(state, round_="0", code=0, message="", name="projects/1/locations/r/customJobs/old"):
    return CustomJob(
        name=name,
        state=JobState[f"JOB_STATE_{state}"],
        labels={KEY_LABEL: "k", ROUND_LABEL: round_},
        error={"code": code, "message": message},
        create_time=datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC),
    )


def failed(hours, round_="0"):
    """A job that Google has failed after so many hours of its machines."""
    job = past("FAILED", round_, code=code_pb2.INTERNAL)
    start = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
    job.start_time, job.end_time = start, start + datetime.timedelta(hours=hours)
    return job


SPOT, STANDARD = Scheduling.Strategy.SPOT, Scheduling.Strategy.STANDARD


def price(job):
    """US dollars an hour: those of a spot machine, or of one on demand."""
    return 0.25 if job.job_spec.scheduling.strategy == SPOT else 1.0


def next_job(jobs, round_="0", strategy=STANDARD):
    """Submit a job that may run for 10 hours, in a plan of 10 USD: hours that it is given."""
    message = CustomJob(labels={KEY_LABEL: "k", ROUND_LABEL: round_})
    message.job_spec.scheduling = {"timeout": datetime.timedelta(hours=10), "strategy": strategy}
    made = find_or_create(jobs, message, LOG, Cap(10, price))
    return made.job_spec.scheduling.timeout.total_seconds() / 3600


def submit(jobs, round_="0"):
    return find_or_create(jobs, CustomJob(labels={KEY_LABEL: "k", ROUND_LABEL: round_}), LOG)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(submission, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(submission, "LONGEST_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(submission, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(submission, "LAG_SECONDS", 0.01)


def quota_refusal():
    violation = error_details_pb2.QuotaFailure.Violation(
        subject="aiplatform.googleapis.com/custom_model_training_cpus"
    )
    return exceptions.ResourceExhausted(
        "Quota exceeded.", details=[error_details_pb2.QuotaFailure(violations=[violation])]
    )


@pytest.mark.parametrize("state", ["QUEUED", "PENDING", "RUNNING", "PAUSED", "SUCCEEDED"])
def test_a_job_that_runs_or_succeeded_is_adopted(state):
    jobs = Jobs(past(state))
    assert submit(jobs).name.endswith("/old")
    assert len(jobs.jobs) == 1


@pytest.mark.parametrize("state", ["CANCELLED", "CANCELLING", "EXPIRED"])
def test_a_job_that_was_ended_is_replaced(state):
    jobs = Jobs(past(state))
    assert submit(jobs).name.endswith("/2")


def test_a_job_that_google_lost_is_replaced():
    jobs = Jobs(past("FAILED", code=code_pb2.INTERNAL, message="Internal error"))
    assert submit(jobs).name.endswith("/2")


def test_a_job_that_failed_by_itself_is_not_repeated_by_a_retry():
    jobs = Jobs(past("FAILED", code=code_pb2.INVALID_ARGUMENT, message="exit 1"))
    with pytest.raises(JobFailedForGood, match="exit 1"):
        submit(jobs)
    assert len(jobs.jobs) == 1


def test_a_job_that_failed_by_itself_is_replaced_when_a_person_clears_the_task():
    jobs = Jobs(past("FAILED", code=code_pb2.INVALID_ARGUMENT, message="exit 1"))
    assert submit(jobs, round_="4").name.endswith("/2")


def test_success_comes_before_a_job_that_runs():
    jobs = Jobs(past("RUNNING", name="a/b/c/d/e/running"), past("SUCCEEDED"))
    assert submit(jobs).name.endswith("/old")


def test_a_refused_submission_is_repeated():
    jobs = Jobs(faults=[quota_refusal(), quota_refusal()])
    assert submit(jobs).name.endswith("/1")


def test_an_exhausted_quota_is_named():
    jobs = Jobs(faults=[quota_refusal()] * 1000)
    with pytest.raises(JobFailed, match="custom_model_training_cpus"):
        submit(jobs)
    assert jobs.jobs == []


@pytest.mark.parametrize(
    "lost", [exceptions.ServiceUnavailable("reset"), exceptions.DeadlineExceeded("late")]
)
def test_a_create_whose_answer_got_lost_is_found_again(lost):
    jobs = Jobs(faults=[lost], created_though_failed=True)
    assert submit(jobs).name.endswith("/1")
    assert len(jobs.jobs) == 1


@pytest.mark.parametrize(
    "refusal", [exceptions.PermissionDenied("no right"), exceptions.InvalidArgument("no right")]
)
def test_what_patience_does_not_change_fails_for_good(refusal):
    with pytest.raises(JobFailedForGood, match="refuses this custom job: no right"):
        submit(Jobs(faults=[refusal]))


@pytest.mark.parametrize(
    ("attempts", "given", "used"),
    [
        ([(STANDARD, 2), (STANDARD, 3), (STANDARD, 4.99)], [10, 8, 5], "9.99"),
        # Hours of a spot machine are cheaper: what they leave are fewer hours on demand.
        ([(SPOT, 8), (SPOT, 8), (STANDARD, 5.99)], [10, 10, 6], "9.99"),
        ([(STANDARD, 9), (SPOT, 3.99)], [10, 4], "10.00"),
    ],
)
def test_a_job_that_fails_again_and_again_costs_no_more_than_the_plan_says(attempts, given, used):
    jobs = Jobs()
    spent = 0.0
    for (strategy, hours), allowed in zip(attempts, given, strict=True):
        assert next_job(jobs, strategy=strategy) == allowed
        assert spent + allowed * price(jobs.jobs[0]) <= 10
        jobs.jobs[0] = failed(hours)
        jobs.jobs[0].job_spec.scheduling.strategy = strategy
        spent += hours * price(jobs.jobs[0])
    said = rf"have used {used} USD, of the 10\.00 USD that its plan has .* Clear"
    with pytest.raises(JobFailedForGood, match=said):
        next_job(jobs)
    assert len(jobs.jobs) == len(attempts)
    # A person has cleared the task, and allowed it as much again.
    assert next_job(jobs, round_="1") == 10


def test_a_dearer_machine_than_the_plan_knew_runs_for_less_time():
    """platform.yaml names another machine since."""
    message = CustomJob(labels={KEY_LABEL: "k", ROUND_LABEL: "0"})
    message.job_spec.scheduling.timeout = datetime.timedelta(hours=10)
    next_ = submission.within_plan(Jobs(), message, Cap(10, lambda job: 4.0))
    assert next_.job_spec.scheduling.timeout == datetime.timedelta(hours=2.5)


def test_trials_of_a_repeated_search_share_what_is_left():
    class Searches(Jobs):
        kind = TUNING

    start = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
    trial = {"start_time": start, "end_time": start + datetime.timedelta(hours=1)}
    search = HyperparameterTuningJob(
        name="projects/1/locations/r/hyperparameterTuningJobs/old",
        state=JobState.JOB_STATE_FAILED,
        error={"code": code_pb2.INTERNAL},
        labels={KEY_LABEL: "k", ROUND_LABEL: "0"},
        create_time=start,
        trials=[trial, trial],
    )
    message = HyperparameterTuningJob(
        labels={KEY_LABEL: "k", ROUND_LABEL: "0"},
        max_trial_count=4,
        trial_job_spec={"scheduling": {"timeout": datetime.timedelta(hours=1)}},
    )
    next_ = submission.within_plan(Searches(search), message, Cap(None, lambda job: 0.5))
    assert next_.trial_job_spec.scheduling.timeout == datetime.timedelta(minutes=30)


def test_a_job_that_got_no_machines_leaves_all_of_the_time():
    job = past("FAILED", code=code_pb2.RESOURCE_EXHAUSTED)
    assert next_job(Jobs(job)) == 10


class Batches(Jobs):
    kind = BATCH


def batch(state, minutes):
    start = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
    return BatchPredictionJob(
        name="projects/1/locations/r/batchPredictionJobs/old",
        state=JobState[f"JOB_STATE_{state}"],
        error={"code": code_pb2.INTERNAL if state == "FAILED" else 0},
        labels={KEY_LABEL: "k", ROUND_LABEL: "0"},
        create_time=start,
        start_time=start,
        end_time=start + datetime.timedelta(minutes=minutes),
    )


def test_a_job_that_ended_just_before_its_limit_is_adopted():
    message = BatchPredictionJob(labels={KEY_LABEL: "k", ROUND_LABEL: "0"})
    hour = Cap(None, lambda job: 2.0, seconds=3600)
    found = find_or_create(Batches(batch("SUCCEEDED", 59.9)), message, LOG, hour)
    assert found.name.endswith("/old")
    with pytest.raises(JobFailedForGood, match="its plan has"):
        find_or_create(Batches(batch("FAILED", 59.9)), message, LOG, hour)
