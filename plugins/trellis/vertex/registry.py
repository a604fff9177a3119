"""The model registry: the versions of a model and their aliases.

`client`: a ModelServiceClient. Raises google.api_core.exceptions unless stated otherwise.
https://cloud.google.com/vertex-ai/docs/model-registry/versioning
"""

from typing import Any

from google.api_core import exceptions

from trellis.vertex.jobs import CALL_TIMEOUT_SECONDS
from trellis.vertex.versions import VersionName, parse_model

DEFAULT_ALIAS = "default"
"""Vertex AI's own alias: always on exactly one version, used when no version is named."""


def find_versions(client: Any, model: str, labels: str = "") -> list[Any]:
    """The versions of a model, oldest first, with their aliases and labels; empty if there is no
    such model. labels: a filter, labels.KEY=VALUE.
    """
    request = {"name": parse_model(model).model, "filter": labels}
    try:
        found = list(client.list_model_versions(request=request, timeout=CALL_TIMEOUT_SECONDS))
    except exceptions.NotFound:
        return []
    return sorted(found, key=lambda version: int(version.version_id))


def find_by_alias(client: Any, model: str, alias: str) -> VersionName | None:
    """The version that has the alias; None if no version has it, or there is no such model."""
    for version in find_versions(client, model):
        if alias in version.version_aliases:
            return version_of(version)
    return None


def version_of(model: Any) -> VersionName:
    """The name of a version from its Model message, whose `name` may lack the version."""
    return parse_model(model.name)._replace(version=model.version_id)


def own_aliases(version: Any) -> list[str]:
    """The aliases set by people and programs, without Vertex AI's own."""
    return [alias for alias in version.version_aliases if alias != DEFAULT_ALIAS]


def merge_aliases(client: Any, version: VersionName, changes: list[str]) -> None:
    """Move aliases to a version; "-ALIAS" removes one. Makes no call without aliases."""
    if changes:
        client.merge_version_aliases(
            request={"name": version.name, "version_aliases": changes},
            timeout=CALL_TIMEOUT_SECONDS,
        )
