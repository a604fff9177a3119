from datetime import UTC, datetime, timedelta

import pytest
from google.cloud.aiplatform_v1.types import (
    BatchPredictionJob,
    CustomJob,
    HyperparameterTuningJob,
    Scheduling,
    TrainingPipeline,
)

from trellis.vertex.jobs import (
    BATCH,
    CUSTOM,
    PIPELINE,
    TUNING,
    machines_text,
    message_of,
    overstayed,
)

JOB = {
    "display_name": "a job",
    "labels": {"owner": "lab"},
    "job_spec": {
        "worker_pool_specs": [{"replica_count": "2"}],
        "scheduling": {"timeout": "90s", "strategy": "SPOT"},
    },
}


def test_a_dict_becomes_the_message_numbers_as_text_included():
    message = message_of(CUSTOM, JOB, {"airflow-key": "k"})
    assert message.job_spec.worker_pool_specs[0].replica_count == 2
    assert message.job_spec.scheduling.strategy == Scheduling.Strategy.SPOT
    assert message.job_spec.scheduling.timeout.total_seconds() == 90
    assert message.labels == {"owner": "lab", "airflow-key": "k"}


def test_a_message_is_taken_and_left_as_it_was():
    given = CustomJob(display_name="a job")
    assert message_of(CUSTOM, given, {"airflow-key": "k"}).labels == {"airflow-key": "k"}
    assert given.labels == {}


def test_a_wrong_field_is_named():
    with pytest.raises(ValueError, match=r"no tuning job: .*max_trials"):
        message_of(TUNING, {"max_trials": 3}, {})


@pytest.mark.parametrize(
    ("age", "started", "wait", "limit", "passed"),
    [
        (61, None, 60, None, "wait"),
        (61, None, 60, 50, "wait"),
        (60, None, 60, None, None),
        (61, 59, 60, None, None),
        (61, None, None, None, None),
        (61, 0, None, 60, "limit"),
        # Time without machines does not count.
        (61, 59, 60, 60, None),
        (61, None, 120, 60, None),
    ],
)
def test_a_wait_ends_when_the_job_has_its_machines_and_a_limit_when_it_ends(
    age, started, wait, limit, passed
):
    created = datetime(2026, 3, 1, tzinfo=UTC)
    start = None if started is None else created + timedelta(seconds=started)
    job = CustomJob(create_time=created, start_time=start)
    assert overstayed(job, created + timedelta(seconds=age), wait, limit) == passed


@pytest.mark.parametrize(
    ("trials", "passed"),
    [
        ([], "wait"),
        ([(None, None)], "wait"),
        ([(10, None)], None),
        ([(10, 20)], "wait"),
        ([(10, 50), (None, None)], None),
        ([(10, 20), (None, None)], "wait"),
        ([(10, 20), (30, None)], None),
        # It was stopped: a trial that never had machines ends, too.
        ([(10, 20), (None, 99)], "wait"),
    ],
)
def test_a_search_waits_while_none_of_its_trials_has_machines(trials, passed):
    """Whatever its own start: it is that of the first state RUNNING."""
    created = datetime(2026, 3, 1, tzinfo=UTC)

    def at(age):
        return None if age is None else created + timedelta(seconds=age)

    times = [{"start_time": at(start), "end_time": at(end)} for start, end in trials]
    job = HyperparameterTuningJob(create_time=created, start_time=at(1), trials=times)
    assert overstayed(job, at(100), 60, None) == passed


def test_the_machines_of_a_job_in_words():
    gpus = {"machine_type": "n1-standard-8", "accelerator_type": 8, "accelerator_count": 2}
    pools = [{"replica_count": 1, "machine_spec": gpus}, {"replica_count": 3, "machine_spec": gpus}]
    job = CustomJob(job_spec={"worker_pool_specs": pools})
    text = "n1-standard-8 with 2 NVIDIA_TESLA_A100"
    assert machines_text(CUSTOM, job) == f"1 {text}, 3 {text}"
    resources = {"machine_spec": gpus, "starting_replica_count": 2}
    assert machines_text(BATCH, BatchPredictionJob(dedicated_resources=resources)) == f"2 {text}"
    for kind, message in ((PIPELINE, TrainingPipeline()), (BATCH, BatchPredictionJob())):
        assert machines_text(kind, message) == "machines of its own choice"
