"""Prints the models that the experiments' endpoints serve, read with Google's client.

    python -m demo.endpoint_state PROJECT REGION EXPERIMENT...

A program of its own, because Google's client reads its environment when it is imported. Prints, as
JSON, for each experiment that has an endpoint:

    {"digits": {"endpoint": "projects/P/locations/R/endpoints/digits",
                "models": [{"version": "3", "aliases": ["champion"], "traffic": 100, "replicas": 1,
                            "artifact_uri": "gs://..."}]}}
"""

import json
import sys

from google.api_core import exceptions, retry
from google.cloud import aiplatform_v1 as vertex

LABEL = "trellis-experiment"
PATIENT = retry.Retry(
    predicate=retry.if_exception_type(exceptions.ServiceUnavailable, exceptions.ResourceExhausted),
    timeout=60,
)


def main(project: str, region: str, *experiments: str) -> None:
    options = {"api_endpoint": f"{region}-aiplatform.googleapis.com"}
    endpoints = vertex.EndpointServiceClient(client_options=options)
    models = vertex.ModelServiceClient(client_options=options)
    found = {}
    for name in experiments:
        request = {
            "parent": f"projects/{project}/locations/{region}",
            "filter": f"labels.{LABEL}={name}",
        }
        for listed in endpoints.list_endpoints(request, retry=PATIENT):
            # A list may lag behind what was changed just now.
            endpoint = endpoints.get_endpoint(name=listed.name, retry=PATIENT)
            deployed = [_model(endpoint, one, models) for one in endpoint.deployed_models]
            deployed.sort(key=lambda model: -model["traffic"])
            found[name] = {"endpoint": endpoint.name, "models": deployed}
    print(json.dumps(found))


def _model(
    endpoint: vertex.Endpoint, deployed: vertex.DeployedModel, models: vertex.ModelServiceClient
) -> dict:
    version = models.get_model(name=f"{deployed.model}@{deployed.model_version_id}", retry=PATIENT)
    return {
        "version": deployed.model_version_id,
        # A version without an alias shows only its number; "default" is Vertex AI's own alias.
        "aliases": [alias for alias in version.version_aliases if alias != "default"],
        "traffic": endpoint.traffic_split.get(deployed.id, 0),
        "replicas": deployed.status.available_replica_count,
        "artifact_uri": version.artifact_uri,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
