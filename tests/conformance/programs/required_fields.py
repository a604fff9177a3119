"""Creates Vertex AI's resources, each without one of the fields that must be there.

    python required_fields.py REQUIRED

REQUIRED: JSON, {message: [field, ...]} in snake_case. Prints {"MESSAGE.FIELD": CODE}.
"""

import json
import sys

from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import aiplatform_v1 as api

REGION = "us-central1"
PARENT = f"projects/local-gcp/locations/{REGION}"
WHERE = ClientOptions(api_endpoint=f"{REGION}-aiplatform.googleapis.com")
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4"},
    "replica_count": 1,
    "container_spec": {"image_uri": "example.com/image:1"},
}
STUDY = {
    "metrics": [{"metric_id": "m", "goal": "MAXIMIZE"}],
    "parameters": [{"parameter_id": "p", "double_value_spec": {"min_value": 0, "max_value": 1}}],
}
VALID = {
    "CustomJob": {"display_name": "n", "job_spec": {"worker_pool_specs": [POOL]}},
    "HyperparameterTuningJob": {
        "display_name": "n",
        "study_spec": STUDY,
        "max_trial_count": 1,
        "parallel_trial_count": 1,
        "trial_job_spec": {"worker_pool_specs": [POOL]},
    },
    "BatchPredictionJob": {
        "display_name": "n",
        "model": f"{PARENT}/models/1",
        "input_config": {"instances_format": "jsonl", "gcs_source": {"uris": ["gs://b/x"]}},
        "output_config": {
            "predictions_format": "jsonl",
            "gcs_destination": {"output_uri_prefix": "gs://b/y"},
        },
    },
    "Endpoint": {"display_name": "n"},
    "Model": {
        "display_name": "n",
        "container_spec": {"image_uri": "example.com/image:1"},
        "artifact_uri": "gs://b/m",
    },
}


def made(message, fields):
    """The code that the creation is answered with."""
    service = {"Endpoint": "EndpointService", "Model": "ModelService"}.get(message, "JobService")
    client = getattr(api, f"{service}Client")(client_options=WHERE)
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in message)[1:]
    verb = "upload" if message == "Model" else "create"
    try:
        getattr(client, f"{verb}_{snake}")(request={"parent": PARENT, snake: fields})
    except GoogleAPICallError as error:
        return error.grpc_status_code.name
    return "OK"


required = json.loads(sys.argv[1])
print(
    json.dumps(
        {
            f"{message}.{field}": made(message, {k: v for k, v in valid.items() if k != field})
            for message, valid in VALID.items()
            for field in required[message]
        }
    )
)
