"""HyperparameterTuningJobs through Google's own client."""

import json
from pathlib import Path

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api
from google.rpc import code_pb2

REPORT = """
import json, os, sys, time
flags = dict(a.removeprefix("--").split("=", 1) for a in sys.argv[1:] if "=" in a)
entry = {"timestamp": time.time(), "accuracy": flags["rate"], "global_step": "1"}
print(json.dumps({"args": sys.argv[1:], "env": dict(os.environ)}))
with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "w") as file:
    file.write(json.dumps(entry) + "\\n")
"""

PARAMETERS = [
    {
        "parameter_id": "rate",
        "double_value_spec": {"min_value": 0.001, "max_value": 0.1},
        "scale_type": "UNIT_LOG_SCALE",
    },
    {"parameter_id": "layers", "integer_value_spec": {"min_value": 1, "max_value": 3}},
    {"parameter_id": "units", "discrete_value_spec": {"values": [32, 64]}},
    {"parameter_id": "optimizer", "categorical_value_spec": {"values": ["adam", "sgd"]}},
]


def job(pools, trials=2, **changes):
    fields = {
        "display_name": "tune digits",
        "study_spec": {
            "metrics": [{"metric_id": "accuracy", "goal": "MAXIMIZE"}],
            "parameters": PARAMETERS,
        },
        "max_trial_count": trials,
        "parallel_trial_count": 1,
        "trial_job_spec": {
            "worker_pool_specs": pools,
            "base_output_directory": {"output_uri_prefix": "gs://bucket/tuning"},
        },
        "labels": {"team": "vision"},
    }
    return api.HyperparameterTuningJob(**(fields | changes))


def create(vertex, a_job):
    return vertex.jobs.create_hyperparameter_tuning_job(
        parent=vertex.parent, hyperparameter_tuning_job=a_job
    ).name


def get(vertex, name):
    return vertex.jobs.get_hyperparameter_tuning_job(name=name)


def finish(vertex, until, name):
    until(lambda: get(vertex, name).end_time)
    return get(vertex, name)


def replicas(vertex, name):
    """Output of each replica of trial 1: its arguments and environment."""
    (entry,) = (entry for entry in vertex.service.jobs() if entry["name"] == name)
    logs = [Path(replica["log"]).read_text() for replica in entry["trials"][0]["replicas"]]
    return [json.loads(log.splitlines()[-1]) for log in logs]


def test_a_trial_gets_its_hyperparameters_and_its_environment(vertex, until):
    name = create(vertex, job([vertex.pool(REPORT, "--epochs=4")]))
    assert name.split("/")[4] == "hyperparameterTuningJobs"
    done = finish(vertex, until, name)

    assert done.state.name == "JOB_STATE_SUCCEEDED"
    assert [trial.id for trial in done.trials] == ["1", "2"]
    first = done.trials[0]
    values = {p.parameter_id: p.value for p in first.parameters}
    assert values == {
        "rate": pytest.approx(0.01),
        "layers": 2.0,
        "units": 32.0,
        "optimizer": "adam",
    }
    assert first.final_measurement.metrics[0].value == pytest.approx(0.01)

    (told,) = replicas(vertex, name)
    rate = values["rate"]
    assert told["args"] == [
        "--epochs=4",
        f"--rate={rate}",
        "--layers=2",
        "--units=32",
        "--optimizer=adam",
    ]
    environment = told["env"]
    assert environment["CLOUD_ML_TRIAL_ID"] == "1"
    assert environment["AIP_MODEL_DIR"] == "gs://bucket/tuning/1/model/"
    assert environment["AIP_CHECKPOINT_DIR"] == "gs://bucket/tuning/1/checkpoints/"
    assert environment["AIP_TENSORBOARD_LOG_DIR"] == "gs://bucket/tuning/1/logs/"
    assert "TF_CONFIG" not in environment
    assert json.loads(environment["CLUSTER_SPEC"])["task"]["trial"] == "1"


def test_a_distributed_trial_is_one_trial(vertex, until, tmp_path):
    # When the chief is done the worker is stopped: it must have spoken before.
    spoken = tmp_path / "spoken"
    chief = f"import os, time\nwhile not os.path.exists({str(spoken)!r}): time.sleep(0.1)\n"
    worker = f"\nsys.stdout.flush(); open({str(spoken)!r}, 'w').close(); time.sleep(60)"
    pools = [vertex.pool(chief + REPORT), vertex.pool(REPORT + worker, "--worker=1")]
    done = finish(vertex, until, name := create(vertex, job(pools, trials=1)))
    assert done.state.name == "JOB_STATE_SUCCEEDED"
    chief, worker = replicas(vertex, name)
    assert json.loads(chief["env"]["TF_CONFIG"])["task"]["type"] == "chief"
    assert json.loads(worker["env"]["TF_CONFIG"])["task"]["type"] == "worker"
    assert worker["args"][0] == "--worker=1"
    assert worker["args"][1:] == chief["args"]


def test_list_filters_and_pages(vertex, until):
    names = [
        create(vertex, job([vertex.pool(REPORT)], trials=1, display_name=f"run {i}"))
        for i in range(3)
    ]
    for name in names:
        finish(vertex, until, name)

    def listed(**arguments):
        request = {"parent": vertex.parent, **arguments}
        return [j.name for j in vertex.jobs.list_hyperparameter_tuning_jobs(request=request)]

    assert listed() == names[::-1]
    assert listed(page_size=1) == names[::-1]  # the client asks for page after page
    assert listed(filter='display_name="run 1"') == [names[1]]
    assert listed(filter="labels.team=vision AND state=JOB_STATE_SUCCEEDED") == names[::-1]
    assert listed(filter="labels.team=audio") == []
    masked = {"parent": vertex.parent, "read_mask": {"paths": ["name", "state"]}}
    (first, *_) = vertex.jobs.list_hyperparameter_tuning_jobs(request=masked)
    assert first.name == names[2]
    assert not first.trials


def test_cancel_ends_all_running_trials(vertex, until):
    a_job = job([vertex.pool("import time; time.sleep(60)")])
    a_job.parallel_trial_count = 2
    name = create(vertex, a_job)
    until(lambda: get(vertex, name).state.name == "JOB_STATE_RUNNING")
    vertex.jobs.cancel_hyperparameter_tuning_job(name=name)
    assert get(vertex, name).state.name in ("JOB_STATE_CANCELLING", "JOB_STATE_CANCELLED")

    done = finish(vertex, until, name)

    assert done.state.name == "JOB_STATE_CANCELLED"
    assert {trial.state.name for trial in done.trials} == {"INFEASIBLE"}
    with pytest.raises(exceptions.FailedPrecondition, match="cannot be canceled"):
        vertex.jobs.cancel_hyperparameter_tuning_job(name=name)


def test_a_tuning_job_fails_by_an_error_of_google(vertex, until):
    name = create(vertex, job([vertex.pool("import time; time.sleep(60)")], trials=2))
    until(lambda: vertex.service.fail(name))
    done = finish(vertex, until, name)
    assert (done.state.name, done.error.code) == ("JOB_STATE_FAILED", code_pb2.INTERNAL)
    assert [trial.state.name for trial in done.trials] == ["INFEASIBLE"]
    assert not vertex.service.fail(name)


def test_a_preempted_spot_trial_starts_again(vertex, until):
    program = (
        """
import os, time
if not os.path.exists(os.path.join(os.environ["GCS_ROOT"], "been_here")):
    open(os.path.join(os.environ["GCS_ROOT"], "been_here"), "w").close()
    time.sleep(60)
"""
        + REPORT
    )
    a_job = job([vertex.pool(program)], trials=1)
    a_job.trial_job_spec.scheduling.strategy = api.Scheduling.Strategy.SPOT
    name = create(vertex, a_job)
    until(lambda: vertex.service.runner.home.buckets.joinpath("been_here").exists())
    assert vertex.service.preempt(name.rpartition("/")[2])
    done = finish(vertex, until, name)
    assert done.state.name == "JOB_STATE_SUCCEEDED"
    assert len(done.trials) == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"display_name": ""}, "display_name"),
        ({"labels": {"Team": "x"}}, "labels"),
        ({"max_trial_count": 0}, "max_trial_count; Message: Required"),
        (
            {"trial_job_spec": {}},
            "hyperparameter_tuning_job.trial_job_spec.worker_pool_specs",
        ),
        (
            {
                "trial_job_spec": {
                    "worker_pool_specs": [
                        {
                            "machine_spec": {"machine_type": "n1-standard-4"},
                            "replica_count": 1,
                            "container_spec": {"image_uri": "nobody/knows:1"},
                        }
                    ]
                }
            },
            "there is no local environment for the image nobody/knows:1",
        ),
    ],
)
def test_what_is_refused_starts_nothing(vertex, changes, words):
    with pytest.raises(exceptions.InvalidArgument, match=words):
        create(vertex, job([vertex.pool(REPORT)], **changes))
    assert vertex.service.jobs() == []


def test_unknown_jobs_are_not_found(vertex):
    with pytest.raises(exceptions.NotFound):
        get(vertex, f"{vertex.parent}/hyperparameterTuningJobs/1")
