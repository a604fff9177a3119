"""Deploys a model, and predicts in a batch, without and with a service account; prints the answers.

rights.py SERVER
"""

import json
import sys
import time

from google.cloud import aiplatform_v1 as api
from google.cloud import storage

PARENT = "projects/local-gcp/locations/us-central1"
HOST = {"api_endpoint": "us-central1-aiplatform.googleapis.com"}
ASKED = ("artifacts", {"object": "data/1"}, "query", "models")
MACHINE = {"machine_spec": {"machine_type": "n1-standard-4"}}
endpoints = api.EndpointServiceClient(client_options=HOST)
jobs = api.JobServiceClient(client_options=HOST)
models = api.ModelServiceClient(client_options=HOST)
predictions = api.PredictionServiceClient(client_options=HOST)


def main(server):
    bucket = storage.Client().create_bucket("bucket")
    lines = "\n".join(json.dumps(asked) for asked in ASKED)
    for name, text in (("model/w", "1"), ("data/1", "ours"), ("in.jsonl", lines)):
        bucket.blob(name).upload_from_string(text)
    model = {
        "display_name": "reads",
        "artifact_uri": "gs://bucket/model",
        "container_spec": {"image_uri": "example.com/python:3", "command": ["python", server]},
    }
    model = models.upload_model(parent=PARENT, model=model).result().model
    answers = {}
    for account in ("", "jobs@local-gcp.iam.gserviceaccount.com"):
        answers[f"endpoint {account}"] = online(model, account)
        answers[f"batch {account}"] = in_a_batch(bucket, model, account)
    print(json.dumps(answers))


def online(model, account):
    endpoint = endpoints.create_endpoint(parent=PARENT, endpoint={"display_name": "e"}).result()
    sent = {
        "model": model,
        "service_account": account,
        "dedicated_resources": {**MACHINE, "min_replica_count": 1},
    }
    request = {"endpoint": endpoint.name, "deployed_model": sent, "traffic_split": {"0": 100}}
    endpoints.deploy_model(request).result()
    instances = [to_value(asked) for asked in ASKED]
    answer = predictions.predict(endpoint=endpoint.name, instances=instances)
    return json.loads(api.PredictResponse.to_json(answer))["predictions"]


def to_value(plain):
    from google.protobuf import json_format, struct_pb2

    return json_format.ParseDict(plain, struct_pb2.Value())


def in_a_batch(bucket, model, account):
    folder = f"gs://bucket/out{bool(account)}"
    sent = {
        "display_name": "reads",
        "model": model,
        "service_account": account,
        "input_config": {
            "instances_format": "jsonl",
            "gcs_source": {"uris": ["gs://bucket/in.jsonl"]},
        },
        "output_config": {
            "predictions_format": "jsonl",
            "gcs_destination": {"output_uri_prefix": folder},
        },
        "dedicated_resources": {**MACHINE, "starting_replica_count": 1},
    }
    job = jobs.create_batch_prediction_job(parent=PARENT, batch_prediction_job=sent)
    while not job.end_time:
        time.sleep(0.2)
        job = jobs.get_batch_prediction_job(name=job.name)
    written = bucket.list_blobs(prefix=folder.removeprefix("gs://bucket/"))
    text = "".join(blob.download_as_text() for blob in written if "results" in blob.name)
    return [json.loads(line)["prediction"] for line in text.splitlines()]


if __name__ == "__main__":
    main(*sys.argv[1:])
