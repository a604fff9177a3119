"""A client of an endpoint of the whole server, for tests that kill things: commands on standard
input, an answer on standard output for each.

deploy BUCKET START   a model whose server takes START seconds until it listens, deployed to a new
                      endpoint; answers endpoint and operation without waiting
wait OPERATION        waits for the operation; answers "done" or the error's message
predict ENDPOINT      answers the process id that answered, or the error's message
undeploy ENDPOINT     of its only model; answers the operation without waiting
show ENDPOINT         answers {"models": ids, "split": ...}
"""

import json
import sys
import time
from pathlib import Path

from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api
from google.cloud import storage

PARENT = "projects/local-gcp/locations/us-central1"
OPTIONS = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
IMAGE = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"
SERVER = str(Path(__file__).with_name("model_server.py"))
predictions = api.PredictionServiceClient(client_options=OPTIONS)
endpoints = api.EndpointServiceClient(client_options=OPTIONS)


def deploy(bucket, start):
    storage.Client().create_bucket(bucket).blob("model/weights").upload_from_string("1")
    spec = {
        "image_uri": IMAGE,
        "command": ["python3", "-I", "-S", SERVER],
        "env": [{"name": "START", "value": start}],
    }
    sent = {
        "display_name": bucket,
        "artifact_uri": f"gs://{bucket}/model",
        "container_spec": spec,
    }
    models = api.ModelServiceClient(client_options=OPTIONS)
    model = models.upload_model(parent=PARENT, model=sent).result().model
    made = endpoints.create_endpoint(parent=PARENT, endpoint={"display_name": bucket}).result()
    resources = {"machine_spec": {"machine_type": "n1-standard-2"}, "min_replica_count": 2}
    operation = endpoints.deploy_model(
        endpoint=made.name,
        deployed_model={"model": model, "dedicated_resources": resources},
        traffic_split={"0": 100},
    )
    return f"{made.name} {operation.operation.name}"


def wait(operation):
    while not (found := endpoints.get_operation({"name": operation})).done:
        time.sleep(0.1)
    return found.error.message or "done"


def predict(endpoint):
    answer = predictions.predict(endpoint=endpoint, instances=[1])
    return int(dict(answer.predictions[0])["pid"])


def undeploy(endpoint):
    (model,) = endpoints.get_endpoint(name=endpoint).deployed_models
    started = endpoints.undeploy_model(endpoint=endpoint, deployed_model_id=model.id)
    return started.operation.name


def show(endpoint):
    found = endpoints.get_endpoint(name=endpoint)
    ids = [model.id for model in found.deployed_models]
    return json.dumps({"models": ids, "split": dict(found.traffic_split)})


if __name__ == "__main__":
    commands = {f.__name__: f for f in (deploy, wait, predict, undeploy, show)}
    for line in sys.stdin:
        command, *arguments = line.split()
        try:
            print(commands[command](*arguments), flush=True)
        except exceptions.GoogleAPICallError as error:
            print(str(error.message).replace("\n", " "), flush=True)
