"""Serves the model of train_on_files.py and asks it for the original files of the test split.

    python ask_for_files.py BUCKETS gs://BUCKET/FOLDER

A client program; BUCKETS is the folder that holds them. Prints one JSON object: for each way of
asking, "bytes" and "addresses" of an endpoint and "batch" of a batch prediction job, the
probabilities by class by file's address.
"""

import base64
import json
import sys
import time
from pathlib import Path

from google.cloud import aiplatform_v1 as api

from tests.end_to_end import ask_challenger as asking

AT_ONCE = 20
# A shared public endpoint takes requests of 1.5 MB.
LARGEST = 1_200_000


def chunks(instances):
    """The instances' keys in lists of a request's size."""
    chunk, size = [], 0
    for name, instance in instances.items():
        more = len(json.dumps(instance))
        if chunk and (len(chunk) == AT_ONCE or size + more > LARGEST):
            yield chunk
            chunk, size = [], 0
        chunk.append(name)
        size += more
    yield chunk


def ask(client, endpoint, instances):
    """Probabilities by the keys of the instances."""
    answers = {}
    for names in chunks(instances):
        found = asking.predict(client, endpoint, *(instances[name] for name in names))
        for name, prediction in zip(names, found, strict=True):
            answers[name] = prediction["probabilities"]
    return answers


def batch(model, files, uri, buckets):
    """Predict by a batch prediction job that gets addresses."""
    lines = "".join(json.dumps({"image": address}) + "\n" for address in files)
    (buckets / uri.removeprefix("gs://") / "instances.jsonl").write_text(lines)
    jobs = api.JobServiceClient(client_options=asking.WHERE)
    job = {
        "display_name": "files",
        "model": model,
        "service_account": asking.ACCOUNT,
        "input_config": {
            "instances_format": "jsonl",
            "gcs_source": {"uris": [f"{uri}/instances.jsonl"]},
        },
        "instance_config": {"instance_type": "object"},
        "manual_batch_tuning_parameters": {"batch_size": 8},
        "output_config": {
            "predictions_format": "jsonl",
            "gcs_destination": {"output_uri_prefix": f"{uri}/batch"},
        },
        "dedicated_resources": {
            "machine_spec": {"machine_type": "n1-standard-2"},
            "starting_replica_count": 1,
            "max_replica_count": 1,
        },
    }
    job = jobs.create_batch_prediction_job(parent=asking.PARENT, batch_prediction_job=job)
    while not job.end_time:
        time.sleep(0.2)
        job = jobs.get_batch_prediction_job(name=job.name)
    assert job.state == api.JobState.JOB_STATE_SUCCEEDED, job.error
    folder = buckets / job.output_info.gcs_output_directory.removeprefix("gs://")
    answers = {}
    for path in folder.glob("prediction.results-*"):
        for line in map(json.loads, path.read_text().splitlines()):
            answers[line["instance"]["image"]] = line["prediction"]["probabilities"]
    return answers


def main(buckets, uri):
    """Deploy, ask, print."""
    buckets = Path(buckets)
    files = json.loads((buckets / uri.removeprefix("gs://") / "offline.json").read_text())
    described = {"contender": "files", "model": f"{uri}/training/model/"}
    client = api.PredictionServiceClient(client_options=asking.WHERE)
    endpoint, model = asking.deploy(described)
    data = {
        address: base64.b64encode((buckets / address.removeprefix("gs://")).read_bytes()).decode()
        for address in files
    }
    as_bytes = {address: {"image": {"b64": b64}} for address, b64 in data.items()}
    as_addresses = {address: {"image": address} for address in files}
    found = {
        "bytes": ask(client, endpoint, as_bytes),
        "addresses": ask(client, endpoint, as_addresses),
        "batch": batch(model, files, uri, buckets),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
