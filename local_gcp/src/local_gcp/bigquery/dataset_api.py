"""REST resources Dataset and Project."""

from __future__ import annotations

import re
from typing import Any

from local_gcp.project import PROJECT_NUMBER, project_id
from local_gcp.rest import check_unchanged
from local_gcp.storage.call import Call

from . import locations
from .catalog import ANONYMOUS, Catalog, etag, now_ms
from .database import Database
from .errors import BigQueryError, invalid
from .locks import TableLocks
from .pages import page_by_name
from .refs import DatasetRef
from .resources import checked_project, dataset_resource, new_dataset, user

_FILTER = re.compile(r"labels\.([\w-]+)(?::(.*))?")
_TIME_TRAVEL_HOURS = "168"
_FIXED = ("kind", "id", "selfLink", "etag", "datasetReference", "creationTime", "location", "type")


class DatasetApi:
    """Endpoints; each runs in one transaction."""

    def __init__(self, database: Database, locks: TableLocks):
        self._database, self._locks = database, locks

    def projects(self, call: Call) -> dict[str, Any]:
        """projects.list: the only project."""
        project = {
            "kind": "bigquery#project",
            "id": project_id(),
            "numericId": str(PROJECT_NUMBER),
            "projectReference": {"projectId": project_id()},
            "friendlyName": project_id(),
        }
        return {"kind": "bigquery#projectList", "projects": [project], "totalItems": 1}

    def service_account(self, call: Call) -> dict[str, Any]:
        """projects.getServiceAccount."""
        checked_project(call.params["project"])
        return {"kind": "bigquery#getServiceAccountResponse", "email": user()}

    def list(self, call: Call) -> dict[str, Any]:
        """datasets.list, also by label (filter=labels.KEY:VALUE)."""
        project = checked_project(call.params["project"])
        with self._database.cursor() as cursor:
            stored = Catalog(cursor).datasets(project)
        items = []
        for resource in stored:
            if not _matches(resource, call.query.get("filter")):
                continue
            ref = DatasetRef(project, resource["datasetId"])
            full = dataset_resource(ref, _shown(resource))
            kept = ("kind", "id", "datasetReference", "labels", "friendlyName", "location")
            items.append((ref.dataset, {name: full[name] for name in kept if name in full}))
        page, token = page_by_name(items, call.number("maxResults"), call.query.get("pageToken"))
        answer = {"kind": "bigquery#datasetList", "etag": etag(page), "datasets": page}
        return {**answer, "nextPageToken": token} if token else answer

    def insert(self, call: Call) -> dict[str, Any]:
        """datasets.insert."""
        reference = call.body.get("datasetReference") or {}
        project = checked_project(reference.get("projectId") or call.params["project"])
        ref = DatasetRef.parse(reference.get("datasetId") or "", project)
        if ref.dataset == ANONYMOUS:
            raise invalid(f'Invalid dataset ID "{ref.dataset}".')
        stored = {"datasetId": ref.dataset, **new_dataset(dict(call.body))}
        with self._locks.hold([ref]), self._database.transaction() as cursor:
            Catalog(cursor).create_dataset(ref, stored)
        return dataset_resource(ref, _shown(stored))

    def get(self, call: Call) -> dict[str, Any]:
        """datasets.get."""
        ref = _ref(call)
        with self._database.cursor() as cursor:
            stored = _shown(Catalog(cursor).dataset(ref))
        # Not in the response of datasets.insert: tests/conformance/facts.
        return {"maxTimeTravelHours": _TIME_TRAVEL_HOURS, **dataset_resource(ref, stored)}

    def patch(self, call: Call) -> dict[str, Any]:
        """datasets.patch: changes the given members."""
        return self._change(call, replace=False)

    def update(self, call: Call) -> dict[str, Any]:
        """datasets.update: replaces all members that can change."""
        return self._change(call, replace=True)

    def delete(self, call: Call) -> None:
        """datasets.delete."""
        ref = _ref(call)
        with self._database.cursor() as cursor:
            tables = [record.ref for record in Catalog(cursor).tables(ref)]
        with self._locks.hold([ref, *tables]), self._database.transaction() as cursor:
            Catalog(cursor).delete_dataset(ref, call.flag("deleteContents"))

    def _change(self, call: Call, replace: bool) -> dict[str, Any]:
        ref = _ref(call)
        with self._locks.hold([ref]), self._database.transaction() as cursor:
            catalog = Catalog(cursor)
            stored = catalog.dataset(ref)
            check_etag(call, dataset_resource(ref, _shown(stored))["etag"])
            reference = call.body.get("datasetReference") or {}
            checked_project(reference.get("projectId") or ref.project)
            check_unchanged("datasetId", reference.get("datasetId"), ref.dataset)
            place = call.body.get("location") and locations.canonical(call.body["location"])
            check_unchanged("location", place, stored["location"])
            body = {name: value for name, value in call.body.items() if name not in _FIXED}
            fresh = new_dataset({**body, "location": stored["location"]})
            if not replace:
                fresh = {**stored, **{name: fresh.get(name) for name in body}}
                labels = merged_labels(stored.get("labels"), call.body.get("labels"))
                fresh["labels"] = labels or None
            new = {"datasetId": ref.dataset, **fresh, "creationTime": stored["creationTime"]}
            new["lastModifiedTime"] = str(now_ms())
            new = {name: value for name, value in new.items() if value is not None}
            catalog.update_dataset(ref, new)
            return dataset_resource(ref, _shown(new))


def check_etag(call: Call, current: str) -> None:
    """Raise BigQueryError(conditionNotMet) if If-Match names another version."""
    wanted = call.headers.get("if-match")
    if wanted and wanted not in ("*", current):
        raise BigQueryError("conditionNotMet", "Precondition Failed")


def merged_labels(old: dict | None, new: dict | None) -> dict:
    """The labels after a patch; null removes a label."""
    merged = {**(old or {}), **(new or {})}
    return {name: value for name, value in merged.items() if value is not None}


def _ref(call: Call) -> DatasetRef:
    return DatasetRef(checked_project(call.params["project"]), call.params["dataset"])


def _shown(stored: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in stored.items() if name != "datasetId"}


def _matches(resource: dict[str, Any], wanted: str | None) -> bool:
    if not wanted:
        return True
    labels = resource.get("labels", {})
    for part in wanted.split():
        match = _FILTER.fullmatch(part)
        if not match:
            raise invalid(f"Invalid filter {wanted!r}: expected labels.KEY:VALUE.")
        key, value = match.groups()
        if key not in labels or (value is not None and labels[key] != value):
            return False
    return True
