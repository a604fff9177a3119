"""The JSON API's `objects` resource, without uploads and downloads of bytes.

https://cloud.google.com/storage/docs/json_api/v1/objects
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from local_gcp.rest import ApiError, check_unchanged
from local_gcp.storage import listing
from local_gcp.storage.call import Call
from local_gcp.storage.checksums import Checksums, checksums
from local_gcp.storage.preconditions import Preconditions
from local_gcp.storage.resources import object_resource, patched, writable_object_fields
from local_gcp.storage.store import ObjectStore
from local_gcp.storage.stored_object import StoredObject

_MAX_COMPOSED = 32


class ObjectApi:
    """One method for each API method; see `call.endpoint`."""

    def __init__(self, store: ObjectStore):
        self.store = store

    def get(self, call: Call) -> dict[str, Any]:
        found = self.store.get(call.bucket, call.object, call.generation)
        call.conditions.check(found, reading=True)
        return self._resource(call, found)

    def list(self, call: Call) -> dict[str, Any]:
        query = call.query
        page = listing.list_page(
            self.store.need_bucket(call.bucket),
            listing.Query(
                prefix=query.get("prefix", ""),
                delimiter=query.get("delimiter"),
                start=query.get("startOffset", ""),
                end=query.get("endOffset"),
                glob=query.get("matchGlob"),
                trailing_delimiter=call.flag("includeTrailingDelimiter"),
                page_token=query.get("pageToken"),
                max_results=_page_size(call),
            ),
            self.store.catalog.placeholders(call.bucket),
        )
        found = (self.store.find(call.bucket, name) for name in page.names)
        result: dict[str, Any] = {"kind": "storage#objects"}
        items = [self._resource(call, one) for one in found if one]  # one may have been deleted
        if items:
            result["items"] = items
        if page.prefixes:
            result["prefixes"] = page.prefixes
        if page.next_page_token:
            result["nextPageToken"] = page.next_page_token
        return result

    def patch(self, call: Call) -> dict[str, Any]:
        changes = writable_object_fields(call.body)
        return self._update(call, lambda fields: patched(fields, changes))

    def update(self, call: Call) -> dict[str, Any]:
        fields = writable_object_fields(call.body)
        return self._update(call, lambda _: fields)

    def delete(self, call: Call) -> None:
        self.store.delete(call.bucket, call.object, call.conditions, call.generation)

    def compose(self, call: Call) -> dict[str, Any]:
        wanted = call.body.get("sourceObjects") or []
        if not 1 <= len(wanted) <= _MAX_COMPOSED:
            raise ApiError(
                400, f"compose takes 1 to {_MAX_COMPOSED} sourceObjects, not {len(wanted)}."
            )
        if not all(source.get("name") for source in wanted):
            raise ApiError(400, "Each of sourceObjects needs a name.", "required")
        given = call.body.get("destination") or {}
        check_unchanged("name", given.get("name"), call.object)
        fields = writable_object_fields(given)
        if key := call.query.get("kmsKeyName"):
            fields["kmsKeyName"] = key
        target = self.store.temporary()
        try:
            with target.open("xb") as out:
                sources = [self._append(call.bucket, source, out) for source in wanted]
            with target.open("rb") as file:
                sums = checksums(file)
            fields["componentCount"] = sum(
                source.fields.get("componentCount", 1) for source in sources
            )
            composed = self.store.put(
                *(target, call.bucket, call.object, fields),
                # MD5 cannot be computed from the parts': Cloud Storage has none either.
                *(Checksums(sums.crc32c, None), call.conditions),
            )
        finally:
            target.unlink(missing_ok=True)
        if call.body.get("deleteSourceObjects"):
            # Each generation once: a source may be named twice, or be the target itself.
            for name, generation in {(source.name, source.generation) for source in sources}:
                if name != composed.name:
                    self.store.delete(call.bucket, name, Preconditions(generation))
        return object_resource(composed, call.base_url)

    def copy(self, call: Call) -> dict[str, Any]:
        return object_resource(self._copy(call), call.base_url)

    def rewrite(self, call: Call) -> dict[str, Any]:
        copied = self._copy(call)
        return {
            "kind": "storage#rewriteResponse",
            "totalBytesRewritten": str(copied.size),
            "objectSize": str(copied.size),
            "done": True,  # always in one call, which Cloud Storage allows
            "resource": object_resource(copied, call.base_url),
        }

    def move(self, call: Call) -> dict[str, Any]:
        moved = self._copy(call)
        source = self.store.get(call.bucket, call.object)
        self.store.delete(call.bucket, call.object, Preconditions(source.generation))
        return object_resource(moved, call.base_url)

    def _copy(self, call: Call) -> StoredObject:
        check_unchanged("name", call.body.get("name"), call.params["target"])
        source = self.store.get(call.bucket, call.object, call.number("sourceGeneration"))
        Preconditions.of(call.query, prefix="ifSource").check(source)
        source = self.store.summed(source)
        # Metadata in the request replaces all of the source's; else that is copied.
        # Class and key are those of the target's bucket, in any case.
        kept = {n: v for n, v in source.fields.items() if n not in ("kmsKeyName", "storageClass")}
        fields = writable_object_fields(call.body) or kept
        if key := call.query.get("destinationKmsKeyName"):
            fields = {**fields, "kmsKeyName": key}
        target_bucket = call.params.get("target_bucket", call.bucket)
        self.store.need_bucket(target_bucket)
        temporary = self.store.copy(source)
        assert source.checksums
        return self._put(
            temporary, target_bucket, call.params["target"], fields, source.checksums, call
        )

    def _put(
        self,
        temporary: Path,
        bucket: str,
        name: str,
        fields: dict[str, Any],
        sums: Checksums,
        call: Call,
    ) -> StoredObject:
        try:
            return self.store.put(temporary, bucket, name, fields, sums, call.conditions)
        finally:
            temporary.unlink(missing_ok=True)

    def _append(self, bucket: str, source: dict[str, Any], out: BinaryIO) -> StoredObject:
        """Write one source of a compose to `out`; returns the object that was read."""
        generation = source.get("generation")
        file, found = self.store.open(
            bucket, source["name"], int(generation) if generation else None
        )
        with file:
            conditions = source.get("objectPreconditions") or {}
            Preconditions.of({key: str(value) for key, value in conditions.items()}).check(found)
            while block := file.read(1 << 20):
                out.write(block)
        return found

    def _update(self, call: Call, change) -> dict[str, Any]:
        check_unchanged("name", call.body.get("name"), call.object)
        updated = self.store.update(
            call.bucket, call.object, change, call.conditions, call.generation
        )
        return object_resource(updated, call.base_url)

    def _resource(self, call: Call, found: StoredObject) -> dict[str, Any]:
        """The resource; checksums are only computed if `fields` includes them."""
        fields = call.query.get("fields", "*")
        if any(name in fields for name in ("*", "crc32c", "md5Hash")):
            found = self.store.summed(found)
        return object_resource(found, call.base_url)


def _page_size(call: Call) -> int:
    requested = call.number("maxResults", listing.MAX_RESULTS) or listing.MAX_RESULTS
    return min(requested, listing.MAX_RESULTS)
