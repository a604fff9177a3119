import pytest
from google.cloud.aiplatform_v1.types import CustomJob, Scheduling

from trellis.vertex.jobs import CUSTOM, TUNING, message_of

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
