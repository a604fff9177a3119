"""Checks the requests of EndpointService, and refuses fields that are not emulated.

The rules are those of the field comments of Endpoint, DeployedModel and DedicatedResources.
"""

from __future__ import annotations

import re

import grpc
from google.cloud import aiplatform_v1 as api

from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.vertex import validation
from local_gcp.wire import RpcError, not_emulated

_ENDPOINT_ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?|[1-9][0-9]{0,8}")
_DEPLOYED_ID = re.compile(r"[0-9]{1,10}")
_ENDPOINT = {
    "network": "Reach it at the shared address: leave it out.",
    "enable_private_service_connect": "Leave it out.",
    "private_service_connect_config": "Leave it out.",
    "dedicated_endpoint_enabled": "Use the shared address of the region.",
    "private_model_server_enabled": "Leave it out.",
    "client_connection_config": "Predictions may take 60 s.",
    "gen_ai_advanced_features_config": "",
}
_DEPLOYED = {
    "shared_resources": "Give dedicated_resources.",
    "faster_deployment_config": "",
    "speculative_decoding_spec": "",
    "checkpoint_id": "",
}
REPLICAS_PER_CORE = 8


def check_endpoint(endpoint: api.Endpoint, endpoint_id: str, region: str) -> None:
    """Check a new endpoint."""
    validation.check_resource(endpoint, "endpoint", region)
    for name, instead in _ENDPOINT.items():
        if getattr(endpoint, name):
            raise not_emulated(f"endpoint.{name}", instead)
    if endpoint_id and not _ENDPOINT_ID.fullmatch(endpoint_id):
        raise invalid_field("endpoint_id", f"{endpoint_id!r} is not {_ENDPOINT_ID.pattern}.")


def check_deployed(deployed: api.DeployedModel, cores: int) -> None:
    """Check a model to deploy, on a machine with `cores`."""
    for name, instead in _DEPLOYED.items():
        if getattr(deployed, name):
            raise not_emulated(f"deployed_model.{name}", instead)
    if deployed.display_name:
        validation.check_display_name(deployed.display_name, "deployed_model.display_name")
    if deployed.id and not _DEPLOYED_ID.fullmatch(deployed.id):
        raise invalid_field("deployed_model.id", f"{deployed.id!r} is not 1 to 10 digits.")
    if "automatic_resources" not in deployed:
        field = "deployed_model.dedicated_resources"
        if "dedicated_resources" not in deployed:
            raise invalid_field(field, REQUIRED)
        machine = deployed.dedicated_resources.machine_spec
        validation.check_machine(machine, f"{field}.machine_spec", serving=True)
    check_replicas(deployed, cores)


def check_replicas(deployed: api.DeployedModel, cores: int) -> None:
    """Check its numbers of replicas."""
    least, most, required = replicas(deployed)
    dedicated = "dedicated_resources" in deployed
    kind = "dedicated_resources" if dedicated else "automatic_resources"
    field = f"deployed_model.{kind}"
    if least < 1:
        raise invalid_field(f"{field}.min_replica_count", f"{least} is less than 1.")
    if most < least:
        raise invalid_field(
            f"{field}.max_replica_count", f"{most} is less than min_replica_count ({least})."
        )
    if not 1 <= required <= least:
        raise invalid_field(
            f"{field}.required_replica_count", f"{required} is not from 1 to {least}."
        )
    if most > REPLICAS_PER_CORE * cores:
        raise RpcError(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            f"{field}.max_replica_count is {most}, and local_gcp starts at most "
            f"{REPLICAS_PER_CORE * cores} replicas ({REPLICAS_PER_CORE} for each of {cores} core "
            "slots).",
        )


def replicas(deployed: api.DeployedModel) -> tuple[int, int, int]:
    """(at least, at most, required for the deployment to succeed)."""
    if "automatic_resources" in deployed:
        automatic = deployed.automatic_resources
        least = automatic.min_replica_count or 1
        return least, automatic.max_replica_count or least, least
    dedicated = deployed.dedicated_resources
    least = dedicated.min_replica_count
    most = dedicated.max_replica_count or least
    return least, most, dedicated.required_replica_count or least
