"""From the API's job spec to what the runner runs."""

import pytest
from google.cloud import aiplatform_v1 as api

from local_gcp.vertex.workload import run_spec
from local_gcp.wire import RpcError

DAY = 86400


@pytest.fixture(autouse=True)
def images(tmp_path, monkeypatch):
    file = tmp_path / "images.yaml"
    file.write_text(
        "- {image: 'test/*', bin: /bin, entrypoint: [train], cmd: [--help], workdir: /tmp}"
    )
    monkeypatch.setenv("LOCAL_GCP_IMAGES", str(file))


def spec(task=None, trial=None, **fields):
    pool = {"machine_spec": {"machine_type": "m"}, "replica_count": 1}
    pool |= task or {"container_spec": {"image_uri": "test/image"}}
    sent = api.CustomJobSpec({"worker_pool_specs": [pool], **fields})
    return run_spec(sent, "123", "us-central1", trial)


def argv(task):
    return list(spec(task).pools[0].program.argv)


def test_command_and_args_as_in_a_container():
    container = {"image_uri": "test/image", "args": ["--epochs", "3"]}
    assert argv({"container_spec": container}) == ["train", "--epochs", "3"]
    assert argv(None) == ["train", "--help"]
    container["command"] = ["python", "-m", "trainer.task"]
    assert argv({"container_spec": container})[:4] == ["python", "-m", "trainer.task", "--epochs"]
    assert spec().pools[0].program.cwd == "/tmp"


def test_a_python_package_is_installed_by_the_replica():
    package = {
        "executor_image_uri": "test/image",
        "package_uris": ["gs://b/a.whl", "gs://b/b.tar.gz"],
        "python_module": "trainer.task",
        "args": ["--epochs", "3"],
    }
    python, _installer, *rest = argv({"python_package_spec": package})
    assert python == "python3"
    assert rest == [
        *("--package", "gs://b/a.whl", "--package", "gs://b/b.tar.gz"),
        *("--", "trainer.task", "--epochs", "3"),
    ]


def test_a_trial_has_folders_of_its_own():
    output = {"output_uri_prefix": "gs://b/tuning/"}
    program = spec(trial="7", base_output_directory=output).pools[0].program
    assert program.env["AIP_MODEL_DIR"] == "gs://b/tuning/7/model/"
    assert program.env["AIP_CHECKPOINT_DIR"] == "gs://b/tuning/7/checkpoints/"
    assert program.env["AIP_TENSORBOARD_LOG_DIR"] == "gs://b/tuning/7/logs/"
    assert program.env["CLOUD_ML_TRIAL_ID"] == "7"


@pytest.mark.parametrize(
    ("scheduling", "expected"),
    [
        ({}, {"timeout": 7 * DAY, "max_wait": None, "spot": False}),
        ({"timeout": {"seconds": 60}}, {"timeout": 60}),
        ({"strategy": "SPOT"}, {"spot": True, "max_wait": None}),
        ({"strategy": "LOW_COST"}, {"spot": True}),
        ({"strategy": "FLEX_START"}, {"spot": False, "max_wait": DAY}),
        ({"strategy": "FLEX_START", "max_wait_duration": {"seconds": 0}}, {"max_wait": None}),
        ({"strategy": "FLEX_START", "max_wait_duration": {"seconds": 9}}, {"max_wait": 9}),
        ({"max_wait_duration": {"seconds": 9}}, {"max_wait": None}),
        ({"restart_job_on_worker_restart": True}, {"restart_job_on_worker_restart": True}),
        ({"disable_retries": True}, {"disable_retries": True}),
    ],
)
def test_scheduling(scheduling, expected):
    result = spec(scheduling=scheduling)
    assert {name: getattr(result, name) for name in expected} == expected


def test_what_differs_here_is_noted():
    tensorboard = "projects/1/locations/l/tensorboards/2"
    runs, uploads = spec(tensorboard=tensorboard).notes[:2]
    assert runs == "test/image runs with /bin"
    assert f"nothing is uploaded to {tensorboard}" in uploads


def test_an_image_without_a_program_is_refused_with_its_field():
    with pytest.raises(RpcError) as refusal:
        spec({"container_spec": {"image_uri": "gcr.io/other"}})
    ((field, _),) = refusal.value.violations
    assert field.endswith("worker_pool_specs[0].container_spec.image_uri")
