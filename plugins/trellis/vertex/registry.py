"""What is in the model registry: the versions of a model and their aliases.

`client`: a ModelServiceClient. Raises google.api_core.exceptions where nothing else is said.
https://cloud.google.com/vertex-ai/docs/model-registry/versioning
"""

from typing import Any

from google.api_core import exceptions

from vertex.jobs import CALL_TIMEOUT_SECONDS
from vertex.versions import Version, parse_model

DEFAULT_ALIAS = "default"
"""Vertex AI's own: always on one version, the one that is meant when no version is named."""


def find_versions(client: Any, model: str, labels: str = "") -> list[Any]:
    """The versions of a model, the oldest first, with their aliases and labels; none if the model
    is not there. labels: a filter: labels.KEY=VALUE.
    """
    request = {"name": parse_model(model).model, "filter": labels}
    try:
        found = list(client.list_model_versions(request=request, timeout=CALL_TIMEOUT_SECONDS))
    except exceptions.NotFound:
        return []
    return sorted(found, key=lambda version: int(version.version_id))


def find_bearer(client: Any, model: str, alias: str) -> Version | None:
    """The version that carries the alias; None when none does, or there is no such model."""
    for version in find_versions(client, model):
        if alias in version.version_aliases:
            return version_of(version)
    return None


def version_of(model: Any) -> Version:
    """The name of a version from its Model message, whose name may lack it."""
    return parse_model(model.name)._replace(version=model.version_id)


def own_aliases(version: Any) -> list[str]:
    """The aliases that people and programs gave, without Vertex AI's own."""
    return [alias for alias in version.version_aliases if alias != DEFAULT_ALIAS]


def merge_aliases(client: Any, version: Version, changes: list[str]) -> None:
    """Give a version aliases, which others lose; "-ALIAS" takes one away. None is no call."""
    if changes:
        client.merge_version_aliases(
            request={"name": version.name, "version_aliases": changes},
            timeout=CALL_TIMEOUT_SECONDS,
        )
