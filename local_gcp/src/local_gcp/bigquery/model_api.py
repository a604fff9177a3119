"""REST resource Model."""

from __future__ import annotations

from typing import Any

from local_gcp.storage.call import Call

from .catalog import Catalog, etag, now_ms
from .database import Database
from .dataset_api import check_etag, merged_labels
from .encryption import replaced
from .locks import TableLocks
from .ml import ModelRecord, Models
from .pages import page_by_name
from .refs import DatasetRef, ModelRef
from .resources import checked_project

_PATCHED = ("description", "friendlyName", "labels", "expirationTime")


class ModelApi:
    """Endpoints; each runs in one transaction."""

    def __init__(self, database: Database, locks: TableLocks, models: Models):
        self._database, self._locks, self._models = database, locks, models

    def list(self, call: Call) -> dict[str, Any]:
        """models.list."""
        dataset = DatasetRef(checked_project(call.params["project"]), call.params["dataset"])
        with self._database.cursor() as cursor:
            catalog = Catalog(cursor)
            catalog.dataset(dataset)
            stored = catalog.models(dataset)
        items = [
            (name, ModelRecord.from_json(record).summary(ModelRef(*dataset.api.values(), name)))
            for name, record in stored.items()
        ]
        page, token = page_by_name(items, call.number("maxResults"), call.query.get("pageToken"))
        answer = {"models": page, "etag": etag(page)}
        return {**answer, "nextPageToken": token} if token else answer

    def get(self, call: Call) -> dict[str, Any]:
        """models.get."""
        ref = _ref(call)
        with self._database.cursor() as cursor:
            return _need(Catalog(cursor), ref).rest(ref)

    def patch(self, call: Call) -> dict[str, Any]:
        """models.patch: description, friendlyName, labels, expirationTime and the key."""
        ref = _ref(call)
        with self._locks.hold([ref.dataset_ref]), self._database.transaction() as cursor:
            catalog = Catalog(cursor)
            record = _need(catalog, ref)
            check_etag(call, record.rest(ref)["etag"])
            changes = {name: call.body[name] for name in _PATCHED if name in call.body}
            if "labels" in changes:
                changes["labels"] = merged_labels(record.resource.get("labels"), changes["labels"])
            if "encryptionConfiguration" in call.body:
                old = record.resource.get("encryptionConfiguration")
                new, location = call.body["encryptionConfiguration"], record.resource["location"]
                changes["encryptionConfiguration"] = replaced(old, new, location)
            changed = {**record.resource, **changes, "lastModifiedTime": str(now_ms())}
            record.resource = {name: v for name, v in changed.items() if v is not None}
            catalog.put_model(ref, record.json)
            return record.rest(ref)

    def delete(self, call: Call) -> None:
        """models.delete."""
        ref = _ref(call)
        with self._locks.hold([ref.dataset_ref]), self._database.transaction() as cursor:
            catalog = Catalog(cursor)
            record = _need(catalog, ref)
            catalog.delete_model(ref)
        self._models.delete(record)


def _need(catalog: Catalog, ref: ModelRef) -> ModelRecord:
    return ModelRecord.from_json(catalog.model(ref))


def _ref(call: Call) -> ModelRef:
    project = checked_project(call.params["project"])
    return ModelRef(project, call.params["dataset"], call.params["model"])
