"""States of jobs and pipelines that wait: PENDING, and QUEUED while others have the cores."""

import pytest

WAIT = "import time; time.sleep(60)"


@pytest.fixture(autouse=True)
def _one_core(monkeypatch):
    """The machine has one core slot."""
    monkeypatch.setenv("LOCAL_GCP_CORES", "1")


def tuning_job(vertex):
    return {
        "display_name": "tune",
        "study_spec": {
            "metrics": [{"metric_id": "accuracy", "goal": "MAXIMIZE"}],
            "parameters": [
                {"parameter_id": "a", "double_value_spec": {"min_value": 0, "max_value": 1}}
            ],
        },
        "max_trial_count": 1,
        "parallel_trial_count": 1,
        "trial_job_spec": {"worker_pool_specs": [vertex.pool(WAIT)]},
    }


def pipeline(vertex):
    return {
        "display_name": "train",
        "training_task_definition": (
            "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
        ),
        "training_task_inputs": {"worker_pool_specs": [vertex.pool(WAIT)]},
    }


def test_a_job_is_pending_when_created_and_queued_only_while_it_waits_for_others(vertex, until):
    parent = vertex.parent

    def custom_job():
        spec = {"worker_pool_specs": [vertex.pool(WAIT)]}
        return vertex.jobs.create_custom_job(
            parent=parent, custom_job={"display_name": "job", "job_spec": spec}
        )

    first = custom_job()
    until(lambda: vertex.jobs.get_custom_job(name=first.name).state.name == "JOB_STATE_RUNNING")
    answers = {
        vertex.jobs.get_custom_job: custom_job(),
        vertex.jobs.get_hyperparameter_tuning_job: vertex.jobs.create_hyperparameter_tuning_job(
            parent=parent, hyperparameter_tuning_job=tuning_job(vertex)
        ),
        vertex.pipelines.get_training_pipeline: vertex.pipelines.create_training_pipeline(
            parent=parent, training_pipeline=pipeline(vertex)
        ),
    }
    for get, answer in answers.items():
        assert answer.state.name.endswith("_STATE_PENDING")
        assert answer.create_time == answer.update_time
        assert not answer.start_time
        until(lambda get=get, answer=answer: get(name=answer.name).state.name.endswith("QUEUED"))
        assert not get(name=answer.name).start_time
    vertex.jobs.cancel_custom_job(name=first.name)
    (second, *_) = answers.values()
    until(lambda: vertex.jobs.get_custom_job(name=second.name).state.name == "JOB_STATE_RUNNING")
