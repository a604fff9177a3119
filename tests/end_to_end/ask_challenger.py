"""Registers and deploys what a challenger.json describes, and asks it for its examples.

    python ask_challenger.py CHALLENGER_JSON

A client program; prints one JSON object:

    difference   the largest between an answer's number and the offline prediction's
    labels       whether all labels are the same
    explained    for each of three explained examples: attributions by feature, their sum, the
                 prediction, and that of the baselines (what the endpoint itself says of them)
"""

import json
import sys
from pathlib import Path

from google.api_core.client_options import ClientOptions
from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format, struct_pb2

REGION = "europe-west4"
PARENT = f"projects/local-gcp/locations/{REGION}"
WHERE = ClientOptions(api_endpoint=f"{REGION}-aiplatform.googleapis.com")


def value(plain):
    return json_format.ParseDict(plain, struct_pb2.Value())


def deploy(challenger):
    """Name of an endpoint that serves it."""
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
    if challenger["explanation_spec"]:
        described["explanationSpec"] = challenger["explanation_spec"]
    model = api.Model()
    json_format.ParseDict(described, api.Model.pb(model))
    models = api.ModelServiceClient(client_options=WHERE)
    endpoints = api.EndpointServiceClient(client_options=WHERE)
    uploaded = models.upload_model(parent=PARENT, model=model).result(timeout=60)
    endpoint = endpoints.create_endpoint(parent=PARENT, endpoint={"display_name": "e"}).result()
    deployed = {
        "model": uploaded.model,
        "dedicated_resources": {
            "machine_spec": {"machine_type": "n1-standard-2"},
            "min_replica_count": 1,
            "max_replica_count": 1,
        },
    }
    request = {"endpoint": endpoint.name, "deployed_model": deployed, "traffic_split": {"0": 100}}
    endpoints.deploy_model(request=request).result(timeout=240)
    return endpoint.name


def numbers(prediction):
    return prediction.get("probabilities", prediction)


def predict(client, endpoint, *instances):
    answer = client.predict(endpoint=endpoint, instances=[value(i) for i in instances])
    return [json_format.MessageToDict(p) for p in type(answer).pb(answer).predictions]


def explain(client, endpoint, challenger, instance):
    answer = client.explain(endpoint=endpoint, instances=[value(instance)])
    (attribution,) = answer.explanations[0].attributions
    inputs = challenger["explanation_spec"]["metadata"]["inputs"]
    ordinary = {name: metadata["inputBaselines"][0] for name, metadata in inputs.items()}
    (baseline,) = predict(client, endpoint, {**instance, **ordinary})
    (prediction,) = predict(client, endpoint, instance)
    name = attribution.output_display_name or "value"
    attributed = dict(attribution.feature_attributions)
    return {
        "attributions": attributed,
        "sum": sum(attributed.values()),
        "prediction": numbers(prediction)[name],
        "baseline": numbers(baseline)[name],
        "likeliest": name == prediction.get("label", name),
    }


def main(path):
    """Deploy, ask, print."""
    challenger = json.loads(Path(path).read_text())
    client = api.PredictionServiceClient(client_options=WHERE)
    endpoint = deploy(challenger)
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
    explained = instances[:3] if challenger["explanation_spec"] else []
    found = {
        "difference": difference,
        "labels": all(offline.get("label") == answer.get("label") for offline, answer in pairs),
        "explained": [explain(client, endpoint, challenger, i) for i in explained],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
