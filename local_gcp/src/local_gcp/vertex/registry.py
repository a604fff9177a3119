"""The model registry: versions of models, their aliases and the files that they serve.

A version is one record, named MODEL@VERSION; a model is its versions. Exactly one version of a
model has the alias "default"; a name without a version means that one.
https://cloud.google.com/vertex-ai/docs/model-registry/versioning
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from google.cloud import aiplatform_v1 as api

from local_gcp import names
from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.project import project_id
from local_gcp.state import State
from local_gcp.variants import Variants
from local_gcp.vertex import validation
from local_gcp.vertex.artifacts import Artifacts
from local_gcp.vertex.resources import timestamp
from local_gcp.wire import already_exists, failed_precondition, not_found

DEFAULT = "default"
_ALIAS = re.compile(r"[a-z][a-zA-Z0-9_-]{0,126}[a-z0-9]")
"""Documented form, and the underscores that aliases of real models have."""
CONTAINER_INPUTS = ("jsonl", "bigquery", "csv", "tf-record", "tf-record-gzip", "file-list")
CONTAINER_OUTPUTS = ("jsonl", "bigquery")
"""Formats of a custom container's batch predictions, as real models say."""
_REGIONS = {"US": "us-central1", "EU": "europe-west4"}
"""Region of the registry for a model in a multi-region of BigQuery:
https://cloud.google.com/bigquery/docs/managing-models-vertex"""
_MODEL_ID = re.compile(r"[a-z_][a-z0-9_-]{0,62}")


class Registry:
    """See the module. `buckets`: the folder of Cloud Storage; `trained`: the models that
    AutoML trained here.
    """

    def __init__(self, state: State, buckets: Path, trained: Path, variants: Variants):
        self._state, self._buckets, self._variants = state, buckets, variants
        self._table = state.table("models", api.Model)
        self._artifacts, self._trained = Artifacts(buckets), trained
        self._copies = state.table("modelArtifacts", dict)

    def start(self) -> None:
        """Remove files of an upload that a kill interrupted."""
        self._artifacts.sweep([record["uri"] for _, record in self._copies.list()])

    def find(self, name: str, field: str = "name") -> api.Model:
        """The version that `name` means: MODEL, MODEL@VERSION or MODEL@ALIAS; NOT_FOUND."""
        model_name, _, wanted = names.resource(name, "models", field).partition("@")
        wanted = wanted or DEFAULT
        for version in self.versions(model_name):
            if wanted == version.version_id or wanted in version.version_aliases:
                return version
        raise not_found(name)

    def versions(self, model_name: str) -> list[api.Model]:
        return [version for _, version in self._table.list(f"{model_name}@")]

    def list_lagging(self, prefix: str) -> list[api.Model]:
        """Versions whose names begin with `prefix`, as State's lists that lag show them."""
        return [version for _, version in self._table.list_lagging(prefix)]

    def check(
        self,
        parent: str,
        model: api.Model,
        model_id: str,
        parent_model: str,
        field: str,
        container: bool = True,
    ) -> None:
        """Refuse an invalid upload before its files are read: INVALID_ARGUMENT and others.

        `container`: whether the model has a serving container (AutoML's have none).
        """
        validation.check_resource(model, field, names.last(parent))
        if container and not model.container_spec.image_uri:
            raise invalid_field(f"{field}.container_spec.image_uri", REQUIRED)
        validation.check_env(model.container_spec.env, f"{field}.container_spec.env")
        for number, alias in enumerate(model.version_aliases):
            check_alias(alias, f"{field}.version_aliases[{number}]")
        if parent_model:
            if model_id:
                raise invalid_field("model_id", "It is only for a new model: parent_model is set.")
            self.find(parent_model, "parent_model")
        elif model_id and not _MODEL_ID.fullmatch(model_id):
            raise invalid_field("model_id", f"{model_id!r} does not match {_MODEL_ID.pattern}.")
        elif model_id and self.versions(f"{parent}/models/{model_id}"):
            raise already_exists(f"{parent}/models/{model_id}")

    def target(self, parent: str, model_id: str, parent_model: str) -> str:
        """Name of the model that an upload creates or adds a version to; see `check`."""
        if parent_model:
            return self.find(parent_model).name
        return f"{parent}/models/{model_id or names.new_id()}"

    def upload(self, name: str, sent: api.Model, training_pipeline: str = "") -> api.Model:
        """Register a version of model `name`, the first one or the next.

        Raises FAILED_PRECONDITION if there are no files at its artifact_uri.
        """
        self._check_files(sent.artifact_uri)
        copy = self._artifacts.copy(sent.artifact_uri)
        with self._state.transaction():
            versions = self.versions(name)
            now = timestamp(time.time())
            model = api.Model(sent, deployed_models=[])
            model.name, model.training_pipeline = name, training_pipeline
            model.supported_deployment_resources_types = _resources(model)
            # Real models have these also when they are empty.
            for field in ("predict_schemata", "metadata"):
                getattr(api.Model.pb(model), field).SetInParent()
            if not model.model_source_info.source_type:
                model.model_source_info = api.ModelSourceInfo(source_type="CUSTOM")
                model.supported_input_storage_formats = list(CONTAINER_INPUTS)
                model.supported_output_storage_formats = list(CONTAINER_OUTPUTS)
            model.version_id = str(1 + max((int(v.version_id) for v in versions), default=0))
            model.create_time = model.version_create_time = now
            model.update_time = model.version_update_time = now
            aliases = [*sent.version_aliases] if versions else [*sent.version_aliases, DEFAULT]
            self._copies.put(key(model), {"uri": copy})
            return self.give_aliases(model, aliases)

    def register(self, location: str, model_id: str, title: str, file: Path) -> str:
        """Register a BigQuery ML model as a version of `model_id`, the first one or the next;
        returns its number. location: BigQuery's. file: of the model, on this machine.
        """
        region = _REGIONS.get(location, location)
        if not _MODEL_ID.fullmatch(model_id):
            raise invalid_field("vertex_ai_model_id", f"{model_id!r} is not a model's ID.")
        parent = names.location(f"projects/{project_id()}/locations/{region}")
        model = api.Model(display_name=title, model_source_info={"source_type": "BQML"})
        registered = self.upload(f"{parent}/models/{model_id}", model)
        record = self._copies.get(key(registered)) or {}
        self._copies.put(key(registered), {**record, "file": str(file)})
        return registered.version_id

    def artifacts(self, model: api.Model) -> str:
        """gs:// folder with the copy of a version's files that is served, "" if it has none. Of
        models that Google trained, which have no such folder, the folder or file on this machine.
        """
        record = self._copies.get(key(model)) or {}
        source = model.model_source_info.source_type
        if source == api.ModelSourceInfo.ModelSourceType.AUTOML:
            return str(self._trained / names.last(model.training_pipeline))
        if source == api.ModelSourceInfo.ModelSourceType.BQML:
            return str(record["file"])
        return record.get("uri", model.artifact_uri)

    def deployed(self, version: str, endpoint: str, deployed_id: str) -> None:
        """Note that MODEL@VERSION is deployed, or being deployed; it cannot be deleted until it is
        `undeployed`.
        """
        model = self._table.get(version)
        reference = {"endpoint": endpoint, "deployed_model_id": deployed_id}
        model.deployed_models.append(reference)
        self._table.put(version, model)

    def undeployed(self, version: str, endpoint: str, deployed_id: str) -> None:
        """Note that it is not deployed there any more."""
        model = self._table.get(version)
        model.deployed_models = [
            m
            for m in model.deployed_models
            if (m.endpoint, m.deployed_model_id) != (endpoint, deployed_id)
        ]
        self._table.put(version, model)

    def copied(self, version: api.Model) -> str:
        """gs:// folder with the copy of a version's files, "" if it has none."""
        return (self._copies.get(key(version)) or {"uri": ""})["uri"]

    def save(self, version: api.Model) -> None:
        """Store a version as it is; its aliases: `give_aliases`."""
        self._table.put(key(version), version)

    def give_aliases(self, model: api.Model, aliases: list[str]) -> api.Model:
        """Store a version, and remove its aliases from the other versions."""
        model.version_aliases = list(dict.fromkeys(aliases))
        for other in self.versions(model.name):
            rest = [alias for alias in other.version_aliases if alias not in aliases]
            if other.version_id != model.version_id and rest != list(other.version_aliases):
                self._check_free({*other.version_aliases} - {*rest}, other)
                other.version_aliases = rest
                self.save(other)
        self.save(model)
        return model

    def remove(self, version: api.Model) -> None:
        self._artifacts.delete(self.copied(version))
        self._copies.delete(key(version))
        self._table.delete(key(version))

    def _check_files(self, uri: str) -> None:
        if not uri:
            return
        bucket, _, folder = uri.removeprefix("gs://").strip("/").partition("/")
        path = self._buckets / bucket / folder
        if not uri.startswith("gs://") or not any(p.is_file() for p in path.rglob("*")):
            raise failed_precondition(f'There are no files under "{uri}" to copy.')

    def _check_free(self, aliases: set[str], bearer: api.Model) -> None:
        """Raise FAILED_PRECONDITION for another version's aliases, in the variant for it."""
        if self._variants.taken_aliases == "refused" and (taken := aliases - {DEFAULT}):
            raise failed_precondition(
                f"The version alias {', '.join(sorted(taken))} is in use by {key(bearer)}: remove "
                "it there first."
            )


def key(model: api.Model) -> str:
    """MODEL@VERSION: the name of a version."""
    return f"{model.name}@{model.version_id}"


def check_alias(alias: str, field: str) -> None:
    """Raise INVALID_ARGUMENT for what cannot be an alias."""
    if not _ALIAS.fullmatch(alias):
        raise invalid_field(field, f"{alias!r} is not an alias: it must match {_ALIAS.pattern}.")


def _resources(model: api.Model) -> list[api.Model.DeploymentResourcesType]:
    """Return the model's deployment resources; Vertex AI chooses the machines of AutoML's image
    models.
    """
    kinds: Any = api.Model.DeploymentResourcesType
    source = model.model_source_info.source_type
    if source == api.ModelSourceInfo.ModelSourceType.BQML:
        return [kinds.DEDICATED_RESOURCES]
    if source != api.ModelSourceInfo.ModelSourceType.AUTOML:
        return [kinds.DEDICATED_RESOURCES, kinds.SHARED_RESOURCES]
    automatic = "image" in model.metadata_schema_uri
    return [kinds.AUTOMATIC_RESOURCES if automatic else kinds.DEDICATED_RESOURCES]
