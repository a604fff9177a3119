"""The network that jobs run in, as platform.yaml names it.

Dataflow's workers take a subnetwork; Vertex AI's machines are peered with the network.
"""

import re
from collections.abc import Iterator
from typing import Any

from trellis.doctor.findings import Finding, Seen
from trellis.doctor.patient import Patient

_URL = "https://compute.googleapis.com/compute/v1/{name}"
_FULL = "https://www.googleapis.com/compute/v1/"
_PEERING = "servicenetworking-googleapis-com"


def look(patient: Patient) -> Iterator[Finding | Seen]:
    """What is wrong with network and subnetwork."""
    group = patient.platform
    name = group.network or f"projects/{group.project}/global/networks/default"
    network = patient.api.find(_URL.format(name=name))
    # A subnetwork of another project's network says itself which network it is in.
    if network is None and (group.network or not group.subnetwork):
        yield _no_network(patient, name)
        return
    if group.network and network and not _peered(network):
        yield Finding(
            f"The network {network['name']} is not peered with Google's services.",
            "Vertex AI's jobs run in it by that peering (platform.yaml: network).",
            f"gcloud services vpc-peerings connect --service=servicenetworking.googleapis.com "
            f"--network={network['name']} --ranges=RANGE --project={name.split('/')[1]}",
        )
    if group.subnetwork:
        yield from _subnetwork(patient, group.subnetwork)
    elif network and not network.get("autoCreateSubnetworks"):
        yield Finding(
            f"The network {network['name']} makes no subnetworks of its own, and platform.yaml "
            "names none.",
            "Dataflow's workers find their network by a subnetwork.",
            f"Write `subnetwork: regions/{group.region}/subnetworks/NAME`; gcloud compute networks "
            f"subnets list --network={network['name']}",
        )
    else:
        yield Seen(name.rsplit("/", 1)[-1])


def _no_network(patient: Patient, name: str) -> Finding:
    group = patient.platform
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


def _subnetwork(patient: Patient, named: str) -> Iterator[Finding | Seen]:
    group = patient.platform
    path = named.removeprefix(_FULL)
    full = path if path.startswith("projects/") else f"projects/{group.project}/{path}"
    project, region, name = re.findall(r"(?:projects|regions|subnetworks)/([^/]+)", full)
    found = patient.api.find(_URL.format(name=full))
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
            "Workers without public addresses (private_addresses) would reach no API of Google's.",
            f"gcloud compute networks subnets update {name} --project={project} --region={region} "
            "--enable-private-ip-google-access",
        )
    else:
        yield Seen(name)
