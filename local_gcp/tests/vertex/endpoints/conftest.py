"""Models that are quickly served, and endpoints with them."""

from pathlib import Path

import pytest
from google.protobuf import json_format, struct_pb2

from local_gcp.vertex.endpoints import values

SERVER = Path(__file__).with_name("programs") / "model_server.py"


@pytest.fixture
def upload(vertex, home):
    """upload(NAME="a"): a model whose container is programs/model_server.py, with variables."""
    folder = home.buckets / "bucket/model"
    folder.mkdir(parents=True)
    (folder / "weights").write_text("1")

    def make(display_name="digits", **variables):
        model = {
            "display_name": display_name,
            "artifact_uri": "gs://bucket/model",
            "container_spec": {
                "image_uri": "example.com/python:3",
                "command": ["python", "-I", "-S", str(SERVER)],
                "env": [{"name": k, "value": str(v)} for k, v in variables.items()],
            },
        }
        answer = vertex.models.upload_model(parent=vertex.parent, model=model).result(timeout=60)
        return answer.model

    return make


@pytest.fixture
def endpoint(vertex):
    """Name of an endpoint without models."""
    sent = {"display_name": "digits", "labels": {"experiment": "digits"}}
    return vertex.endpoints.create_endpoint(parent=vertex.parent, endpoint=sent).result().name


@pytest.fixture
def begin(vertex, endpoint):
    """begin(model, split, most=2): the operation of a deployment."""

    def start(model, split=None, least=1, most=1, **fields):
        resources = {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "min_replica_count": least,
            "max_replica_count": most,
        }
        deployed = {"model": model, "dedicated_resources": resources, **fields}
        request = {"endpoint": endpoint, "deployed_model": deployed, "traffic_split": split or {}}
        return vertex.endpoints.deploy_model(request=request)

    return start


@pytest.fixture
def deploy(begin):
    """deploy(model, {"0": 100}): id of the deployed model, when it is served."""

    def wait(model, split=None, **fields):
        return begin(model, split, **fields).result(timeout=60).deployed_model.id

    return wait


@pytest.fixture
def predict(vertex, endpoint):
    """predict(1, 2): the predictions of one request, as plain values."""

    def ask(*instances, parameters=None):
        answer = vertex.predictions.predict(
            endpoint=endpoint,
            instances=[values.from_json(i) for i in instances],
            parameters=None if parameters is None else values.from_json(parameters),
        )
        return [json_format.MessageToDict(p) for p in type(answer).pb(answer).predictions]

    return ask


@pytest.fixture
def value():
    """value([1, 2]): as a google.protobuf.Value."""
    return lambda plain: json_format.ParseDict(plain, struct_pb2.Value())
