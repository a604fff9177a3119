"""Tasks of every operator that has a job whose process is lost, by kill -9.

killed_tasks.py MODEL     with the environment, and so the Airflow, of the test that starts it

MODEL is what the batch prediction asks. Prints a JSON line for each task: {"dag": its DAG's id,
"status": its process's}. Every task has its own process, forked from this one, which imports all
and calls nothing.
"""

import json
import os
import signal
import sys

from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.sdk import DAG

import trellis.bigquery.operators
import trellis.bigquery.triggers
import trellis.dataflow.operators
import trellis.dataflow.triggers
import trellis.vertex.datasets
import trellis.vertex.operators
import trellis.vertex.triggers
from trellis.bigquery.operators import BigQueryJobOperator
from trellis.dataflow.operators import FlexTemplateOperator
from trellis.vertex.datasets import DatasetOperator
from trellis.vertex.operators import (
    AutoMLTabularOperator,
    BatchPredictionJobOperator,
    CustomJobOperator,
    HyperparameterTuningJobOperator,
)

MOMENTS = {
    # Between the create of the job and the storing of the deferral.
    "created": ("in_task", ["operators", "datasets"]),
    # When the deferral is stored, while the trigger waits.
    "deferred": ("in_trigger", ["triggers"]),
}
SCHEMA = "gs://google-cloud-aiplatform/schema"
BUCKET = "killed-tasks"
IN_VERTEX = {"project_id": "local-gcp", "region": "us-central1", "poll_interval": 0.2}


def pool(script):
    """A worker pool that runs a shell script."""
    return {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        # The word after the script is its $0.
        "container_spec": {"image_uri": "example.com/test/sh:1", "args": [script, "job"]},
    }


def pipeline(script):
    """A TrainingPipeline that runs a shell script."""
    return {
        "display_name": "a pipeline",
        "training_task_definition": f"{SCHEMA}/trainingjob/definition/custom_task_1.0.0.yaml",
        "training_task_inputs": {"worker_pool_specs": [pool(script)]},
    }


def _custom(model, name):
    job = {"display_name": "a job", "job_spec": {"worker_pool_specs": [pool("sleep 1")]}}
    CustomJobOperator(task_id="job", custom_job=job, **IN_VERTEX)


def _tuning(model, name):
    said = '{"trial": "1", "global_step": 1, "accuracy": 0.5, "timestamp": 0}'
    report = f"echo '{said}' >> $CLOUD_ML_HP_METRIC_FILE"
    rate = {"parameter_id": "rate", "double_value_spec": {"min_value": 0, "max_value": 1}}
    job = {
        "display_name": "a search",
        "max_trial_count": 1,
        "parallel_trial_count": 1,
        "study_spec": {
            "metrics": [{"metric_id": "accuracy", "goal": "MAXIMIZE"}],
            "parameters": [rate],
        },
        "trial_job_spec": {"worker_pool_specs": [pool(report)]},
    }
    HyperparameterTuningJobOperator(task_id="job", hyperparameter_tuning_job=job, **IN_VERTEX)


def _pipeline(model, name):
    AutoMLTabularOperator(task_id="job", training_pipeline=pipeline("sleep 1"), **IN_VERTEX)


def prediction(model, bucket=BUCKET):
    """A BatchPredictionJob of gs://BUCKET/in.jsonl."""
    return {
        "display_name": "a prediction",
        "model": model,
        "input_config": {
            "instances_format": "jsonl",
            "gcs_source": {"uris": [f"gs://{bucket}/in.jsonl"]},
        },
        "output_config": {
            "predictions_format": "jsonl",
            "gcs_destination": {"output_uri_prefix": f"gs://{bucket}/out"},
        },
        "dedicated_resources": {"machine_spec": {"machine_type": "n1-standard-2"}},
    }


def _batch(model, name):
    BatchPredictionJobOperator(task_id="job", batch_prediction_job=prediction(model), **IN_VERTEX)


def _dataset(model, name):
    dataset = {
        "display_name": "cells",
        "metadata_schema_uri": f"{SCHEMA}/dataset/metadata/tabular_1.0.0.yaml",
        "metadata": {"inputConfig": {"gcsSource": {"uri": [f"gs://{BUCKET}/cells.csv"]}}},
    }
    DatasetOperator(task_id="job", dataset=dataset, **IN_VERTEX)


def _bigquery(model, name):
    place = {"project_id": "local-gcp", "location": "US", "poll_interval": 0.2}
    query = {"query": "SELECT 1 AS one", "useLegacySql": False}
    BigQueryJobOperator(task_id="job", configuration={"query": query}, **place)


def _dataflow(model, name):
    mark = f"gs://{BUCKET}/{name}/mark.json"
    template = {"image": "example.com/test/flex:1", "sdkInfo": {"language": "PYTHON"}}
    launch = {"jobName": "a-job", "containerSpec": template, "parameters": {"output": mark}}
    FlexTemplateOperator(
        task_id="job",
        body={"launchParameter": launch},
        commit_mark=mark,
        project_id="local-gcp",
        location="us-central1",
        poll_sleep=1,
    )


KINDS = {
    "custom": _custom,
    "tuning": _tuning,
    "pipeline": _pipeline,
    "batch": _batch,
    "dataset": _dataset,
    "bigquery": _bigquery,
    "dataflow": _dataflow,
}


def a_dag(kind, moment, model=None):
    """A DAG of one task, whose job takes a second."""
    with DAG(f"killed_{kind}_{moment}") as dag:
        KINDS[kind](model, dag.dag_id)
    return dag


def _killed(dag, moment):
    """Run the DAG in a process that dies at the moment: how it ended."""
    if (child := os.fork()) == 0:
        name, modules = MOMENTS[moment]
        for package in (trellis.vertex, trellis.bigquery, trellis.dataflow):
            for module in modules:
                if hasattr(found := getattr(package, module, None), name):
                    setattr(found, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        dag.test()
        os._exit(0)
    return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    bag = DagBag(os.devnull, collect_dags=False)
    dags = {(k, m): a_dag(k, m, sys.argv[1]) for k in KINDS for m in MOMENTS}
    for dag in dags.values():
        bag.bag_dag(dag)
    sync_bag_to_db(bag, "dags-folder", None)
    for (_, moment), dag in dags.items():
        print(json.dumps({"dag": dag.dag_id, "status": _killed(dag, moment)}), flush=True)
