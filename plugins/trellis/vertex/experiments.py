"""Experiments and their runs in Vertex AI Experiments, as Google's own SDK keeps them.

An experiment is a context of the project's metadata store `default`, and so is each of its runs,
with parameters and metrics as metadata; google.cloud.aiplatform.metadata has their schemas. The SDK
itself keeps the current experiment in a global of its process, so tasks use the service's client.
"""

import contextlib
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.api_core import exceptions

from trellis.vertex.calls import REPEATABLE

_EXPERIMENT = {
    "schema_title": "system.Experiment",
    "schema_version": "0.0.1",
    "metadata": {"experiment_deleted": False},
}
_RUN = {"schema_title": "system.ExperimentRun", "schema_version": "0.0.1"}
_LONGEST = 128
_DIGEST = 8


class ExperimentError(ValueError):
    """The resource with the experiment's name is no experiment."""


@dataclass(frozen=True)
class ExperimentRun:
    """One run. name: for people. parameters: numbers and texts; metrics: numbers."""

    name: str
    parameters: Mapping[str, float | str]
    metrics: Mapping[str, float]


def record(
    client: Any,
    location: str,
    experiment: str,
    runs: Sequence[ExperimentRun],
    key: str | None = None,
) -> None:
    """Write runs of an experiment, which is made if there is none; those that exist are replaced.

    client: a MetadataServiceClient. location: projects/P/locations/R. experiment: its name, of a-z,
    0-9 and -. key: encrypts the store, if there is none yet. Raises ExperimentError if another
    context has the experiment's name.
    """
    store = _store(client, location, key)
    parent = _put(client, store, experiment, experiment, _EXPERIMENT)
    children = []
    for run in runs:
        metadata = {
            "_params": dict(run.parameters),
            "_metrics": dict(run.metrics),
            "_state": "COMPLETE",
        }
        # The SDK finds a run by the experiment's name and its own, which is its title, too.
        name = _identifier(run.name, _LONGEST - len(experiment) - 1)
        context = {**_RUN, "metadata": metadata}
        children.append(_put(client, store, f"{experiment}-{name}", name, context))
    request = {"context": parent, "child_contexts": children}
    client.add_context_children(request=request, **REPEATABLE)


def _identifier(name: str, longest: int) -> str:
    """The name as part of a context's id: itself, or else a readable part and a digest."""
    cleaned = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
    if cleaned == name and len(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{cleaned[: longest - _DIGEST - 1]}-{digest}".lstrip("-")


def _store(client: Any, location: str, key: str | None) -> str:
    """The name of the store `default`, which a project has once something has asked for it."""
    name = f"{location}/metadataStores/default"
    try:
        client.get_metadata_store(name=name, **REPEATABLE)
    except exceptions.NotFound:
        store = {"encryption_spec": {"kms_key_name": key}} if key else {}
        request = {"parent": location, "metadata_store": store, "metadata_store_id": "default"}
        with contextlib.suppress(exceptions.AlreadyExists):  # another run was faster
            client.create_metadata_store(request=request).result(timeout=300)
    return name


def _put(client: Any, store: str, identifier: str, title: str, content: Mapping[str, Any]) -> str:
    """Create a context, or replace a run's metadata; returns its name."""
    context = {"display_name": title, **content}
    request = {"parent": store, "context": context, "context_id": identifier}
    name = f"{store}/contexts/{identifier}"
    try:
        client.create_context(request=request, **REPEATABLE)
        return name
    except exceptions.AlreadyExists:
        found = client.get_context(name=name, **REPEATABLE)
    if found.schema_title != content["schema_title"]:
        raise ExperimentError(f"{name} is a {found.schema_title}, no {content['schema_title']}")
    if content["schema_title"] == _RUN["schema_title"]:
        update = {"name": name, "metadata": content["metadata"]}
        request = {"context": update, "update_mask": {"paths": ["metadata"]}}
        client.update_context(request=request, **REPEATABLE)
    return name
