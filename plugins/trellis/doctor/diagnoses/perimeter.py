"""Checks the perimeter of VPC Service Controls that the project is in, if it is in one.

A perimeter belongs to an access policy of the organization. What is asked:
https://docs.cloud.google.com/access-context-manager/docs/reference/rest/v1/accessPolicies.servicePerimeters
"""

from collections.abc import Iterator, Sequence
from typing import Any

from trellis.doctor.diagnoses.sources import tables
from trellis.doctor.findings import Finding, NoAccess, Notice, Passed
from trellis.doctor.target import Target
from trellis.google_api import RefusedError

_MANAGER = "https://cloudresourcemanager.googleapis.com/v3/{name}"
_CONTEXT = "https://accesscontextmanager.googleapis.com/v1/{name}"

ROLE = "roles/accesscontextmanager.policyReader"

SERVICES = (
    *("aiplatform", "artifactregistry", "bigquery", "bigquerystorage", "cloudresourcemanager"),
    *("dataflow", "iamcredentials", "logging", "monitoring", "storage"),
)
"""Services that a run calls from within its network."""

_RESTRICTED = "RESTRICTED-SERVICES"
"""Stands in a list of accessible services for those that the perimeter restricts."""


def diagnose(target: Target) -> Iterator[Finding | Notice | Passed | NoAccess]:
    """What the perimeter keeps from a run."""
    project = target.api.get(_MANAGER.format(name=f"projects/{target.platform.project}"))
    organization = _organization(target, project)
    if organization is None:
        yield Passed("the project is in no organization")
        return
    try:
        found = list(_around(target, organization, project["name"]))
    except RefusedError as error:
        if error.disabled or error.status not in (401, 403):
            raise
        yield NoAccess(
            f"Perimeter: {error.message}",
            f"gcloud organizations add-iam-policy-binding {organization.rpartition('/')[2]} "
            f"--member={target.member} --role={ROLE}",
        )
        return
    if not found:
        yield Passed("the project is in no perimeter")
    for perimeter in found:
        yield from _problems(target, perimeter)


def _organization(target: Target, resource: dict[str, Any]) -> str | None:
    """The organization above a project or folder: organizations/NUMBER."""
    while parent := resource.get("parent"):
        if parent.startswith("organizations/"):
            return parent
        resource = target.api.get(_MANAGER.format(name=parent))
    return None


def _around(target: Target, organization: str, project: str) -> Iterator[dict[str, Any]]:
    """The perimeters that have the project, projects/NUMBER, and restrict services."""
    policies = target.api.items(
        _CONTEXT.format(name="accessPolicies"), "accessPolicies", parent=organization
    )
    for policy in policies:
        url = _CONTEXT.format(name=f"{policy['name']}/servicePerimeters")
        for perimeter in target.api.items(url, "servicePerimeters"):
            status = perimeter.get("status", {})
            if project in status.get("resources", ()) and status.get("restrictedServices"):
                yield perimeter


def _problems(target: Target, perimeter: dict[str, Any]) -> Iterator[Finding | Notice | Passed]:
    group, status = target.platform, perimeter["status"]
    title = perimeter.get("title") or perimeter["name"].rpartition("/")[2]
    name = perimeter["name"].rpartition("/")[2]
    change = f"gcloud access-context-manager perimeters update {name} --policy=POLICY"
    found: list[Finding] = []
    if closed := _closed(status):
        found.append(
            Finding(
                f"The perimeter {title} lets its networks reach no {', '.join(closed)}.",
                "A run calls these services: its jobs would fail.",
                f"{change} --add-vpc-allowed-services="
                + ",".join(f"{each}.googleapis.com" for each in closed),
            )
        )
    if group.network is None or not group.private_addresses:
        found.append(
            Finding(
                f"The project is in the perimeter {title}, and platform.yaml gives jobs no network "
                "without external addresses.",
                "Jobs outside the perimeter's networks are refused its services.",
                "network, subnetwork and private_addresses: true in platform.yaml; `infra/` makes "
                "them with private_network",
            )
        )
    yield from found
    if others := _outside(target, status["resources"]):
        # The rules are too many kinds to judge them: identities, levels, methods.
        yield Notice(
            f"{', '.join(others)} {'is' if len(others) == 1 else 'are'} not in the perimeter "
            f"{title}, and experiments read from there.",
            "Without an egress rule for Airflow's account the snapshot is refused.",
            f"gcloud access-context-manager perimeters describe {name} --policy=POLICY: look at "
            "its egressPolicies",
        )
    if not found:
        yield Passed(f"in the perimeter {title}")


def _closed(status: dict[str, Any]) -> list[str]:
    """Services of a run that the perimeter's networks cannot reach."""
    accessible = status.get("vpcAccessibleServices", {})
    if not accessible.get("enableRestriction"):
        return []
    allowed = set(accessible.get("allowedServices", ()))
    if _RESTRICTED in allowed:
        allowed |= set(status["restrictedServices"])
    return [each for each in SERVICES if f"{each}.googleapis.com" not in allowed]


def _outside(target: Target, inside: Sequence[str]) -> list[str]:
    """Projects of the experiments' tables that are not in the perimeter."""
    projects = dict.fromkeys(name.split(".")[0] for name in tables(target))
    return [
        project
        for project in projects
        if project != target.platform.project and _number(target, project) not in inside
    ]


def _number(target: Target, project: str) -> str | None:
    """projects/NUMBER; None for a project that the caller cannot see."""
    try:
        return target.api.get(_MANAGER.format(name=f"projects/{project}"))["name"]
    except RefusedError as error:
        if error.status in (403, 404):
            return None
        raise
