"""Serves models on an endpoint of local_gcp and sends what no client should: ask_endpoint.py BUCKET

In the bucket are the SavedModels `images` and `rows`, and row.json. Prints, as JSON, for each wrong
request what the client was told: {"name": [error's class or HTTP status, message]}, and what became
of good requests that were sent all the while.
"""

import base64
import io
import json
import os
import sys
import threading

import requests
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import aiplatform_v1 as api
from google.cloud import storage
from google.protobuf import json_format, struct_pb2
from PIL import Image

PARENT = "projects/local-gcp/locations/us-central1"
HOST = "us-central1-aiplatform.googleapis.com"
CLIENT = {"client_options": {"api_endpoint": HOST}}
PREDICTIONS = api.PredictionServiceClient(**CLIENT)


def deploy(name):
    """The endpoint of a model, with one replica."""
    model = {
        "display_name": name,
        "artifact_uri": f"gs://{sys.argv[1]}/{name}",
        "container_spec": {
            "image_uri": "europe-docker.pkg.dev/project/trellis/trainer:1",
            "command": ["python", "-m", "trainer.serve"],
        },
    }
    models, endpoints = api.ModelServiceClient(**CLIENT), api.EndpointServiceClient(**CLIENT)
    version = models.upload_model(parent=PARENT, model=model).result()
    made = endpoints.create_endpoint(parent=PARENT, endpoint={"display_name": name}).result()
    resources = {"machine_spec": {"machine_type": "n1-standard-2"}, "min_replica_count": 1}
    operation = endpoints.deploy_model(
        endpoint=made.name,
        # Without an account of its own, it may read the model's files alone.
        deployed_model={
            "model": version.model,
            "dedicated_resources": resources,
            "service_account": "server@local-gcp.iam.gserviceaccount.com",
        },
        traffic_split={"0": 100},
    )
    operation.result(timeout=300)
    return made.name


def grpc(endpoint, *instances):
    values = [json_format.ParseDict(instance, struct_pb2.Value()) for instance in instances]
    try:
        answer = PREDICTIONS.predict(endpoint=endpoint, instances=values)
    except GoogleAPICallError as error:
        return [type(error).__name__, error.message]
    return ["OK", len(answer.predictions)]


def rest(endpoint, body):
    body = body if isinstance(body, bytes) else json.dumps(body)
    headers = {"Content-Type": "application/json"}
    answer = requests.post(f"https://{HOST}/v1/{endpoint}:predict", body, headers=headers)
    return [answer.status_code, answer.text]


def file(form, size):
    written = io.BytesIO()
    Image.new("L", size, 255).save(written, form)
    return written.getvalue()


def sent(content):
    return {"image": {"b64": base64.b64encode(content).decode()}}


def main():
    rows, images = deploy("rows"), deploy("images")
    bucket = storage.Client().bucket(sys.argv[1])
    row = json.loads(bucket.blob("row.json").download_as_bytes())
    number = next(name for name, value in row.items() if isinstance(value, float))
    bucket.blob("text.jpg").upload_from_string(b"a text file named .jpg\n")
    white, text = sent(file("PNG", (8, 8))), {"image": f"gs://{sys.argv[1]}/text.jpg"}

    good, over = [], threading.Event()

    def go_on(endpoint, instance):
        while not over.is_set():
            good.append(grpc(endpoint, instance))

    beside = [threading.Thread(target=go_on, args=args) for args in ((rows, row), (images, white))]
    for thread in beside:
        thread.start()
    nan = json.dumps({"instances": [row, {**row, number: float("nan")}]}).encode()
    told = {
        "not JSON": rest(rows, b"label=7"),
        "nested lists": rest(rows, b'{"instances": ' + b"[" * 500_000 + b"]" * 500_000 + b"}"),
        "wrong type": grpc(rows, row, {**row, number: "large"}),
        "missing": grpc(rows, {name: value for name, value in row.items() if name != number}),
        "extra": grpc(rows, row, {**row, "another": 1}),
        "2,000 instances": grpc(rows, *[row] * 2000),
        "NaN": rest(rows, nan),
        "NaN by gRPC": grpc(rows, row, {**row, number: "NaN"}),
        "empty": grpc(rows),
        "parameters": rest(rows, {"instances": [row], "parameters": {"k": 1}}),
        "50 megapixels": grpc(images, white, sent(file("PNG", (10_000, 5_000)))),
        "text named .jpg": grpc(images, white, text),
        "text as base64": grpc(images, sent(b"text")),
        "2 MB": rest(images, sent(bytes(2_000_000))),
    }
    over.set()
    for thread in beside:
        thread.join()
    print(json.dumps({"number": number, "told": told, "good": good}), flush=True)
    os._exit(0)  # threads of the SDK would sleep on for a while


if __name__ == "__main__":
    main()
