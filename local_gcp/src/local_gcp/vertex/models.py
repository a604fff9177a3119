"""ModelService: the calls that read and change the model registry (registry.py)."""

from __future__ import annotations

import time
from typing import Any

from google.cloud import aiplatform_v1 as api

from local_gcp import filters, names
from local_gcp.field_errors import REQUIRED, invalid_field
from local_gcp.listing import masked, page
from local_gcp.operations import Operations
from local_gcp.state import State
from local_gcp.vertex import validation
from local_gcp.vertex.registry import DEFAULT, Registry, check_alias, key
from local_gcp.vertex.resources import deletion_metadata, timestamp
from local_gcp.wire import already_exists, failed_precondition, not_emulated, not_found

_LABELS = {"labels": filters.Labels("labels")}
_OF_A_MODEL = ("display_name", "description", "labels")
_OF_A_VERSION = ("version_description", "labels")
_FIELDS = {**_LABELS, "display_name": filters.Text("display_name")}


class Models:
    """See the module."""

    def __init__(self, state: State, operations: Operations, registry: Registry):
        self._state, self._operations, self._registry = state, operations, registry
        operations.define("upload_model", api.UploadModelRequest, self._upload)
        operations.define("copy_model", api.CopyModelRequest, self._copy)
        operations.define("delete_model", api.DeleteModelRequest, self._delete_model)
        operations.define(
            "delete_model_version", api.DeleteModelVersionRequest, self._delete_version
        )

    def upload_model(self, request: Any, _context: Any) -> Any:
        parent = names.location(request.parent)
        self._registry.check(parent, request.model, request.model_id, request.parent_model, "model")
        metadata = api.UploadModelOperationMetadata(generic_metadata=_now())
        return self._begin("upload_model", parent, request, metadata)

    def _begin(self, method: str, parent: str, request: Any, metadata: Any) -> Any:
        """Start an operation that creates a model or a version."""
        with self._state.transaction():
            name = self._registry.target(parent, request.model_id, request.parent_model)
            if request.model_id and any(
                self._operations.under_way(way, name) for way in ("upload_model", "copy_model")
            ):
                raise already_exists(name)
            return self._operations.begin(method, name, request, metadata)

    def _upload(self, name: str, request: Any) -> Any:
        model = self._registry.upload(name, request.model)
        return api.UploadModelResponse(model=model.name, model_version_id=model.version_id)

    def get_model(self, request: Any, _context: Any) -> api.Model:
        return _shown(self._registry.find(request.name))

    def list_models(self, request: Any, _context: Any) -> dict[str, Any]:
        _check_order(request)
        parent = names.location(request.parent)
        matches = filters.parse_filter(request.filter, _FIELDS)
        models = [
            model
            for model in self._registry.list_lagging(f"{parent}/models/")
            if DEFAULT in model.version_aliases and matches(model)
        ]
        return _page(models, request)

    def list_model_versions(self, request: Any, _context: Any) -> dict[str, Any]:
        _check_order(request)
        matches = filters.parse_filter(request.filter, _LABELS)
        name = names.resource(request.name, "models").partition("@")[0]
        versions = self._registry.list_lagging(f"{name}@")
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
        name = sent.name if allowed is _OF_A_VERSION else model_name
        with self._state.transaction():
            named = self._registry.find(name)
            changed = [named] if allowed is _OF_A_VERSION else self._registry.versions(named.name)
            for model in changed:
                for path in paths:
                    setattr(model, path, getattr(sent, path))
                model.update_time = model.version_update_time = timestamp(time.time())
                self._registry.save(model)
            return _shown(self._registry.find(name))

    def copy_model(self, request: Any, _context: Any) -> Any:
        parent = names.location(request.parent)
        sent, _ = self._source(request)
        self._registry.check(
            parent, sent, request.model_id, request.parent_model, "model", container=False
        )
        metadata = api.CopyModelOperationMetadata(generic_metadata=_now())
        return self._begin("copy_model", parent, request, metadata)

    def _copy(self, name: str, request: Any) -> Any:
        sent, pipeline = self._source(request)
        original = key(self._registry.find(request.source_model, "source_model"))
        sent.original_model_info = api.Model.OriginalModelInfo(model=original)
        model = self._registry.upload(name, sent, pipeline)
        return api.CopyModelResponse(model=model.name, model_version_id=model.version_id)

    def _source(self, request: Any) -> tuple[api.Model, str]:
        """The source of a copy, and the pipeline that trained it."""
        source = self._registry.find(request.source_model, "source_model")
        if source.model_source_info.source_type == api.ModelSourceInfo.ModelSourceType.BQML:
            raise not_emulated("a copy of a BigQuery ML model", "Register another one.")
        copied = self._registry.copied(source)
        sent = api.Model(source, version_aliases=[], artifact_uri=copied)
        return sent, source.training_pipeline

    def merge_version_aliases(self, request: Any, _context: Any) -> api.Model:
        with self._state.transaction():
            model = self._registry.find(request.name)
            for number, change in enumerate(request.version_aliases):
                check_alias(change.removeprefix("-"), f"version_aliases[{number}]")
            removed = {c.removeprefix("-") for c in request.version_aliases if c.startswith("-")}
            added = [c for c in request.version_aliases if not c.startswith("-")]
            if DEFAULT in removed & set(model.version_aliases):
                raise failed_precondition(
                    f"{request.name} is the default version; give the alias to another one instead."
                )
            kept = [alias for alias in model.version_aliases if alias not in removed]
            return _shown(self._registry.give_aliases(model, [*kept, *added]))

    def delete_model(self, request: Any, _context: Any) -> Any:
        model = self._registry.find(request.name.partition("@")[0])
        _check_undeployed(self._registry.versions(model.name))
        return self._operations.begin("delete_model", model.name, request, deletion_metadata())

    def delete_model_version(self, request: Any, _context: Any) -> Any:
        model = self._registry.find(request.name)
        if "@" not in request.name:
            raise invalid_field("name", f"{request.name!r} names no version (@VERSION).")
        _check_deletable(model)
        # By its number: an alias may have moved when the operation ends.
        sent = api.DeleteModelVersionRequest(name=key(model))
        metadata = deletion_metadata()
        return self._operations.begin("delete_model_version", model.name, sent, metadata)

    def _delete_model(self, name: str, _request: Any) -> None:
        self._registry.find(name)
        versions = self._registry.versions(name)
        _check_undeployed(versions)
        for version in versions:
            self._registry.remove(version)

    def _delete_version(self, _name: str, request: Any) -> None:
        version = self._registry.find(request.name)
        _check_deletable(version)
        self._registry.remove(version)


def _shown(version: api.Model) -> api.Model:
    """The model as GetModel and ListModelVersions return it: always named MODEL@VERSION."""
    return api.Model(version, name=key(version))


def _page(models: list[api.Model], request: Any) -> dict[str, Any]:
    found, token = page(models, request.page_size, request.page_token)
    shown = [masked(model, request.read_mask) for model in found]
    return {"models": shown, "next_page_token": token}


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


def _now() -> dict[str, Any]:
    moment = timestamp(time.time())
    return {"create_time": moment, "update_time": moment}
