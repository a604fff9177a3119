"""Requests for deployed models, and what their server got of them."""

import functools
import time
from pathlib import Path

from google.protobuf import json_format

from local_gcp.vertex.endpoints import values
from tests.proto_fields import KEY

SERVER = Path(__file__).parent / "endpoints/programs/model_server.py"
MACHINE = {"machine_spec": {"machine_type": "n1-standard-2"}, "min_replica_count": 1}


def serving_requests(vertex):
    """By the request's class: the method, and a request for the first of two deployed models."""
    container = {"image_uri": "example.com/python:3", "command": ["python", "-ISu", str(SERVER)]}
    model = {"display_name": "a", "container_spec": container}
    model = vertex.models.upload_model(parent=vertex.parent, model=model).result(timeout=60).model
    endpoint = vertex.endpoints.create_endpoint(
        parent=vertex.parent, endpoint={"display_name": "a"}
    )
    endpoint = endpoint.result(timeout=60).name
    explained = {
        "parameters": {"sampled_shapley_attribution": {"path_count": 2}},
        "metadata": {"inputs": {KEY: {}}, "outputs": {"double": {}}},
    }

    def deploy(split, **fields):
        deployed = {"model": model, "dedicated_resources": MACHINE, **fields}
        operation = vertex.endpoints.deploy_model(
            endpoint=endpoint, deployed_model=deployed, traffic_split=split
        )
        return ended(operation).deployed_model.id

    first = deploy({"0": 100}, explanation_spec=explained)
    second = deploy({first: 100, "0": 0})
    asked = {"endpoint": endpoint}
    return {
        "UndeployModelRequest": (
            vertex.endpoints.undeploy_model,
            {"endpoint": endpoint, "deployed_model_id": second},
        ),
        "MutateDeployedModelRequest": (
            functools.partial(mutated, vertex),
            {
                "endpoint": endpoint,
                "deployed_model": {"id": first},
                "update_mask": {"paths": ["disable_container_logging"]},
            },
        ),
        "PredictRequest": (functools.partial(received, vertex.predictions.predict), asked),
        "ExplainRequest": (functools.partial(received, vertex.predictions.explain), asked),
        "RawPredictRequest": (
            functools.partial(received_raw, vertex),
            {"endpoint": endpoint, "http_body": {"content_type": "text/plain", "data": b"a"}},
        ),
    }


def ended(operation):
    """The result of an operation, which is asked for more often than its client does."""
    while not operation.done():
        time.sleep(0.05)
    return operation.result()


def mutated(vertex, request):
    """The deployed model once it is changed."""
    return ended(vertex.endpoints.mutate_deployed_model(request=request)).deployed_model


def received(method, request):
    """The request with what the model's server, which repeats it, got of it; with an instance."""
    if not request.instances:
        type(request).pb(request).instances.append(values.from_json({KEY: 1}))
    answer = method(request=request)
    predictions = [values.to_json(p) for p in type(answer).pb(answer).predictions]
    got = {"instances": [p["instance"] for p in predictions]}
    got["parameters"] = predictions[0]["parameters"]
    result = type(request)()
    json_format.ParseDict(got, type(request).pb(result))
    return result


def received_raw(vertex, request):
    """The body that the model's server, which answers with its bytes from last to first, got."""
    answer = vertex.predictions.raw_predict(request=request)
    answer.data = answer.data[::-1]
    return answer
