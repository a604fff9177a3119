"""Resources of a project by name: default ones, and those in HOME/project.json."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from local_gcp.jobs.images import ImageError, find_image
from local_gcp.project import PROJECT_NUMBER, known_regions
from local_gcp.project_apis import usage
from local_gcp.project_apis.facts import Facts
from local_gcp.rest import ApiError

_COMPUTE = "https://www.googleapis.com/compute/v1"
_TAG = re.compile(
    r"projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/repositories/(?P<repository>[^/]+)"
    r"/packages/(?P<image>[^/]+)/tags/(?P<tag>[^/]+)"
)


class Resources:
    """Returns resources by name, in the format of their API."""

    def __init__(self, project: str, facts: Facts):
        self.project, self.facts = project, facts
        self._own = ([project], ["-"], [str(PROJECT_NUMBER)])

    def get(self, name: str) -> dict[str, Any]:
        """The resource; raises ApiError 404."""
        found = None
        if name not in self.facts.absent:
            found = self.facts.resources.get(name) or self._here(name)
        if found is None:
            raise ApiError(404, f"The resource '{name}' was not found", "notFound")
        return found

    def list(self, parent: str, kind: str) -> list[dict[str, Any]]:
        """The resources in the file below a parent, each with its name."""
        return [{"name": name, **fields} for name, fields in self.named(parent, kind)]

    def named(self, parent: str, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Names and fields of the resources in the file below a parent."""
        prefix = f"{parent}/{kind}/"
        for name, fields in self.facts.resources.items():
            if name.startswith(prefix) and "/" not in name.removeprefix(prefix):
                yield name, fields

    def _here(self, name: str) -> dict[str, Any] | None:
        parts = name.split("/")
        own = f"projects/{self.project}"
        if name == own:
            quotas = usage.compute_quotas(self.facts, everywhere=True)
            return {"kind": "compute#project", "name": self.project, "quotas": quotas}
        if "tags" in parts:
            return self._tag(name)
        if parts[0] != "projects" or parts[1:2] not in self._own:
            return None
        match parts[2:]:
            case ["serviceAccounts", email]:
                return self._account(email)
            case ["regions", region] if region in known_regions():
                return self._region(region)
            case ["regions", region, "subnetworks", "default"] if region in known_regions():
                return self._subnetwork(region)
            case ["global", "networks", "default"]:
                return {
                    "kind": "compute#network",
                    "name": "default",
                    "autoCreateSubnetworks": True,
                    "selfLink": f"{_COMPUTE}/{own}/global/networks/default",
                }
        return None

    def _account(self, email: str) -> dict[str, Any] | None:
        """A service account; all accounts of the project exist."""
        if not email.endswith(f"@{self.project}.iam.gserviceaccount.com"):
            return None
        return {
            "name": f"projects/{self.project}/serviceAccounts/{email}",
            "projectId": self.project,
            "email": email,
        }

    def _region(self, region: str) -> dict[str, Any]:
        return {
            "kind": "compute#region",
            "name": region,
            "status": "UP",
            "quotas": usage.compute_quotas(self.facts, everywhere=False),
        }

    def _subnetwork(self, region: str) -> dict[str, Any]:
        """A subnetwork of the default network, which has no Private Google Access."""
        own = f"{_COMPUTE}/projects/{self.project}"
        return {
            "kind": "compute#subnetwork",
            "name": "default",
            "network": f"{own}/global/networks/default",
            "region": f"{own}/regions/{region}",
            "privateIpGoogleAccess": False,
        }

    def _tag(self, name: str) -> dict[str, Any] | None:
        """A tag of an image for which images.yaml has an entry, of any project.

        Its digest is a hash of the entry.
        """
        found = _TAG.fullmatch(name)
        if not found:
            return None
        repository = f"{found['location']}-docker.pkg.dev/{found['project']}/{found['repository']}"
        uri = f"{repository}/{found['image'].replace('%2F', '/')}:{found['tag']}"
        try:
            entry = find_image(uri)
        except ImageError:
            return None
        digest = hashlib.sha256(f"{uri} {entry.bin} {entry.runs_by}".encode()).hexdigest()
        package = name.partition("/tags/")[0]
        return {"name": name, "version": f"{package}/versions/sha256:{digest}"}
