"""Checks the organization's effective policies against platform.yaml.

Of the constraints that stop runs: external addresses, customer-managed keys, places, and services.
https://docs.cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target

_URL = (
    "https://orgpolicy.googleapis.com/v2/projects/{project}/policies/{constraint}"
    ":getEffectivePolicy"
)
ADDRESSES = "compute.vmExternalIpAccess"
KEYS = "gcp.restrictNonCmekServices"
KEY_PROJECTS = "gcp.restrictCmekCryptoKeyProjects"
PLACES = "gcp.resourceLocations"
SERVICES = "gcp.restrictServiceUsage"

_WITH_KEYS = ("aiplatform", "artifactregistry", "bigquery", "composer", "dataflow", "storage")
"""Services of a run, which a policy may forbid, or allow with a key of the organization's alone."""
_CONTINENTS = {
    "in:asia-locations": ("asia-", "asia"),
    "in:australia-locations": ("australia-",),
    "in:eu-locations": ("europe-", "eu"),
    "in:europe-locations": ("europe-", "eu"),
    "in:northamerica-locations": ("northamerica-", "us-", "us"),
    "in:southamerica-locations": ("southamerica-",),
    "in:us-locations": ("us-", "us"),
}
"""Google's groups of places, by what their names begin with, and the multi-region. Of the European
Union, London and Zurich are none."""
_NOT_IN_THE_UNION = ("europe-west2", "europe-west6")


def diagnose(target: Target) -> Iterator[Finding | Passed]:
    """What a policy refuses of what the group asks for."""
    group, found = target.platform, []
    addresses = _rules(target, ADDRESSES)
    # A list of machines that may have one: no worker of Dataflow is on it.
    listed = any(rule.get("values", {}).get("allowedValues") for rule in addresses)
    if (_denied(addresses) or listed) and not group.private_addresses:
        found.append(
            Finding(
                f"The policy {ADDRESSES} allows no external addresses, and platform.yaml does not "
                "ask for private ones.",
                "Dataflow's workers would get external addresses: an export would not start.",
                "private_addresses: true, with a subnetwork that has Private Google Access",
            )
        )
    restricted = [
        service
        for rule in _rules(target, KEYS)
        for service in rule.get("values", {}).get("deniedValues", ())
        if service.removesuffix(".googleapis.com") in _WITH_KEYS
    ]
    if restricted and group.encryption_key is None:
        found.append(
            Finding(
                f"The policy {KEYS} wants keys of the organization's for {', '.join(restricted)}, "
                "and platform.yaml names none.",
                "These services refuse what a run makes.",
                "encryption_key: projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY",
            )
        )
    if group.encryption_key and (wanted := _other_key_projects(target, group.encryption_key)):
        found.append(
            Finding(
                f"The policy {KEY_PROJECTS} allows keys of {', '.join(wanted)} alone; "
                f"platform.yaml has {group.encryption_key}.",
                "What a run makes with this key is refused.",
                "encryption_key: a key of one of these projects, in the region of platform.yaml",
            )
        )
    services = _rules(target, SERVICES)
    used = [f"{name}.googleapis.com" for name in _WITH_KEYS]
    if refused := [each for each in used if not _allowed(each, services)]:
        found.append(
            Finding(
                f"The policy {SERVICES} does not allow {', '.join(refused)}.",
                "A run calls these services, and their calls are refused.",
                "Ask whoever administers the organization to allow them in this project",
            )
        )
    places = dict.fromkeys((group.region, group.location.lower()))
    rules = _rules(target, PLACES)
    if outside := [place for place in places if not _allowed(place, rules)]:
        found.append(
            Finding(
                f"The policy {PLACES} does not allow {', '.join(outside)}.",
                "Buckets, datasets and jobs cannot be made there.",
                "region and location in platform.yaml, a place that the policy allows",
            )
        )
    yield from found
    if not found:
        yield Passed("addresses, keys, places and services agree")


def _other_key_projects(target: Target, key: str) -> list[str]:
    """The only projects of which keys are allowed; nothing if the key's is one, or may be one.

    `under:folders/NUMBER` may have the key's project.
    """
    values = [rule.get("values", {}) for rule in _rules(target, KEY_PROJECTS)]
    allowed = [v for each in values for v in each.get("allowedValues", ())]
    own = "/".join(key.split("/")[:2])
    known = [value.removeprefix("is:").removeprefix("under:") for value in allowed]
    if own in known or any(not value.startswith("projects/") for value in known):
        return []
    return known


def _rules(target: Target, constraint: str) -> list[dict[str, Any]]:
    url = _URL.format(project=target.platform.project, constraint=constraint)
    policy = target.api.get(url)
    return policy.get("spec", {}).get("rules", [])


def _denied(rules: list[dict[str, Any]]) -> bool:
    return any(rule.get("denyAll") or rule.get("enforce") for rule in rules)


def _allowed(place: str, rules: list[dict[str, Any]]) -> bool:
    """Return whether the rules allow a place; a group of places that is not known may have it."""
    values: list[Mapping[str, Any]] = [rule["values"] for rule in rules if "values" in rule]
    denied = [v for each in values for v in each.get("deniedValues", ())]
    allowed = [v for each in values for v in each.get("allowedValues", ())]
    if _denied(rules) or any(_has(value, place) is True for value in denied):
        return False
    return not allowed or any(_has(value, place) is not False for value in allowed)


def _has(value: str, place: str) -> bool | None:
    """Return whether a value of the constraint has a place; None if its group is not known."""
    value = value.lower()
    if value in (place, f"in:{place}-locations", f"is:{place}"):
        return True
    if value in _CONTINENTS:
        inside = any(
            place.startswith(name) if name.endswith("-") else place == name
            for name in _CONTINENTS[value]
        )
        return inside and not (value == "in:eu-locations" and place in _NOT_IN_THE_UNION)
    # The group of one region is known, and is another's.
    of_region = re.fullmatch(r"in:[a-z]+-[a-z]+\d+-locations", value)
    return None if value.startswith("in:") and not of_region else False
