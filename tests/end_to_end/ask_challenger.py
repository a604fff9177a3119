"""Registers and deploys what a challenger.json describes, and asks it for its examples.

    python ask_challenger.py CHALLENGER_JSON

A client program; prints one JSON object:

    difference   the largest between an answer's number and the offline prediction's
    labels       whether all labels are the same
    explained    for each of three examples and each way to ask for an explanation (predict,
                 rawPredict): the explanation, the sum of its attributions, and the prediction's
                 number for the class that it explains
    refused      what is said of an option that there is none of
"""

import base64
import io
import json
import sys
from pathlib import Path

import numpy as np
from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import InvalidArgument
from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format, struct_pb2
from PIL import Image

REGION = "europe-west4"
PARENT = f"projects/local-gcp/locations/{REGION}"
# Without it, a served model may read nothing but its own files.
ACCOUNT = "jobs@local-gcp.iam.gserviceaccount.com"
WHERE = ClientOptions(api_endpoint=f"{REGION}-aiplatform.googleapis.com")


def value(plain):
    return json_format.ParseDict(plain, struct_pb2.Value())


def deploy(challenger):
    """Names of an endpoint that serves it, and of its model."""
    described = {
        "displayName": challenger["contender"],
        "artifactUri": challenger["model"].rstrip("/"),
        "containerSpec": {
            "imageUri": "example.com/p/trellis/serve:1",
            "command": ["python", "-m", "trainer.serve"],
            "healthRoute": "/health",
            "predictRoute": "/predict",
        },
    }
    model = api.Model()
    json_format.ParseDict(described, api.Model.pb(model))
    models = api.ModelServiceClient(client_options=WHERE)
    endpoints = api.EndpointServiceClient(client_options=WHERE)
    uploaded = models.upload_model(parent=PARENT, model=model).result(timeout=60)
    endpoint = endpoints.create_endpoint(parent=PARENT, endpoint={"display_name": "e"}).result()
    deployed = {
        "model": uploaded.model,
        "service_account": ACCOUNT,
        "dedicated_resources": {
            "machine_spec": {"machine_type": "n1-standard-2"},
            "min_replica_count": 1,
            "max_replica_count": 1,
        },
    }
    request = {"endpoint": endpoint.name, "deployed_model": deployed, "traffic_split": {"0": 100}}
    endpoints.deploy_model(request=request).result(timeout=240)
    return endpoint.name, uploaded.model


def numbers(prediction):
    return prediction.get("probabilities", prediction)


def predict(client, endpoint, *instances):
    answer = client.predict(endpoint=endpoint, instances=[value(i) for i in instances])
    return [json_format.MessageToDict(p) for p in type(answer).pb(answer).predictions]


def explain(client, endpoint, instance, parameters):
    answer = client.predict(
        endpoint=endpoint, instances=[value(instance)], parameters=value(parameters)
    )
    return [json_format.MessageToDict(p) for p in type(answer).pb(answer).predictions]


def explain_raw(client, endpoint, instance, parameters):
    body = json.dumps({"instances": [instance], "parameters": parameters}).encode()
    sent = {"content_type": "application/json", "data": body}
    answer = client.raw_predict(request={"endpoint": endpoint, "http_body": sent})
    return json.loads(answer.data)["predictions"]


def explanation(prediction):
    """It, with the prediction's label and number, and the sum of its attributions, each."""
    found = prediction["explanation"]
    for one in found.get("pixels", {}).values():
        png = base64.b64decode(one["attributions"]["b64"])
        pixels = np.array(Image.open(io.BytesIO(png)), float)
        one["sum"] = ((pixels - 32768) / 32767 * one["attributions"]["scale"]).sum()
        one["shape"] = pixels.shape
    total = sum(found["attributions"].values())
    number = numbers(prediction)[found.get("class", "value")]
    return {**found, "sum": total, "number": number, "label": prediction.get("label")}


def main(path):
    """Deploy, ask, print."""
    challenger = json.loads(Path(path).read_text())
    client = api.PredictionServiceClient(client_options=WHERE)
    endpoint, _ = deploy(challenger)
    examples = challenger["examples"]
    # One by one, as callers send them, and all at once: what is in one batch must not matter.
    instances = [example["instance"] for example in examples]
    answers = [predict(client, endpoint, instance)[0] for instance in instances]
    answers += predict(client, endpoint, *instances)
    pairs = [(e["prediction"], a) for e, a in zip(2 * examples, answers, strict=True)]
    difference = max(
        abs(number - numbers(answer)[name])
        for offline, answer in pairs
        for name, number in numbers(offline).items()
    )
    explained = [
        explanation(prediction)
        for instance in instances[:3]
        for ask in (explain, explain_raw)
        for prediction in ask(client, endpoint, instance, {"explain": {}})
    ]
    try:
        refused = explain(client, endpoint, instances[0], {"explain": {"method": "lime"}})
    except InvalidArgument as error:
        refused = error.message
    found = {
        "difference": difference,
        "labels": all(offline.get("label") == answer.get("label") for offline, answer in pairs),
        "explained": explained,
        "refused": refused,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
