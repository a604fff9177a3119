"""The model registry: the versions of a model and their aliases.

`client`: a ModelServiceClient. Raises google.api_core.exceptions unless stated otherwise.
https://cloud.google.com/vertex-ai/docs/model-registry/versioning
"""

import logging
from typing import Any

from google.api_core import exceptions

from trellis.vertex.calls import REPEATABLE
from trellis.vertex.versions import VersionName, parse_model

log = logging.getLogger(__name__)

DEFAULT_ALIAS = "default"
"""Vertex AI's own alias: always on exactly one version, used when no version is named."""


AUTOML, BQML = "automl", "bqml"
"""Services of Google's that train models."""

_SERVICES = {"AUTOML": AUTOML, "BQML": BQML}


def service_of(model: Any) -> str | None:
    """The service of Google's that trained a model and serves it without a container of ours:
    automl or bqml; None of another model.
    """
    return _SERVICES.get(model.model_source_info.source_type.name)


def find_versions(client: Any, model: str, labels: str = "") -> list[Any]:
    """The versions of a model, oldest first, with their aliases and labels; empty if there is no
    such model. labels: a filter, labels.KEY=VALUE.
    """
    request = {"name": parse_model(model).model, "filter": labels}
    try:
        found = list(client.list_model_versions(request=request, **REPEATABLE))
    except exceptions.NotFound:
        return []
    return sorted(found, key=lambda version: int(version.version_id))


def find_by_alias(client: Any, model: str, alias: str) -> VersionName | None:
    """The version that has the alias; None if no version has it, or there is no such model.

    A get, as lists may lag behind changes.
    """
    found = find_version(client, parse_model(model)._replace(version=alias))
    return version_of(found) if found else None


def find_version(client: Any, version: VersionName) -> Any | None:
    """The Model message of a version, by its number or an alias; None if there is none."""
    try:
        return client.get_model(name=version.name, **REPEATABLE)
    except exceptions.NotFound:
        return None


def version_of(model: Any) -> VersionName:
    """The name of a version from its Model message, whose `name` may lack the version."""
    return parse_model(model.name)._replace(version=model.version_id)


def own_aliases(version: Any) -> list[str]:
    """The aliases set by people and programs, without Vertex AI's own."""
    return [alias for alias in version.version_aliases if alias != DEFAULT_ALIAS]


def move_aliases(client: Any, version: VersionName, aliases: list[str]) -> None:
    """Give a version aliases that other versions may have.

    Google documents no more than that an alias is unique within a model. If one that is taken is
    refused, it is removed first from the version that has it.
    """
    try:
        merge_aliases(client, version, aliases)
    except (
        exceptions.FailedPrecondition,
        exceptions.AlreadyExists,
        exceptions.InvalidArgument,
    ) as error:
        for other in find_versions(client, version.model):
            taken = [alias for alias in own_aliases(other) if alias in aliases]
            if taken and other.version_id != version.version:
                names = ", ".join(taken)
                log.info("Removing %s from version %s first: %s", names, other.version_id, error)
                merge_aliases(client, version_of(other), [f"-{alias}" for alias in taken])
        merge_aliases(client, version, aliases)


def merge_aliases(client: Any, version: VersionName, changes: list[str]) -> None:
    """Give a version aliases; "-ALIAS" removes one. Makes no call without aliases."""
    if changes:
        client.merge_version_aliases(
            request={"name": version.name, "version_aliases": changes},
            **REPEATABLE,
        )
