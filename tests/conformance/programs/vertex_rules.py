"""Tries values of the fields of Vertex AI's requests.

    python vertex_rules.py CASES

CASES: JSON, [[request, path, value], ...]; a path is as in custom_job.display_name. Prints the
errors, null for a request that is accepted: {"code", "message", "violations": {field: message}}.
What is created by accepted requests is left alone, but jobs: their image is unknown, so that none
starts.
"""

import json
import re
import sys
from typing import Any

from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import aiplatform_v1 as api

REGION = "us-central1"
PARENT = f"projects/local-gcp/locations/{REGION}"
WHERE = ClientOptions(api_endpoint=f"{REGION}-aiplatform.googleapis.com")
MACHINE = {"machine_type": "n1-standard-4"}
POOL = {"machine_spec": MACHINE, "replica_count": 1}
CONTAINER = {"image_uri": "example.com/no-such-image:1", "env": [{"name": "A", "value": "x"}]}
PACKAGE = {
    "executor_image_uri": "example.com/no-such-image:1",
    "package_uris": ["gs://b/x"],
    "python_module": "m",
}
SPEC = {"worker_pool_specs": [{**POOL, "container_spec": CONTAINER}]}
STUDY = {
    "metrics": [{"metric_id": "m", "goal": "MAXIMIZE"}],
    "parameters": [{"parameter_id": "p", "discrete_value_spec": {"values": [1.0, 2.0]}}],
}
PACKAGE_SPEC = {"worker_pool_specs": [{**POOL, "python_package_spec": PACKAGE}]}
# By the kind of request: service, method, and a request with all that is required.
REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "custom_job": (
        "Job",
        "create_custom_job",
        {"parent": PARENT, "custom_job": {"display_name": "n", "job_spec": SPEC}},
    ),
    "package": (
        "Job",
        "create_custom_job",
        {"parent": PARENT, "custom_job": {"display_name": "n", "job_spec": PACKAGE_SPEC}},
    ),
    "hyperparameter_tuning_job": (
        "Job",
        "create_hyperparameter_tuning_job",
        {
            "parent": PARENT,
            "hyperparameter_tuning_job": {
                "display_name": "n",
                "study_spec": STUDY,
                "max_trial_count": 1,
                "parallel_trial_count": 1,
                "trial_job_spec": SPEC,
            },
        },
    ),
    "model": (
        "Model",
        "upload_model",
        {"parent": PARENT, "model": {"display_name": "n", "container_spec": CONTAINER}},
    ),
    "endpoint": (
        "Endpoint",
        "create_endpoint",
        {"parent": PARENT, "endpoint": {"display_name": "n"}},
    ),
    "dataset": (
        "Dataset",
        "create_dataset",
        {
            "parent": PARENT,
            "dataset": {
                "display_name": "n",
                "metadata_schema_uri": "gs://google-cloud-aiplatform/schema/dataset/metadata/"
                "tabular_1.0.0.yaml",
                "metadata": {"inputConfig": {"gcsSource": {"uri": ["gs://b/x.csv"]}}},
            },
        },
    ),
    "deployed_model": (
        "Endpoint",
        "deploy_model",
        {
            "deployed_model": {
                "model": f"{PARENT}/models/404",
                "dedicated_resources": {"machine_spec": MACHINE, "min_replica_count": 1},
            },
            "traffic_split": {"0": 100},
        },
    ),
}
CLIENTS = {
    name: getattr(api, f"{name}ServiceClient")(client_options=WHERE)
    for name in ("Job", "Model", "Endpoint", "Dataset")
}


def changed(request: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of the request with `value` at the path."""
    copy = json.loads(json.dumps(request))
    *parts, last = (
        int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", path)
    )
    at = copy
    for part in parts:
        at = at.setdefault(part, {}) if isinstance(at, dict) else at[part]
    if isinstance(at, list):
        at[last : last + 1] = [value]
    elif isinstance(last, int):
        raise KeyError(path)
    else:
        at[last] = value
    return copy


def tried(kind: str, path: str, value: Any) -> dict[str, Any] | None:
    """The error of the request with this value, or None."""
    service, method, request = REQUESTS[kind]
    if path.endswith("]"):  # an item of a list that the request does not have
        path, value = path.rpartition("[")[0], [value]
    try:
        getattr(CLIENTS[service], method)(request=changed(request, path, value))
    except GoogleAPICallError as error:
        return {
            "code": error.grpc_status_code.name,
            "message": error.message,
            "violations": {
                violation.field: violation.description
                for detail in error.details
                for violation in getattr(detail, "field_violations", ())
            },
        }
    return None


endpoint = CLIENTS["Endpoint"].create_endpoint(parent=PARENT, endpoint={"display_name": "rules"})
REQUESTS["deployed_model"][2]["endpoint"] = endpoint.result(timeout=60).name
print(json.dumps([tried(*case) for case in json.loads(sys.argv[1])]))
