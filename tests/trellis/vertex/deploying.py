"""A model that is quickly served, and a way to run its operators one by one, without a DAG run."""

import asyncio

from airflow.sdk.bases.operator import ExecutorSafeguard
from airflow.sdk.exceptions import TaskDeferred
from google.cloud import aiplatform_v1 as api

from trellis.vertex.endpoints import DeployModelOperator, EndpointOperator, TrafficOperator
from trellis.vertex.models import ModelVersionOperator

PARENT = "projects/local-gcp/locations/us-central1"
PLACE = {"project_id": "local-gcp", "region": "us-central1", "poll_interval": 0.1}
BUCKET = "serving-tests"
MACHINES = {
    "dedicated_resources": {
        "machine_spec": {"machine_type": "n1-standard-2"},
        "min_replica_count": 1,
        "max_replica_count": 1,
    }
}


# Operators are run here without Airflow's task runner, which is no mistake.
ExecutorSafeguard.test_mode = True


def clients():
    """A ModelServiceClient and an EndpointServiceClient."""
    options = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
    return (
        api.ModelServiceClient(client_options=options),
        api.EndpointServiceClient(client_options=options),
    )


def run(operator, run_id="run", round_=0):
    """Run an operator's task to its end, its waits included: what it returns.

    round_: how often a person has cleared it.
    """

    class Ti:
        dag_id, task_id, map_index, max_tries = "serving", operator.task_id, -1, round_

        @staticmethod
        def xcom_push(key, value):
            pass

    Ti.run_id = run_id
    context = {"ti": Ti, "task": operator}
    method, arguments = operator.execute, {}
    while True:
        try:
            return method(context, **arguments)
        except TaskDeferred as wait:
            method = getattr(operator, wait.method_name)
            arguments = {"event": _fired(wait.trigger), **(wait.kwargs or {})}


def _fired(trigger):
    async def first():
        async for event in trigger.run():
            return event.payload

    return asyncio.run(asyncio.wait_for(first(), timeout=60))


def model(name, **variables):
    """A Model of the experiment `name`, served by a program that does as its variables say."""
    return {
        "display_name": name,
        "labels": {"trellis-experiment": name},
        "artifact_uri": f"gs://{BUCKET}/model",
        "container_spec": {
            "image_uri": "example.com/test/serve:1",
            "env": [{"name": key, "value": str(value)} for key, value in variables.items()],
        },
    }


def register(name, aliases=("challenger",), run_id="run", sent=None):
    """The name of the version that a run registered."""
    operator = ModelVersionOperator(
        task_id="register", model_id=name, model=sent or model(name), aliases=aliases, **PLACE
    )
    return run(operator, run_id)["name"]


def make_endpoint(name):
    """The name of the experiment's endpoint."""
    sent = {"display_name": name, "labels": {"trellis-experiment": name}}
    operator = EndpointOperator(task_id="endpoint", endpoint_id=name, endpoint=sent, **PLACE)
    return run(operator)["endpoint"]


def deploy(endpoint, version, share=10, **arguments):
    """The id of the deployed model."""
    operator = DeployModelOperator(
        task_id="canary",
        endpoint_id=endpoint,
        model=version,
        deployed_model=MACHINES,
        share=share,
        **{**PLACE, **arguments},
    )
    return run(operator)["deployed_model"]


def shift(endpoint, version, share):
    """The traffic by name of version."""
    operator = TrafficOperator(
        task_id="shift", endpoint_id=endpoint, model=version, share=share, **PLACE
    )
    return run(operator)["traffic"]
