"""Shared parts of the programs that observe local_gcp: clients, waits, and answers in one form.

Each program prints {observation: value} as JSON. What local_gcp refuses by name is {"refused": its
message}, another error {"error": code, "message": ...}.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import GoogleAPICallError, MethodNotImplemented
from google.cloud import aiplatform_v1 as api
from google.cloud import storage
from google.protobuf import json_format

PROJECT, REGION = "local-gcp", "us-central1"
PARENT = f"projects/{PROJECT}/locations/{REGION}"
IMAGE = f"{REGION}-docker.pkg.dev/{PROJECT}/trellis/trainer:1"
MACHINE = {"machine_type": "n1-standard-4"}


def client(kind: Any) -> Any:
    """A client of one of Vertex AI's services in the region."""
    return kind(client_options=ClientOptions(api_endpoint=f"{REGION}-aiplatform.googleapis.com"))


def upload(bucket: str, **objects: str) -> None:
    """Make a bucket with these objects."""
    made = storage.Client(PROJECT).create_bucket(bucket)
    for name, content in objects.items():
        made.blob(name).upload_from_string(content)


def tried(call: Callable[[], Any]) -> Any:
    """The result of a call, or its error; see the module."""
    try:
        return call()
    except MethodNotImplemented as error:
        return {"refused": error.message}
    except GoogleAPICallError as error:
        code = error.grpc_status_code.name if error.grpc_status_code else error.code
        return {"error": code, "message": error.message}


def accepted(call: Callable[[], Any]) -> Any:
    """Say "accepted", or give the error."""
    found = tried(call)
    return found if isinstance(found, dict) and found.keys() & {"refused", "error"} else "accepted"


def fields(message: Any) -> dict[str, Any]:
    """A message as JSON: camelCase, 64-bit numbers as text, no defaults."""
    return json_format.MessageToDict(type(message).pb(message))


def response(operation: Any) -> dict[str, Any]:
    """The response of an operation as JSON, without its type."""
    operation.result(timeout=120)
    found = json_format.MessageToDict(operation.operation.response)
    return {name: value for name, value in found.items() if name not in ("@type", "value")}


def shape(value: Any) -> Any:
    """Names without what no two projects have in common."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [shape(item) for item in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"projects/\d+/", "projects/PROJECT/", value).replace(REGION, "<region>")
    return re.sub(r"(?<=/)\d{15,20}(?=/|@|$)", "<id>", value)


def operation(started: Any) -> Any:
    """The shape of an operation's name."""
    return shape(started.operation.name)


def ended(get: Callable[..., Any], created: Any) -> tuple[Any, list[Any]]:
    """A job or pipeline when it has ended, and each of its answers with another state, from the
    creation's on.
    """
    answers = [created]
    deadline = time.monotonic() + 150
    while not answers[-1].end_time:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{created.name} is {answers[-1].state.name}")
        time.sleep(0.02)
        found = get(name=created.name)
        if found.state != answers[-1].state:
            answers.append(found)
        elif found.end_time:
            answers[-1] = found
    return answers[-1], answers


def states(answers: list[Any]) -> list[str]:
    """Their names."""
    return [answer.state.name for answer in answers]


def pool(code: str, replicas: int = 1) -> dict[str, Any]:
    """A worker pool that runs Python code."""
    container = {"image_uri": IMAGE, "command": ["python", "-c", code]}
    return {"machine_spec": MACHINE, "replica_count": replicas, "container_spec": container}


def serving(program: str) -> dict[str, Any]:
    """The container of a model that a program serves."""
    return {
        "image_uri": IMAGE,
        "command": ["python", program],
        "predict_route": "/predict",
        "health_route": "/health",
    }


def show(observations: dict[str, Any]) -> None:
    """Print them."""
    print(json.dumps(observations))


JOBS, PIPELINES = api.JobServiceClient, api.PipelineServiceClient
MODELS, ENDPOINTS = api.ModelServiceClient, api.EndpointServiceClient
DATASETS, PREDICTIONS = api.DatasetServiceClient, api.PredictionServiceClient
