"""ModelService: models with versions and aliases, as a registry.

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

from local_gcp import filters, names
from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.listing import masked, page
from local_gcp.operations import Operations
from local_gcp.project import project_id
from local_gcp.state import State
from local_gcp.variants import Variants
from local_gcp.vertex import validation
from local_gcp.vertex.artifacts import Artifacts
from local_gcp.vertex.resources import deletion_metadata, timestamp
from local_gcp.wire import already_exists, failed_precondition, not_emulated, not_found

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
_LABELS = {"labels": filters.Labels("labels")}
_OF_A_MODEL = ("display_name", "description", "labels")
_OF_A_VERSION = ("version_description", "labels")
_FIELDS = {**_LABELS, "display_name": filters.Text("display_name")}


class Models:
    """See the module. `buckets`: the folder of Cloud Storage; `trained`: the models that
    AutoML trained here.
    """

    def __init__(
        self,
        state: State,
        operations: Operations,
        buckets: Path,
        trained: Path,
        variants: Variants,
    ):
        self._state, self._operations, self._buckets = state, operations, buckets
        self._variants = variants
        self._table = state.table("models", api.Model)
        self._artifacts, self._trained = Artifacts(buckets), trained
        self._copies = state.table("modelArtifacts", dict)
        operations.define("upload_model", api.UploadModelRequest, self._upload)
        operations.define("copy_model", api.CopyModelRequest, self._copy)
        operations.define("delete_model", api.DeleteModelRequest, self._delete_model)
        operations.define(
            "delete_model_version", api.DeleteModelVersionRequest, self._delete_version
        )

    def start(self) -> None:
        """Remove files of an upload that a kill interrupted."""
        self._artifacts.sweep([record["uri"] for _, record in self._copies.list()])

    def upload_model(self, request: Any, _context: Any) -> Any:
        parent = names.location(request.parent)
        self.check(parent, request.model, request.model_id, request.parent_model, "model")
        metadata = api.UploadModelOperationMetadata(generic_metadata=_now())
        return self._begin("upload_model", parent, request, metadata)

    def _begin(self, method: str, parent: str, request: Any, metadata: Any) -> Any:
        """Start an operation that creates a model or a version."""
        with self._state.transaction():
            name = self.target(parent, request.model_id, request.parent_model)
            if request.model_id and any(
                self._operations.under_way(way, name) for way in ("upload_model", "copy_model")
            ):
                raise already_exists(name)
            return self._operations.begin(method, name, request, metadata)

    def _upload(self, name: str, request: Any) -> Any:
        model = self.upload(name, request.model)
        return api.UploadModelResponse(model=model.name, model_version_id=model.version_id)

    def get_model(self, request: Any, _context: Any) -> api.Model:
        return _shown(self.find(request.name))

    def list_models(self, request: Any, _context: Any) -> dict[str, Any]:
        _check_order(request)
        parent = names.location(request.parent)
        matches = filters.parse_filter(request.filter, _FIELDS)
        models = [
            model
            for _, model in self._table.list_lagging(f"{parent}/models/")
            if DEFAULT in model.version_aliases and matches(model)
        ]
        return _page(models, request)

    def list_model_versions(self, request: Any, _context: Any) -> dict[str, Any]:
        _check_order(request)
        matches = filters.parse_filter(request.filter, _LABELS)
        name = names.resource(request.name, "models").partition("@")[0]
        versions = [version for _, version in self._table.list_lagging(f"{name}@")]
        if not versions:
            raise not_found(request.name)
        return _page([_shown(version) for version in versions if matches(version)], request)

    def update_model(self, request: Any, _context: Any) -> api.Model:
        """MODEL changes fields of all its versions, MODEL@VERSION those of one version."""
        sent, paths = request.model, list(request.update_mask.paths)
        model_name, _, version = sent.name.partition("@")
        allowed = _OF_A_VERSION if version not in ("", "-") else _OF_A_MODEL
        if not paths:
            raise invalid_field("update_mask", REQUIRED)
        for path in paths:
            if path not in {*_OF_A_VERSION, *_OF_A_MODEL}:
                raise invalid_field("update_mask", f"{path!r} cannot be updated.")
            if path not in allowed:
                raise failed_precondition(
                    f"{path} cannot be updated by the name {sent.name!r}: a model has "
                    f"{', '.join(_OF_A_MODEL)}, a version (@VERSION) {', '.join(_OF_A_VERSION)}."
                )
        if "display_name" in paths:
            validation.check_display_name(sent.display_name, "model.display_name")
        if "labels" in paths:
            validation.check_labels(sent.labels, "model.labels")
        with self._state.transaction():
            named = self.find(sent.name if allowed is _OF_A_VERSION else model_name)
            changed = [named] if allowed is _OF_A_VERSION else self._versions(named.name)
            for model in changed:
                for path in paths:
                    setattr(model, path, getattr(sent, path))
                model.update_time = model.version_update_time = timestamp(time.time())
                self._table.put(key(model), model)
            return _shown(self.find(sent.name if allowed is _OF_A_VERSION else model_name))

    def copy_model(self, request: Any, _context: Any) -> Any:
        parent = names.location(request.parent)
        sent, _ = self._source(request)
        self.check(parent, sent, request.model_id, request.parent_model, "model", container=False)
        metadata = api.CopyModelOperationMetadata(generic_metadata=_now())
        return self._begin("copy_model", parent, request, metadata)

    def _copy(self, name: str, request: Any) -> Any:
        sent, pipeline = self._source(request)
        original = key(self.find(request.source_model, "source_model"))
        sent.original_model_info = api.Model.OriginalModelInfo(model=original)
        model = self.upload(name, sent, pipeline)
        return api.CopyModelResponse(model=model.name, model_version_id=model.version_id)

    def _source(self, request: Any) -> tuple[api.Model, str]:
        """The source of a copy, and the pipeline that trained it."""
        source = self.find(request.source_model, "source_model")
        if source.model_source_info.source_type == api.ModelSourceInfo.ModelSourceType.BQML:
            raise not_emulated("a copy of a BigQuery ML model", "Register another one.")
        record = self._copies.get(key(source)) or {"uri": ""}
        sent = api.Model(source, version_aliases=[], artifact_uri=record["uri"])
        return sent, source.training_pipeline

    def merge_version_aliases(self, request: Any, _context: Any) -> api.Model:
        with self._state.transaction():
            model = self.find(request.name)
            for number, change in enumerate(request.version_aliases):
                _check_alias(change.removeprefix("-"), f"version_aliases[{number}]")
            removed = {c.removeprefix("-") for c in request.version_aliases if c.startswith("-")}
            added = [c for c in request.version_aliases if not c.startswith("-")]
            if DEFAULT in removed & set(model.version_aliases):
                raise failed_precondition(
                    f"{request.name} is the default version; give the alias to another one instead."
                )
            kept = [alias for alias in model.version_aliases if alias not in removed]
            return _shown(self._put(model, [*kept, *added]))

    def delete_model(self, request: Any, _context: Any) -> Any:
        model = self.find(request.name.partition("@")[0])
        _check_undeployed(self._versions(model.name))
        return self._operations.begin("delete_model", model.name, request, deletion_metadata())

    def delete_model_version(self, request: Any, _context: Any) -> Any:
        model = self.find(request.name)
        if "@" not in request.name:
            raise invalid_field("name", f"{request.name!r} names no version (@VERSION).")
        _check_deletable(model)
        # By its number: an alias may have moved when the operation ends.
        sent = api.DeleteModelVersionRequest(name=key(model))
        metadata = deletion_metadata()
        return self._operations.begin("delete_model_version", model.name, sent, metadata)

    def _delete_model(self, name: str, _request: Any) -> None:
        self.find(name)
        versions = self._versions(name)
        _check_undeployed(versions)
        for version in versions:
            self._remove(version)

    def _delete_version(self, _name: str, request: Any) -> None:
        version = self.find(request.name)
        _check_deletable(version)
        self._remove(version)

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
            _check_alias(alias, f"{field}.version_aliases[{number}]")
        if parent_model:
            if model_id:
                raise invalid_field("model_id", "It is only for a new model: parent_model is set.")
            self.find(parent_model, "parent_model")
        elif model_id and not _MODEL_ID.fullmatch(model_id):
            raise invalid_field("model_id", f"{model_id!r} does not match {_MODEL_ID.pattern}.")
        elif model_id and self._versions(f"{parent}/models/{model_id}"):
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
            versions = self._versions(name)
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
            return self._put(model, aliases)

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

    def _remove(self, version: api.Model) -> None:
        if record := self._copies.get(key(version)):
            self._artifacts.delete(record["uri"])
        self._copies.delete(key(version))
        self._table.delete(key(version))

    def _check_files(self, uri: str) -> None:
        if not uri:
            return
        bucket, _, folder = uri.removeprefix("gs://").strip("/").partition("/")
        path = self._buckets / bucket / folder
        if not uri.startswith("gs://") or not any(p.is_file() for p in path.rglob("*")):
            raise failed_precondition(f'There are no files under "{uri}" to copy.')

    def _put(self, model: api.Model, aliases: list[str]) -> api.Model:
        """Store a version, and remove its aliases from the other versions."""
        model.version_aliases = list(dict.fromkeys(aliases))
        for other in self._versions(model.name):
            rest = [alias for alias in other.version_aliases if alias not in aliases]
            if other.version_id != model.version_id and rest != list(other.version_aliases):
                self._check_free({*other.version_aliases} - {*rest}, other)
                other.version_aliases = rest
                self._table.put(key(other), other)
        self._table.put(key(model), model)
        return model

    def _check_free(self, aliases: set[str], bearer: api.Model) -> None:
        """Raise FAILED_PRECONDITION for another version's aliases, in the variant for it."""
        if self._variants.taken_aliases == "refused" and (taken := aliases - {DEFAULT}):
            raise failed_precondition(
                f"The version alias {', '.join(sorted(taken))} is in use by {key(bearer)}: remove "
                "it there first."
            )

    def find(self, name: str, field: str = "name") -> api.Model:
        """The version that `name` means: MODEL, MODEL@VERSION or MODEL@ALIAS; NOT_FOUND."""
        model_name, _, wanted = names.resource(name, "models", field).partition("@")
        wanted = wanted or DEFAULT
        for version in self._versions(model_name):
            if wanted == version.version_id or wanted in version.version_aliases:
                return version
        raise not_found(name)

    def _versions(self, model_name: str) -> list[api.Model]:
        return [version for _, version in self._table.list(f"{model_name}@")]


def key(model: api.Model) -> str:
    """MODEL@VERSION: the name of a version."""
    return f"{model.name}@{model.version_id}"


def _shown(version: api.Model) -> api.Model:
    """The model as GetModel and ListModelVersions return it: always named MODEL@VERSION."""
    return api.Model(version, name=key(version))


def _page(models: list[api.Model], request: Any) -> dict[str, Any]:
    found, token = page(models, request.page_size, request.page_token)
    shown = [masked(model, request.read_mask) for model in found]
    return {"models": shown, "next_page_token": token}


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


def _check_undeployed(versions: list[api.Model]) -> None:
    places = [m.endpoint for version in versions for m in version.deployed_models]
    if places:
        raise failed_precondition(
            "The Model is deployed or being deployed at the following Endpoint(s): "
            f"{', '.join(dict.fromkeys(places))}. Please undeploy the model before retry."
        )


def _check_deletable(version: api.Model) -> None:
    if version.model_source_info.source_type == api.ModelSourceInfo.ModelSourceType.BQML:
        # https://cloud.google.com/vertex-ai/docs/model-registry/delete-model
        raise failed_precondition(
            f"{key(version)} is a BigQuery ML model: delete it in BigQuery, which removes it here."
        )
    if DEFAULT in version.version_aliases:
        raise failed_precondition(
            f"{key(version)} is the default version and cannot be deleted: make another one the "
            "default, or delete the model."
        )
    _check_undeployed([version])


def _check_order(request: Any) -> None:
    if request.order_by:
        raise not_emulated("order_by", "The newest come first; sort in the client.")


def _check_alias(alias: str, field: str) -> None:
    if not _ALIAS.fullmatch(alias):
        raise invalid_field(field, f"{alias!r} is not an alias: it must match {_ALIAS.pattern}.")


def _now() -> dict[str, Any]:
    moment = timestamp(time.time())
    return {"create_time": moment, "update_time": moment}
