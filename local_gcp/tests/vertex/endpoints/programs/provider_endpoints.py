"""The Airflow provider's endpoint operators, in one DAG run: `provider_endpoints.py BUCKET`.

Prints, as JSON, the state of each task, what the listing returned and what was refused.
"""

import json
import logging
import os
import sys
import tempfile
from pathlib import Path

os.environ |= {
    "AIRFLOW_HOME": tempfile.mkdtemp(prefix="airflow-"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
}

from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.providers.google.cloud.hooks.vertex_ai.endpoint_service import EndpointServiceHook
from airflow.providers.google.cloud.operators.vertex_ai.endpoint_service import (
    CreateEndpointOperator,
    DeleteEndpointOperator,
    DeployModelOperator,
    ListEndpointsOperator,
    UndeployModelOperator,
    UpdateEndpointOperator,
)
from airflow.providers.google.cloud.operators.vertex_ai.model_service import (
    DeleteModelOperator,
    UploadModelOperator,
)
from airflow.sdk import DAG, task
from airflow.utils.db import initdb
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import storage

BUCKET = sys.argv[1]
WHERE = {"project_id": "local-gcp", "region": "us-central1"}
SERVER = str(Path(__file__).with_name("model_server.py"))
ENDPOINT = "{{ ti.xcom_pull('create', key='endpoint_id') }}"
MODEL = "{{ ti.xcom_pull('upload', key='model_id') }}"
DEPLOYED = "{{ ti.xcom_pull('deploy', key='deployed_model_id') }}"


@task(task_id="refuse")
def refuse(endpoint: str, deployed: str) -> list[str]:
    """Return the errors of the provider's hook for a split of 99, and in a region that does not
    exist.
    """
    said = []
    for region, share in (("us-central1", 99), ("mars-north1", 100)):
        try:
            EndpointServiceHook().update_endpoint(
                project_id=WHERE["project_id"],
                region=region,
                endpoint_id=endpoint,
                endpoint={"traffic_split": {deployed: share}},
                update_mask={"paths": ["traffic_split"]},
            )
        except GoogleAPICallError as error:
            said.append(str(error))
    return said


with DAG("provider_endpoints", schedule=None) as dag:
    upload = UploadModelOperator(
        task_id="upload",
        **WHERE,
        model={
            "display_name": "digits",
            "artifact_uri": f"gs://{BUCKET}/model",
            "container_spec": {
                "image_uri": "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest",
                "command": ["python3", SERVER],
            },
        },
    )
    create = CreateEndpointOperator(
        task_id="create",
        **WHERE,
        endpoint={"display_name": BUCKET, "labels": {"experiment": BUCKET}},
    )
    deploy = DeployModelOperator(
        task_id="deploy",
        **WHERE,
        endpoint_id=ENDPOINT,
        deployed_model={
            "model": "projects/local-gcp/locations/us-central1/models/" + MODEL,
            "dedicated_resources": {
                "machine_spec": {"machine_type": "n1-standard-2"},
                "min_replica_count": 1,
            },
        },
        traffic_split={"0": 100},
    )
    update = UpdateEndpointOperator(
        task_id="update",
        **WHERE,
        endpoint_id=ENDPOINT,
        endpoint={"labels": {"experiment": BUCKET, "stage": "live"}},
        update_mask={"paths": ["labels"]},
    )
    listed = ListEndpointsOperator(
        task_id="list", **WHERE, filter=f"labels.experiment={BUCKET} AND labels.stage=live"
    )
    undeploy = UndeployModelOperator(
        task_id="undeploy",
        **WHERE,
        endpoint_id=ENDPOINT,
        deployed_model_id=DEPLOYED,
    )
    delete = DeleteEndpointOperator(task_id="delete", **WHERE, endpoint_id=ENDPOINT)
    delete_model = DeleteModelOperator(task_id="delete_model", **WHERE, model_id=MODEL)
    refused = refuse(ENDPOINT, DEPLOYED)
    [upload, create] >> deploy >> update >> listed >> refused >> undeploy >> [delete, delete_model]


if __name__ == "__main__":
    storage.Client().create_bucket(BUCKET).blob("model/weights").upload_from_string("1")
    initdb()
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(os.devnull, collect_dags=False)
    bag.bag_dag(dag)
    sync_bag_to_db(bag, "dags-folder", None)
    logging.disable(logging.ERROR)
    tasks = dag.test().get_task_instances()
    answer = {
        "refused": next(ti.xcom_pull("refuse") for ti in tasks if ti.task_id == "refuse"),
        "states": {ti.task_id: ti.state for ti in tasks},
        "listed": next(ti.xcom_pull("list") for ti in tasks if ti.task_id == "list"),
    }
    print(json.dumps(answer, default=str), flush=True)
    os._exit(0)  # threads of the SDK would sleep on for a while
