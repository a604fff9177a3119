"""The Airflow provider's own operators, in one DAG run: `provider_operators.py BUCKET`.

Prints, as JSON, the state of each task and what some of them returned. Synchronous and deferrable,
with the arguments that people usually give.
"""

import json
import os
import sys
import tempfile

AIRFLOW_HOME = tempfile.mkdtemp(prefix="airflow-")
os.environ |= {
    "AIRFLOW_HOME": AIRFLOW_HOME,
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
}

from airflow.dag_processing.bundles.manager import DagBundlesManager  # noqa: E402
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db  # noqa: E402
from airflow.providers.google.cloud.operators import dataflow  # noqa: E402
from airflow.providers.google.cloud.operators.vertex_ai import (  # noqa: E402
    custom_job,
    model_service,
)
from airflow.providers.google.cloud.operators.vertex_ai import (  # noqa: E402
    hyperparameter_tuning_job as tuning,
)
from airflow.sdk import DAG  # noqa: E402
from airflow.utils.db import initdb  # noqa: E402
from google.cloud import storage  # noqa: E402
from google.cloud.aiplatform import hyperparameter_tuning as hpt  # noqa: E402

BUCKET = sys.argv[1]
IMAGE = "example.com/python:1"
WHERE = {"project_id": "local-gcp", "region": "us-central1"}

TUNED = """
import json, os, sys, time
flags = dict(argument.removeprefix("--").split("=", 1) for argument in sys.argv[1:])
with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "w") as file:
    for step in (1, 2):
        entry = {"timestamp": time.time(), "loss": float(flags["rate"]) / step, "global_step": step}
        file.write(json.dumps(entry) + "\\n")
"""
TRAINED = """
import os, pathlib
folder = pathlib.Path(os.environ["AIP_MODEL_DIR"].replace("gs://", os.environ["GCS_ROOT"] + "/"))
folder.mkdir(parents=True)
(folder / "saved_model.pb").write_text(os.environ["FLAVOUR"])
"""


def tune(task_id, **changes):
    pool = {
        "machine_spec": {
            "machine_type": "n1-standard-4",
            "accelerator_type": "NVIDIA_TESLA_T4",
            "accelerator_count": 1,
        },
        "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": ["python", "-c", TUNED], "args": []},
    }
    return tuning.CreateHyperparameterTuningJobOperator(
        task_id=task_id,
        **WHERE,
        staging_bucket=f"gs://{BUCKET}/staging",
        base_output_dir=f"gs://{BUCKET}/{task_id}",
        display_name=task_id,
        worker_pool_specs=[pool],
        parameter_spec={
            "rate": hpt.DoubleParameterSpec(min=0.01, max=1, scale="log"),
            "units": hpt.DiscreteParameterSpec(values=[8, 16], scale="linear"),
        },
        metric_spec={"loss": "minimize"},
        max_trial_count=2,
        parallel_trial_count=2,
        max_failed_trial_count=1,
        search_algorithm="random",
        measurement_selection="best",
        hyperparameter_tuning_job_labels={"team": "vision"},
        custom_job_labels={"team": "vision"},
        service_account="local@local-gcp.iam.gserviceaccount.com",
        timeout=600,
        restart_job_on_worker_restart=True,
        **changes,
    )


def export(task_id, **changes):
    body = {
        "launchParameter": {
            "jobName": task_id.replace("_", "-"),
            "containerSpecGcsPath": f"gs://{BUCKET}/template.json",
            "parameters": {"text": "{{ ds_nodash or 'none' }}"},
            "environment": {
                "tempLocation": f"gs://{BUCKET}/tmp",
                "machineType": "n1-standard-2",
                "maxWorkers": 2,
                "additionalUserLabels": {"team": "vision"},
            },
        }
    }
    return dataflow.DataflowStartFlexTemplateOperator(
        task_id=task_id,
        project_id=WHERE["project_id"],
        location=WHERE["region"],
        body=body,
        poll_sleep=1,
        **changes,
    )


with DAG("provider", schedule=None) as dag:
    tune("tune_and_wait")
    tuned = tune("tune_deferred", deferrable=True, poll_interval=1)
    job_id = "{{ ti.xcom_pull('tune_deferred', key='hyperparameter_tuning_job_id') }}"
    got = tuning.GetHyperparameterTuningJobOperator(
        task_id="get_tuning", hyperparameter_tuning_job_id=job_id, **WHERE
    )
    listed = tuning.ListHyperparameterTuningJobOperator(
        task_id="list_tuning", filter="labels.team=vision", **WHERE
    )
    tuned >> got >> listed

    export("export_and_wait")
    export("export_deferred", deferrable=True)

    trained = custom_job.CreateCustomContainerTrainingJobOperator(
        task_id="train",
        **WHERE,
        staging_bucket=f"gs://{BUCKET}/staging",
        base_output_dir=f"gs://{BUCKET}/train",
        display_name="train",
        container_uri=IMAGE,
        command=["python", "-c", TRAINED],
        args=["--epochs", 2],
        environment_variables={"FLAVOUR": "sweet"},
        model_serving_container_image_uri="example.com/serve:1",
        model_display_name="digits",
        model_labels={"team": "vision"},
        replica_count=1,
        machine_type="n1-standard-4",
        deferrable=True,
        poll_interval=1,
    )
    model_id = "{{ ti.xcom_pull('train', key='model_id') }}"
    alias = model_service.AddVersionAliasesOnModelOperator(
        task_id="add_alias", model_id=f"{model_id}@1", version_aliases=["champion"], **WHERE
    )
    model = model_service.GetModelOperator(
        task_id="get_model", model_id=f"{model_id}@champion", **WHERE
    )
    versions = model_service.ListModelVersionsOperator(
        task_id="list_versions", model_id=model_id, **WHERE
    )
    trained >> alias >> model >> versions

if __name__ == "__main__":
    template = {
        "image": "example.com/flex:1",
        "sdkInfo": {"language": "PYTHON"},
        "metadata": {
            "name": "Echo",
            "parameters": [{"name": "text", "label": "Text", "helpText": "What to print"}],
        },
    }
    bucket = storage.Client().create_bucket(BUCKET)
    bucket.blob("template.json").upload_from_string(json.dumps(template))
    initdb()
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(os.devnull, collect_dags=False)
    bag.bag_dag(dag)
    sync_bag_to_db(bag, "dags-folder", None)
    run = dag.test()
    tasks = run.get_task_instances()
    shown = ("tune_deferred", "get_model", "export_and_wait")
    answer = {
        "states": {ti.task_id: ti.state for ti in tasks},
        "returned": {ti.task_id: ti.xcom_pull(ti.task_id) for ti in tasks if ti.task_id in shown},
    }
    print(json.dumps(answer, default=str), flush=True)
    os._exit(0)  # the SDK's thread behind `train` would sleep on for a while
