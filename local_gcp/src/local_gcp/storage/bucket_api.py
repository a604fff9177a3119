"""The JSON API's `buckets` resource: https://cloud.google.com/storage/docs/json_api/v1/buckets."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local_gcp.project import PROJECT_NUMBER, project_id
from local_gcp.rest import ApiError, check_unchanged
from local_gcp.storage import listing
from local_gcp.storage.call import Call
from local_gcp.storage.catalog import BucketRow
from local_gcp.storage.naming import bucket_path
from local_gcp.storage.resources import (
    bucket_resource,
    patched,
    with_autoclass_times,
    writable_bucket_fields,
)
from local_gcp.storage.store import ObjectStore

_FIXED = ("location", "customPlacementConfig")
"""Where a bucket is, since its creation."""


class BucketApi:
    """One method for each API method; see `call.endpoint`. A bucket is a folder."""

    def __init__(self, store: ObjectStore):
        self.store, self.catalog = store, store.catalog
        self._lock = threading.Lock()

    def insert(self, call: Call) -> dict[str, Any]:
        name = call.body.get("name")
        if not isinstance(name, str):
            raise ApiError(400, "Required: the bucket's 'name'.", "required")
        _check_project(call)
        path = bucket_path(self.store.root, name)
        fields = writable_bucket_fields(call.body)
        now = time.time_ns() // 1000
        with self._lock:
            if path.exists():
                raise ApiError(
                    409,
                    f"Your previous request to create the named bucket succeeded and you already "
                    f"own it: {name}",
                    "conflict",
                )
            row = BucketRow(name, 1, fields, now, now)
            self.catalog.put_bucket(row)  # before the folder, which makes the bucket exist
            path.mkdir()
        return bucket_resource(row, call.base_url)

    def get(self, call: Call) -> dict[str, Any]:
        return bucket_resource(self._row(call), call.base_url)

    def list(self, call: Call) -> dict[str, Any]:
        _check_project(call)
        prefix, after = call.query.get("prefix", ""), call.query.get("pageToken", "")
        limit = min(call.number("maxResults") or listing.MAX_RESULTS, listing.MAX_RESULTS)
        names = sorted(
            path.name
            for path in self.store.root.iterdir()
            if path.is_dir() and path.name.startswith(prefix) and path.name > after
        )
        rows = [self._read(name) for name in names[:limit]]
        result = {
            "kind": "storage#buckets",
            "items": [bucket_resource(row, call.base_url) for row in rows],
        }
        return result | ({"nextPageToken": names[limit - 1]} if len(names) > limit else {})

    def patch(self, call: Call) -> dict[str, Any]:
        changes = writable_bucket_fields(call.body)
        return self._change(call, lambda fields: patched(fields, changes))

    def update(self, call: Call) -> dict[str, Any]:
        new = writable_bucket_fields(call.body)
        return self._change(
            call, lambda old: {**{name: old[name] for name in _FIXED if name in old}, **new}
        )

    def delete(self, call: Call) -> None:
        with self._lock:
            path = self.store.need_bucket(call.bucket)
            _check_metageneration(call, self._read(call.bucket))
            placeholders = self.catalog.placeholders(call.bucket)
            if next(listing.walk(path, "", placeholders=placeholders), None) is not None:
                raise ApiError(409, "The bucket you tried to delete is not empty.", "conflict")
            _remove_empty_folders(path)
            self.catalog.delete_bucket(call.bucket)

    def storage_layout(self, call: Call) -> dict[str, Any]:
        resource = bucket_resource(self._row(call), call.base_url)
        return {
            "kind": "storage#storageLayout",
            "bucket": call.bucket,
            "location": resource["location"],
            "locationType": resource["locationType"],
            "hierarchicalNamespace": {"enabled": False},
        }

    def test_permissions(self, call: Call) -> dict[str, Any]:
        self._row(call)
        # Every user of this machine is the owner.
        return {
            "kind": "storage#testIamPermissionsResponse",
            "permissions": call.query.getlist("permissions"),
        }

    def _row(self, call: Call) -> BucketRow:
        self.store.need_bucket(call.bucket)
        row = self._read(call.bucket)
        _check_metageneration(call, row)
        return row

    def _read(self, name: str) -> BucketRow:
        row = self.catalog.bucket(name)
        if row:
            return row
        created = bucket_path(self.store.root, name).stat().st_ctime_ns // 1000
        return BucketRow(name, 1, {}, created, created)  # a folder made by another program

    def _change(self, call: Call, change: Callable[[dict], dict]) -> dict[str, Any]:
        check_unchanged("name", call.body.get("name"), call.bucket)
        with self._lock:
            row = self._row(call)
            place = bucket_resource(row, call.base_url)
            for name in _FIXED:
                check_unchanged(name, _upper(call.body.get(name)), _upper(place.get(name)))
            fields = change(row.fields)
            fields = with_autoclass_times(row.fields, fields, time.time_ns() // 1000)
            if fields == row.fields:
                return bucket_resource(row, call.base_url)
            changed = dataclasses.replace(
                row,
                metageneration=row.metageneration + 1,
                fields=fields,
                updated=time.time_ns() // 1000,
            )
            self.catalog.put_bucket(changed)
        return bucket_resource(changed, call.base_url)


def _upper(value: Any) -> Any:
    """A location, or a list of some, as Cloud Storage shows it."""
    if isinstance(value, dict):
        return {name: _upper(item) for name, item in value.items()}
    if isinstance(value, list):
        return sorted(map(_upper, value))
    return value.upper() if isinstance(value, str) else value


def _check_project(call: Call) -> None:
    named = call.query.get("project")
    if named and named not in (project_id(), str(PROJECT_NUMBER)):
        raise ApiError(
            403,
            "The caller does not have storage.buckets access to the Google Cloud project. "
            f"(local_gcp: there is one project here, {project_id()!r}, not {named!r}.)",
            "forbidden",
        )


def _check_metageneration(call: Call, row: BucketRow) -> None:
    match = call.number("ifMetagenerationMatch")
    differ = call.number("ifMetagenerationNotMatch")
    if match not in (None, row.metageneration) or differ == row.metageneration:
        raise ApiError(
            412,
            f"The bucket {row.name} has metageneration {row.metageneration}; the request's "
            "precondition does not hold.",
            "conditionNotMet",
        )


def _remove_empty_folders(path: Path) -> None:
    # Not rmtree: a file that a program has just written must not be lost.
    for child in path.iterdir():
        if child.is_dir() and not child.is_symlink():
            _remove_empty_folders(child)
    path.rmdir()
