"""CustomJobs, tuning jobs and pipelines of custom training: observe_jobs.py BUCKET."""

import sys
from typing import Any

from observing import (
    IMAGE,
    JOBS,
    PARENT,
    PIPELINES,
    accepted,
    client,
    ended,
    fields,
    operation,
    pool,
    shape,
    show,
    states,
    tried,
    upload,
)

BUCKET = sys.argv[1]
upload(BUCKET, **{"package/trainer.tar.gz": "not one", "model/saved_model.pb": "weights"})
jobs, pipelines = client(JOBS), client(PIPELINES)
WORK = "import time; time.sleep(0.5)"
found: dict[str, Any] = {}


def custom_job(*pools: dict[str, Any], **spec: Any) -> Any:
    job = {"display_name": "observed", "job_spec": {"worker_pool_specs": list(pools), **spec}}
    return jobs.create_custom_job(parent=PARENT, custom_job=job)


def times(answer: Any) -> dict[str, bool]:
    return {
        "createTime = updateTime": answer.create_time == answer.update_time,
        "startTime": bool(answer.start_time),
    }


created = custom_job(pool(WORK))
found["CreateCustomJob: state"] = created.state.name
found["CreateCustomJob: fields"] = sorted(fields(created))
found["CreateCustomJob: times"] = times(created)
found["CreateCustomJob: diskSpec"] = fields(created)["jobSpec"]["workerPoolSpecs"][0]["diskSpec"]
done, _ = ended(jobs.get_custom_job, custom_job(pool("raise ValueError('wrong')")))
found["failed CustomJob: error"] = fields(done)["error"]
unknown = pool(WORK)
unknown["machine_spec"] = {"machine_type": "n9-none-1"}
found["CreateCustomJob: unknown machine type"] = tried(lambda: custom_job(unknown))
found["CreateCustomJob: more than the quota"] = tried(
    lambda: custom_job(pool(WORK), pool(WORK, 100_000))
)

REPORT = (
    "import json, os, time\n"
    "line = {'timestamp': time.time(), 'trial': '1', 'accuracy': '0.5', 'global_step': '3'}\n"
    "open(os.environ['CLOUD_ML_HP_METRIC_FILE'], 'w').write(json.dumps(line) + '\\n')\n"
)
RANGES = {"rate": (0.001, 0.1), "units": (16, 64), "batch": (8, 16, 32)}
tuning = jobs.create_hyperparameter_tuning_job(
    parent=PARENT,
    hyperparameter_tuning_job={
        "display_name": "observed",
        "max_trial_count": 6,
        "parallel_trial_count": 2,
        "trial_job_spec": {"worker_pool_specs": [pool(REPORT)]},
        "study_spec": {
            "metrics": [{"metric_id": "accuracy", "goal": "MAXIMIZE"}],
            "algorithm": "RANDOM_SEARCH",
            "parameters": [
                {
                    "parameter_id": "rate",
                    "double_value_spec": {"min_value": 0.001, "max_value": 0.1},
                    "scale_type": "UNIT_LOG_SCALE",
                },
                {"parameter_id": "units", "integer_value_spec": {"min_value": 16, "max_value": 64}},
                {"parameter_id": "batch", "discrete_value_spec": {"values": [8, 16, 32]}},
            ],
        },
    },
)
found["CreateHyperparameterTuningJob: state"] = tuning.state.name
found["CreateHyperparameterTuningJob: fields"] = sorted(fields(tuning))
found["HyperparameterTuningJob: diskSpec of trials"] = fields(tuning)["trialJobSpec"][
    "workerPoolSpecs"
][0]["diskSpec"]
done, answers = ended(jobs.get_hyperparameter_tuning_job, tuning)
trials = fields(done)["trials"]
found["trials: ids"] = [trial["id"] for trial in trials]
found["trials: states"] = sorted({trial["state"] for trial in trials})
found["trials: fields"] = sorted({name for trial in trials for name in trial})
found["trials: end in whole seconds"] = all("." not in trial["endTime"] for trial in trials)
found["trials: final measurement"] = {
    "fields": sorted(trials[0]["finalMeasurement"]),
    "type of stepCount": type(trials[0]["finalMeasurement"]["stepCount"]).__name__,
    "fields of metrics": sorted(trials[0]["finalMeasurement"]["metrics"][0]),
}
values = [
    (parameter["parameterId"], parameter["value"])
    for trial in trials
    for parameter in trial["parameters"]
]
found["trials: types of values"] = sorted({type(value).__name__ for _, value in values})
found["trials: values of ranges"] = all(
    value in RANGES[name] if name == "batch" else RANGES[name][0] <= value <= RANGES[name][1]
    for name, value in values
)
CUSTOM = "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"
PACKAGE = {
    "executor_image_uri": IMAGE,
    "package_uris": [f"gs://{BUCKET}/package/trainer.tar.gz"],
    "python_module": "none",
}


def pipeline(definition: str, inputs: Any, **more: Any) -> Any:
    sent = {
        "display_name": "observed",
        "training_task_definition": definition,
        "training_task_inputs": inputs,
        **more,
    }
    return pipelines.create_training_pipeline(parent=PARENT, training_pipeline=sent)


model = {"display_name": "observed", "container_spec": {"image_uri": IMAGE}}
model["artifact_uri"] = f"gs://{BUCKET}/model"
created = pipeline(CUSTOM, {"worker_pool_specs": [pool(WORK)]}, model_to_upload=model)
done, answers = ended(pipelines.get_training_pipeline, created)
found["CustomTrainingJob: states"] = states(answers)
found["CreateTrainingPipeline, snake_case inputs"] = shape(
    sorted(fields(done)["trainingTaskInputs"])
)
found["DeleteTrainingPipeline: operation"] = operation(
    pipelines.delete_training_pipeline(name=done.name)
)
sent = {**pool(""), "python_package_spec": PACKAGE}
del sent["container_spec"]
_, answers = ended(pipelines.get_training_pipeline, pipeline(CUSTOM, {"worker_pool_specs": [sent]}))
found["CustomPythonPackageTrainingJob: states until its end"] = states(answers)[:-1]

DEFINITIONS = "gs://google-cloud-aiplatform/schema/trainingjob/definition"
for name in (
    *("automl_image_object_detection", "automl_tables", "automl_text_classification"),
    *("automl_text_extraction", "automl_text_sentiment", "automl_video_classification"),
    "automl_video_object_tracking",
):
    found[f"CreateTrainingPipeline: {name}"] = accepted(
        lambda name=name: pipeline(f"{DEFINITIONS}/{name}_1.0.0.yaml", {})
    )
found["CreatePipelineJob"] = accepted(
    lambda: pipelines.create_pipeline_job(
        parent=PARENT, pipeline_job={"display_name": "observed", "pipeline_spec": {"a": 1}}
    )
)
show(found)
