"""A task whose process is lost between the create of its job and the first poll, by kill -9.

killed_task.py DAG_ID     with the environment, and so the Airflow, of the test that starts it
"""

import os
import signal
import sys

from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.sdk import DAG

from trellis.vertex import operators

CUSTOM_TASK = "gs://google-cloud-aiplatform/schema/trainingjob/definition/custom_task_1.0.0.yaml"


def pipeline(script):
    """A TrainingPipeline that runs a shell script."""
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        # The word after the script is its $0.
        "container_spec": {"image_uri": "example.com/test/sh:1", "args": [script, "job"]},
    }
    return {
        "display_name": "a pipeline",
        "training_task_definition": CUSTOM_TASK,
        "training_task_inputs": {"worker_pool_specs": [pool]},
    }


def a_dag(dag_id):
    """A DAG of one pipeline, which takes a second."""
    with DAG(dag_id) as dag:
        operators.AutoMLTabularOperator(
            task_id="job",
            training_pipeline=pipeline("sleep 1"),
            project_id="local-gcp",
            region="us-central1",
            poll_interval=0.2,
        )
    return dag


def _die(_):
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    operators.in_task = _die
    dag = a_dag(sys.argv[1])
    bag = DagBag(os.devnull, collect_dags=False)
    bag.bag_dag(dag)
    sync_bag_to_db(bag, "dags-folder", None)
    dag.test()
