"""The job images in Artifact Registry."""

import re
from typing import Any
from urllib.parse import quote

from trellis.workflow.spec.platform import Platform

_URL = "https://artifactregistry.googleapis.com/v1/{repository}/packages/{package}/tags/{tag}"
_REGISTRY = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?P<project>[^/]+)/(?P<repository>[^/]+)"
    r"(/(?P<folder>.+))?"
)


def in_artifact_registry(platform: Platform) -> bool:
    """Whether the group's registry is one, so that its images can be looked up."""
    return _REGISTRY.fullmatch(platform.registry) is not None


def digest(api: Any, platform: Platform, image: str, tag: str) -> str | None:
    """sha256:... of the content that the tag names now; None if there is no such image.

    api: google_api.GoogleApi. Raises RefusedError.
    """
    registry = _REGISTRY.fullmatch(platform.registry)
    assert registry is not None, platform.registry
    repository = "projects/{project}/locations/{location}/repositories/{repository}".format(
        **registry.groupdict()
    )
    folder = f"{registry['folder']}/" if registry["folder"] else ""
    package = quote(f"{folder}{image}", safe="")
    found = api.find(_URL.format(repository=repository, package=package, tag=tag))
    return found["version"].rsplit("/", 1)[-1] if found else None
