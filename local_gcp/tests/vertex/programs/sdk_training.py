"""Google's SDK samples for tuning and training pipelines: `sdk_training.py BUCKET FOLDER`.

The programs of the jobs are written as in the samples: argparse with required, typed flags, metrics
through cloudml-hypertune, the model to AIP_MODEL_DIR. Prints what the SDK says of the results.
"""

import json
import sys
from pathlib import Path

from google.cloud import aiplatform, storage
from google.cloud.aiplatform import hyperparameter_tuning as hpt

TF_IMAGE = "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest"
SERVING_IMAGE = "us-docker.pkg.dev/vertex-ai/prediction/tf2-cpu.2-15:latest"

TUNED = """
import argparse
import hypertune

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", required=True, type=float)
parser.add_argument("--layers", required=True, type=int)
parser.add_argument("--num_units", required=True, type=int)
parser.add_argument("--optimizer", required=True, choices=["adam", "sgd"])
arguments = parser.parse_args()

for epoch in range(1, 4):
    hypertune.HyperTune().report_hyperparameter_tuning_metric(
        hyperparameter_metric_tag="accuracy",
        metric_value=arguments.learning_rate * epoch,
        global_step=epoch,
    )
"""

TRAINED = """
import os, pathlib, sys

folder = pathlib.Path(os.environ["AIP_MODEL_DIR"].replace("gs://", os.environ["GCS_ROOT"] + "/"))
folder.mkdir(parents=True)
(folder / "saved_model.pb").write_text(" ".join(sys.argv[1:]))
"""


def tuning_job():
    custom_job = aiplatform.CustomJob(
        display_name="trial",
        worker_pool_specs=[
            {
                "machine_spec": {"machine_type": "n1-standard-4"},
                "replica_count": 1,
                "container_spec": {"image_uri": TF_IMAGE, "command": ["python3", "-c", TUNED]},
            }
        ],
        base_output_dir=f"gs://{BUCKET}/tuning",
    )
    job = aiplatform.HyperparameterTuningJob(
        display_name="tune",
        custom_job=custom_job,
        metric_spec={"accuracy": "maximize"},
        parameter_spec={
            "learning_rate": hpt.DoubleParameterSpec(min=0.001, max=0.1, scale="log"),
            "layers": hpt.IntegerParameterSpec(min=1, max=4, scale="linear"),
            "num_units": hpt.DiscreteParameterSpec(values=[64, 128, 512], scale=None),
            "optimizer": hpt.CategoricalParameterSpec(values=["adam", "sgd"]),
        },
        max_trial_count=3,
        parallel_trial_count=2,
        labels={"team": "vision"},
    )
    job.run(sync=False)
    return job


def container_training_job():
    job = aiplatform.CustomContainerTrainingJob(
        display_name="train-container",
        container_uri=TF_IMAGE,
        command=["python3", "-c", TRAINED],
        model_serving_container_image_uri=SERVING_IMAGE,
    )
    model = job.run(
        model_display_name="digits",
        args=["--epochs=2"],
        base_output_dir=f"gs://{BUCKET}/container",
        machine_type="n1-standard-4",
        sync=False,
    )
    return job, model


def script_training_job(folder):
    script = Path(folder, "train.py")
    script.write_text(TRAINED)
    job = aiplatform.CustomTrainingJob(
        display_name="train-script",
        script_path=str(script),
        container_uri=TF_IMAGE,
        model_serving_container_image_uri=SERVING_IMAGE,
    )
    model = job.run(
        model_display_name="digits-script",
        args=["--epochs=3"],
        base_output_dir=f"gs://{BUCKET}/script",
        sync=False,
    )
    return job, model


if __name__ == "__main__":
    BUCKET, folder = sys.argv[1:]
    storage.Client().create_bucket(BUCKET)
    aiplatform.init(
        project="local-gcp", location="us-central1", staging_bucket=f"gs://{BUCKET}/staging"
    )
    tuning = tuning_job()
    trainings = [container_training_job(), script_training_job(folder)]
    tuning.wait()
    answer = {
        "tuning": tuning.state.name,
        "trials": [
            {
                "id": trial.id,
                "parameters": {p.parameter_id: p.value for p in trial.parameters},
                "final": trial.final_measurement.metrics[0].value,
                "step": trial.final_measurement.step_count,
            }
            for trial in tuning.trials
        ],
        "models": [],
    }
    for job, model in trainings:
        job.wait()
        model.wait()
        answer["models"].append(
            {
                "pipeline": job.state.name,
                "name": model.display_name,
                "version": model.version_id,
                "aliases": list(model.version_aliases),
                "uri": model.uri,
            }
        )
    json.dump(answer, sys.stdout)
