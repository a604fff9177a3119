"""Checks the network of jobs that platform.yaml names.

Dataflow's workers need a subnetwork; Vertex AI's machines are peered with the network.
"""

import re
from collections.abc import Iterator
from typing import Any

from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target

_URL = "https://compute.googleapis.com/compute/v1/{name}"
_FULL = "https://www.googleapis.com/compute/v1/"
_PEERING = "servicenetworking-googleapis-com"


def diagnose(target: Target) -> Iterator[Finding | Passed]:
    """Problems of network and subnetwork."""
    group = target.platform
    name = group.network or f"projects/{group.project}/global/networks/default"
    network = target.api.find(_URL.format(name=name))
    # The network of a shared VPC is taken from its subnetwork.
    if network is None and (group.network or not group.subnetwork):
        yield _no_network(target, name)
        return
    if group.network and network and not _peered(network):
        yield Finding(
            f"The network {network['name']} is not peered with Google's services.",
            "Vertex AI's jobs use it by that peering (platform.yaml: network).",
            f"gcloud services vpc-peerings connect --service=servicenetworking.googleapis.com "
            f"--network={network['name']} --ranges=RANGE --project={name.split('/')[1]}",
        )
    if group.subnetwork:
        yield from _subnetwork(target, group.subnetwork)
    elif network and not network.get("autoCreateSubnetworks"):
        yield Finding(
            f"The network {network['name']} has no automatic subnetworks, and platform.yaml "
            "names none.",
            "Dataflow's workers then need a subnetwork.",
            f"Write `subnetwork: regions/{group.region}/subnetworks/NAME`; gcloud compute networks "
            f"subnets list --network={network['name']}",
        )
    else:
        yield Passed(name.rsplit("/", 1)[-1])


def _no_network(target: Target, name: str) -> Finding:
    group = target.platform
    if group.network:
        return Finding(
            f"There is no network {name}.",
            "Vertex AI's jobs run in it (platform.yaml: network).",
            f"gcloud compute networks list --project={group.project}",
        )
    return Finding(
        "The project has no network `default`, and platform.yaml names no other.",
        "Dataflow's workers need a network.",
        f"gcloud compute networks create default --project={group.project} --subnet-mode=auto",
    )


def _peered(network: dict[str, Any]) -> bool:
    peerings = {peer["name"]: peer.get("state") for peer in network.get("peerings", ())}
    return peerings.get(_PEERING) == "ACTIVE"


def _subnetwork(target: Target, named: str) -> Iterator[Finding | Passed]:
    group = target.platform
    path = named.removeprefix(_FULL)
    full = path if path.startswith("projects/") else f"projects/{group.project}/{path}"
    project, region, name = re.findall(r"(?:projects|regions|subnetworks)/([^/]+)", full)
    found = target.api.find(_URL.format(name=full))
    if found is None:
        yield Finding(
            f"There is no subnetwork {full}.",
            "Dataflow's workers run in it (platform.yaml: subnetwork).",
            f"gcloud compute networks subnets list --project={project} --regions={region}",
        )
        return
    if group.network and found["network"].rsplit("/", 1)[-1] != group.network.rsplit("/", 1)[-1]:
        yield Finding(
            f"The subnetwork {name} is part of {found['network'].rsplit('/', 1)[-1]}, not of "
            f"{group.network.rsplit('/', 1)[-1]}.",
            "Jobs of Dataflow and of Vertex AI would run in different networks.",
            f"gcloud compute networks subnets list --project={project} --regions={region}",
        )
    if group.private_addresses and not found.get("privateIpGoogleAccess"):
        yield Finding(
            f"The subnetwork {name} has no Private Google Access.",
            "Workers without public addresses (private_addresses) could not reach Google's APIs.",
            f"gcloud compute networks subnets update {name} --project={project} --region={region} "
            "--enable-private-ip-google-access",
        )
    else:
        yield Passed(name)
