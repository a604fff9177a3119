"""Parts that the messages of models, endpoints and deployed models share, in protobuf's JSON form.

Their encryption is that of all jobs: `jobs.encryption`.
"""

from typing import Any

from research.experiment import Experiment
from research.platform import Platform, PlatformError

LABEL = "trellis-experiment"
"""On an experiment's endpoint and its model versions: they are found by it."""


def label(experiment: Experiment) -> dict[str, str]:
    """Which experiment's endpoint or model it is. Every experiment's name is a label value."""
    return {LABEL: experiment.name}


def identity(platform: Platform) -> dict[str, str]:
    """The field of a DeployedModel that says as whom it runs; none: Vertex AI's own account."""
    return {"service_account": platform.service_account} if platform.service_account else {}


def network(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    """The field of an Endpoint that keeps it inside the group's network; none for a public one.

    Private Service Connect, because Vertex AI splits the traffic of an endpoint in a peered network
    (Endpoint.network, private services access) between no two models, so that there is no canary.
    https://docs.cloud.google.com/vertex-ai/docs/predictions/using-private-endpoints
    Raises PlatformError if the group names no network.
    """
    if experiment.deploy is None or not experiment.deploy.private:
        return {}
    if not platform.network:
        raise PlatformError(
            "deploy.private keeps the endpoint inside the group's network, and platform.yaml names "
            "none (network: projects/NUMBER/global/networks/NAME)."
        )
    connection = {"project_id": platform.project, "network": platform.network}
    return {
        "private_service_connect_config": {
            "enable_private_service_connect": True,
            "project_allowlist": [platform.project],
            "psc_automation_configs": [connection],
        }
    }


def resources(experiment: Experiment) -> dict[str, Any]:
    """The field of a DeployedModel that says on which machines, and on how many, it runs."""
    assert experiment.deploy is not None
    machines = experiment.deploy.machines
    fewest, most = machines.replicas
    spec: dict[str, Any] = {"machine_type": machines.type}
    if machines.gpu:
        spec |= {"accelerator_type": machines.gpu, "accelerator_count": machines.gpus}
    return {
        "dedicated_resources": {
            "machine_spec": spec,
            "min_replica_count": fewest,
            "max_replica_count": most,
        }
    }
