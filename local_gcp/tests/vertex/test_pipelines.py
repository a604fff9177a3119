"""TrainingPipelines: a CustomJob, and a model from what it wrote."""

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api

from local_gcp.vertex.training import CUSTOM_TASK

TRAIN = """
import os, pathlib
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", os.environ["GCS_ROOT"] + "/")
pathlib.Path(folder).mkdir(parents=True)
pathlib.Path(folder, "saved_model.pb").write_text("weights")
"""
WAIT = "import time; time.sleep(60)"
MODEL = {"display_name": "digits", "container_spec": {"image_uri": "example.com/serve:1"}}


def pipeline(vertex, code=TRAIN, model=MODEL, **changes):
    inputs = {
        # As the SDK writes it: snake_case, unset values as None, numbers among the arguments.
        "worker_pool_specs": [vertex.pool(code, "--epochs", 2, "--rate", 0.1)],
        "base_output_directory": {"output_uri_prefix": "gs://bucket/run/"},
        "scheduling": {"timeout": "100s", "strategy": None, "disable_retries": False},
    }
    fields = {
        "display_name": "train digits",
        "training_task_definition": CUSTOM_TASK,
        "training_task_inputs": inputs,
        "model_to_upload": model,
        "labels": {"team": "vision"},
    }
    return api.TrainingPipeline(**(fields | changes))


def create(vertex, *arguments, **keywords):
    return vertex.pipelines.create_training_pipeline(
        parent=vertex.parent, training_pipeline=pipeline(vertex, *arguments, **keywords)
    )


def finish(vertex, until, name):
    until(lambda: vertex.pipelines.get_training_pipeline(name=name).end_time)
    return vertex.pipelines.get_training_pipeline(name=name)


def test_a_pipeline_trains_and_uploads_a_model(vertex, until):
    name = create(vertex).name
    done = finish(vertex, until, name)

    assert done.state.name == "PIPELINE_STATE_SUCCEEDED"
    assert done.create_time <= done.start_time <= done.end_time
    assert set(done.training_task_inputs) == {
        "workerPoolSpecs",
        "baseOutputDirectory",
        "scheduling",
    }
    (pool,) = done.training_task_inputs["workerPoolSpecs"]
    assert pool["replicaCount"] == "1", "64-bit numbers are text"
    job = vertex.jobs.get_custom_job(name=done.training_task_metadata["backingCustomJob"])
    assert job.display_name == "train digits-custom-job"
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert job.job_spec.scheduling.timeout.total_seconds() == 100
    container = job.job_spec.worker_pool_specs[0].container_spec
    assert list(container.args) == ["--epochs", "2", "--rate", "0.1"]

    model = vertex.models.get_model(name=done.model_to_upload.name)
    assert model.artifact_uri == "gs://bucket/run/model"
    assert model.training_pipeline == name
    assert (model.version_id, list(model.version_aliases)) == ("1", ["default"])


def test_a_second_pipeline_adds_a_version(vertex, until):
    first = finish(vertex, until, create(vertex, model_id="digits").name).model_to_upload
    model = {**MODEL, "version_aliases": ["candidate"]}
    code = TRAIN.replace("parents=True", "parents=True, exist_ok=True")
    second = create(vertex, code, model=model, parent_model=first.name)
    second = finish(vertex, until, second.name).model_to_upload
    assert second.name == first.name == f"{first.name.rpartition('/')[0]}/digits"
    assert (second.version_id, list(second.version_aliases)) == ("2", ["candidate"])
    assert vertex.models.get_model(name=first.name).version_id == "1"


def test_a_job_that_ends_while_nobody_looks_is_followed_up_at_the_next_start(vertex, until):
    """The state is that of a kill between the end of the job and the upload."""
    name = create(vertex, "import time; time.sleep(0.5)" + TRAIN).name
    vertex.service.pipelines._unfinished.clear()
    job = vertex.pipelines.get_training_pipeline(name=name).training_task_metadata
    until(lambda: vertex.jobs.get_custom_job(name=job["backingCustomJob"]).end_time)
    unfinished = vertex.pipelines.get_training_pipeline(name=name)
    assert unfinished.state.name == "PIPELINE_STATE_RUNNING"

    vertex.service.pipelines.start()

    done = vertex.pipelines.get_training_pipeline(name=name)
    assert done.state.name == "PIPELINE_STATE_SUCCEEDED"
    assert len(list(vertex.models.list_models(parent=vertex.parent))) == 1


def test_without_a_model_to_upload_it_only_trains(vertex, until):
    done = finish(vertex, until, create(vertex, "print('hello')", model=None).name)
    assert done.state.name == "PIPELINE_STATE_SUCCEEDED"
    assert "model_to_upload" not in done
    assert not list(vertex.models.list_models(parent=vertex.parent))


def test_a_program_that_writes_no_model_fails_the_pipeline(vertex, until):
    done = finish(vertex, until, create(vertex, "print('hello')").name)
    assert done.state.name == "PIPELINE_STATE_FAILED"
    assert 'no files under "gs://bucket/run/model"' in done.error.message


def test_a_failed_job_fails_the_pipeline_with_its_words(vertex, until):
    code = "import sys; print('no such column'); sys.exit(2)"
    done = finish(vertex, until, create(vertex, code).name)
    assert done.state.name == "PIPELINE_STATE_FAILED"
    assert "exited with a non-zero status of 2" in done.error.message
    assert "no such column" in done.error.message


def test_cancel_list_delete(vertex, until):
    name = create(vertex, WAIT).name
    until(lambda: vertex.pipelines.get_training_pipeline(name=name).start_time)
    with pytest.raises(exceptions.FailedPrecondition, match="cannot be deleted"):
        vertex.pipelines.delete_training_pipeline(name=name)
    vertex.pipelines.cancel_training_pipeline(name=name)
    done = finish(vertex, until, name)
    assert done.state.name == "PIPELINE_STATE_CANCELLED"
    assert done.error.code == 1
    with pytest.raises(exceptions.FailedPrecondition, match="cannot be canceled"):
        vertex.pipelines.cancel_training_pipeline(name=name)

    def listed(text):
        request = {"parent": vertex.parent, "filter": text}
        return [p.name for p in vertex.pipelines.list_training_pipelines(request=request)]

    assert listed('state="PIPELINE_STATE_CANCELLED" AND labels.team=vision') == [name]
    assert listed(f'training_task_definition="{CUSTOM_TASK}"') == [name]
    assert listed('display_name="other"') == []
    vertex.pipelines.delete_training_pipeline(name=name).result(timeout=60)
    assert listed("") == []


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"display_name": ""}, exceptions.InvalidArgument, "training_pipeline.display_name"),
        (
            {"training_task_definition": "gs://x/automl_tabular_1.0.0.yaml"},
            exceptions.MethodNotImplemented,
            "does not emulate the training task 'gs://x/automl_tabular",
        ),
        (
            {"input_data_config": {"dataset_id": "1"}},
            exceptions.MethodNotImplemented,
            "input_data_config of a custom training",
        ),
        (
            {"training_task_inputs": {"worker_pool_spec": []}},
            exceptions.InvalidArgument,
            'no field named "worker_pool_spec"',
        ),
        (
            {"training_task_inputs": {"worker_pool_specs": []}},
            exceptions.InvalidArgument,
            "training_task_inputs.worker_pool_specs",
        ),
        (
            {"model_to_upload": {"display_name": "digits"}},
            exceptions.InvalidArgument,
            "model_to_upload.container_spec.image_uri",
        ),
        ({"parent_model": "digits"}, exceptions.InvalidArgument, "Invalid Model resource name"),
        ({"model_id": "9"}, exceptions.InvalidArgument, "model_id"),
    ],
)
def test_what_is_refused_starts_nothing(vertex, changes, error, words):
    with pytest.raises(error, match=words):
        create(vertex, **changes)
    assert vertex.service.jobs() == []


def test_a_model_needs_a_folder_to_come_from(vertex):
    inputs = {"worker_pool_specs": [vertex.pool(TRAIN)]}
    with pytest.raises(exceptions.InvalidArgument, match="base_output_directory"):
        create(vertex, training_task_inputs=inputs)
