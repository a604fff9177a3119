"""Tasks of every operator that starts something, whose process is lost at a moment, by kill -9.

killed_tasks.py     with the environment, and so the Airflow, of the test that starts it

Reads "KIND MOMENT" lines of `KINDS` and `MOMENTS`; answers each with a line of JSON: the exit
status of the process that ran the task. Each task has its own process, forked from this one, which
imports everything and calls nothing.
"""

import json
import os
import signal
import sys

from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.providers.google.cloud.hooks.bigquery import BigQueryHook
from airflow.providers.google.cloud.hooks.dataflow import DataflowHook
from airflow.sdk import DAG, BaseOperator
from google.cloud import aiplatform_v1 as api

import trellis.bigquery.operators
import trellis.bigquery.triggers
import trellis.dataflow.operators
import trellis.dataflow.triggers
import trellis.vertex.stepwise
import trellis.vertex.triggers
from trellis import waiting
from trellis.bigquery.operators import BigQueryJobOperator
from trellis.dataflow.operators import FlexTemplateOperator
from trellis.vertex.datasets import DatasetOperator
from trellis.vertex.endpoints import DeployModelOperator, EndpointOperator
from trellis.vertex.models import ModelVersionOperator
from trellis.vertex.operators import (
    AutoMLTabularOperator,
    BatchPredictionJobOperator,
    CustomJobOperator,
    HyperparameterTuningJobOperator,
)

PARENT = "projects/local-gcp/locations/us-central1"
MODEL = f"{PARENT}/models/killed"
BUCKET = "killed-tasks"
SCHEMA = "gs://google-cloud-aiplatform/schema"
VERTEX = {"project_id": "local-gcp", "region": "us-central1", "poll_interval": 0.2}
MACHINE = {"machine_type": "n1-standard-2"}
# Seconds of work.
SLOW_QUERY = (
    "SELECT SUM(SIN(a) * COS(b)) AS s FROM UNNEST(GENERATE_ARRAY(1, 6000)) AS a, "
    "UNNEST(GENERATE_ARRAY(1, 6000)) AS b"
)


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


def prediction(model, bucket):
    """A BatchPredictionJob for gs://BUCKET/in.jsonl."""
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
        "dedicated_resources": {"machine_spec": MACHINE},
    }


def model(name):
    """A Model of the experiment `name` that a small program serves."""
    return {
        "display_name": name,
        "labels": {"trellis-experiment": name},
        "artifact_uri": f"gs://{BUCKET}/model",
        "container_spec": {"image_uri": "example.com/test/serve:1"},
    }


def _custom(name):
    job = {"display_name": name, "job_spec": {"worker_pool_specs": [pool("sleep 1")]}}
    CustomJobOperator(task_id="job", custom_job=job, **VERTEX)


def _tuning(name):
    measurement = '{"trial": "1", "global_step": 1, "accuracy": 0.5, "timestamp": 0}'
    rate = {"parameter_id": "rate", "double_value_spec": {"min_value": 0, "max_value": 1}}
    job = {
        "display_name": name,
        "max_trial_count": 1,
        "parallel_trial_count": 1,
        "study_spec": {
            "metrics": [{"metric_id": "accuracy", "goal": "MAXIMIZE"}],
            "parameters": [rate],
        },
        "trial_job_spec": {
            "worker_pool_specs": [pool(f"echo '{measurement}' >> $CLOUD_ML_HP_METRIC_FILE")]
        },
    }
    HyperparameterTuningJobOperator(task_id="job", hyperparameter_tuning_job=job, **VERTEX)


def _pipeline(name):
    AutoMLTabularOperator(task_id="job", training_pipeline=pipeline("sleep 1"), **VERTEX)


def _batch(name):
    job = prediction(MODEL, BUCKET)
    BatchPredictionJobOperator(task_id="job", batch_prediction_job=job, **VERTEX)


def _dataset(name):
    dataset = {
        "display_name": name,
        "metadata_schema_uri": f"{SCHEMA}/dataset/metadata/tabular_1.0.0.yaml",
        "metadata": {"inputConfig": {"gcsSource": {"uri": [f"gs://{BUCKET}/cells.csv"]}}},
    }
    DatasetOperator(task_id="job", dataset=dataset, **VERTEX)


def _bigquery(name):
    place = {"project_id": "local-gcp", "location": "US", "poll_interval": 0.2}
    query = {"query": SLOW_QUERY, "useLegacySql": False}
    BigQueryJobOperator(task_id="job", configuration={"query": query}, **place)


def _dataflow(name):
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


def _version(name):
    ModelVersionOperator(task_id="job", model_id=name, model=model(name), **VERTEX)


def _endpoint(name):
    endpoint = {"display_name": name, "labels": {"trellis-experiment": name}}
    EndpointOperator(task_id="job", endpoint_id=name, endpoint=endpoint, **VERTEX)


def _deployment(name):
    machines = {"machine_spec": MACHINE, "min_replica_count": 1, "max_replica_count": 1}
    DeployModelOperator(
        task_id="job",
        endpoint_id=f"{PARENT}/endpoints/{name}",
        model=f"{MODEL}@1",
        deployed_model={"dedicated_resources": machines},
        share=10,
        **VERTEX,
    )


KINDS = {
    # The task, and the call that starts its work.
    "bigquery": (_bigquery, BigQueryHook, "insert_job"),
    "tuning": (_tuning, api.JobServiceClient, "create_hyperparameter_tuning_job"),
    "custom": (_custom, api.JobServiceClient, "create_custom_job"),
    "pipeline": (_pipeline, api.PipelineServiceClient, "create_training_pipeline"),
    "batch": (_batch, api.JobServiceClient, "create_batch_prediction_job"),
    "dataset": (_dataset, api.DatasetServiceClient, "create_dataset"),
    "version": (_version, api.ModelServiceClient, "upload_model"),
    "endpoint": (_endpoint, api.EndpointServiceClient, "create_endpoint"),
    "deployment": (_deployment, api.EndpointServiceClient, "deploy_model"),
    "dataflow": (_dataflow, DataflowHook, "launch_job_with_flex_template"),
}
_PACKAGES = (trellis.bigquery, trellis.dataflow, trellis.vertex)


def a_dag(kind, moment):
    """A DAG of one task, whose work takes a second or so."""
    with DAG(f"killed-{kind}-{moment}") as dag:
        KINDS[kind][0](dag.dag_id)
    return dag


def _die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def _replace(modules, name):
    """Die in place of a function, wherever one of the modules has it."""
    for package in _PACKAGES:
        for module in modules:
            if hasattr(found := getattr(package, module, None), name):
                setattr(found, name, _die)


def _created(kind):
    """Google has answered the call that starts the work; nobody knows the answer."""
    _, holder, method = KINDS[kind]
    call = getattr(holder, method)
    setattr(holder, method, lambda *given, **named: _die(call(*given, **named)))


def _recorded(kind):
    """The work's name is stored with the task's links; the deferral is not."""
    _replace(["operators", "stepwise"], "in_task")


def _deferred(kind):
    """The deferral is stored; the trigger waits."""
    _replace(["triggers"], "in_trigger")


def _resumed(kind):
    """The trigger has fired, and the task is back in a process."""
    BaseOperator.resume_execution = _die


MOMENTS = {"created": _created, "recorded": _recorded, "deferred": _deferred, "resumed": _resumed}


def _killed(kind, moment):
    """The exit status of a process that runs the DAG and dies at the moment."""
    if (child := os.fork()) == 0:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        waiting.IN_TASK_SECONDS = waiting.FIRST_POLL_SECONDS = 0.0
        MOMENTS[moment](kind)
        dag = a_dag(kind, moment)
        bag = DagBag(os.devnull, collect_dags=False)
        bag.bag_dag(dag)
        sync_bag_to_db(bag, "dags-folder", None)
        dag.test()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(_killed(*line.split())), flush=True)
