"""REST resources of objects and buckets, and the fields that a client may write.

https://cloud.google.com/storage/docs/json_api/v1/objects#resource and .../buckets#resource
"""

from __future__ import annotations

import datetime as dt
from typing import Any
from urllib.parse import quote

from local_gcp.project import PROJECT_NUMBER, REGIONS
from local_gcp.rest import ApiError
from local_gcp.storage.catalog import BucketRow
from local_gcp.storage.stored_object import StoredObject

_OBJECT_FIELDS = (
    "cacheControl",
    "contentDisposition",
    "contentEncoding",
    "contentLanguage",
    "contentType",
    "customTime",
    "kmsKeyName",
    "metadata",
    "storageClass",
)
"""Fields of an object that are stored as sent."""

_BUCKET_FIELDS = (
    "autoclass",
    "cors",
    "customPlacementConfig",
    "encryption",
    "hierarchicalNamespace",
    "iamConfiguration",
    "labels",
    "lifecycle",
    "location",
    "rpo",
    "softDeletePolicy",
    "storageClass",
    "versioning",
)
"""Fields of a bucket. Lifecycle rules, which act after days, are not executed."""

_MULTI_REGIONS = ("ASIA", "EU", "US")
_DUAL_REGIONS: dict[str, tuple[str, ...]] = {
    "ASIA1": ("ASIA-NORTHEAST1", "ASIA-NORTHEAST2"),
    "EUR4": ("EUROPE-NORTH1", "EUROPE-WEST4"),
    "EUR5": ("EUROPE-WEST1", "EUROPE-WEST2"),
    "EUR7": ("EUROPE-WEST2", "EUROPE-WEST3"),
    "EUR8": ("EUROPE-WEST3", "EUROPE-WEST6"),
    "NAM4": ("US-CENTRAL1", "US-EAST1"),
}
"""https://cloud.google.com/storage/docs/locations#location-dr"""

_ONLY_STORAGE = {"asia-southeast3", "europe-west10", "northamerica-south1", "us-central2"}
"""Regions of Cloud Storage where Vertex AI is not."""
_CLASSES = (
    "STANDARD",
    "NEARLINE",
    "COLDLINE",
    "ARCHIVE",
    "MULTI_REGIONAL",
    "REGIONAL",
    "DURABLE_REDUCED_AVAILABILITY",
)
"""https://cloud.google.com/storage/docs/storage-classes; the last three are former names."""
_PUBLIC_ACCESS = ("inherited", "enforced", "unspecified")

_MAX_METADATA_BYTES = 8192

_ACCESS = "uniformBucketLevelAccess"
_SOFT_DELETE_SECONDS = "604800"
_DAYS_UNTIL_LOCKED = 90
_DAY = 24 * 3600 * 1_000_000
"""In microseconds."""

_UNQUOTED = "'(),"
"""Unescaped characters in recorded links of objects: tests/conformance/facts/gcsfs.json."""


def writable_object_fields(resource: dict[str, Any]) -> dict[str, Any]:
    """The fields of a client's object resource that are stored."""
    if (resource.get("storageClass") or "STANDARD").upper() not in _CLASSES:
        raise ApiError(400, f"Invalid storage class: {resource['storageClass']!r}.")
    metadata = resource.get("metadata")
    if metadata is not None:
        if not isinstance(metadata, dict):
            raise ApiError(400, f"metadata: expected an object of strings, got {metadata!r}.")
        if sum(len(f"{k}{v}".encode()) for k, v in metadata.items()) > _MAX_METADATA_BYTES:
            raise ApiError(400, f"Custom metadata has more than {_MAX_METADATA_BYTES} bytes.")
    return {key: value for key, value in resource.items() if key in _OBJECT_FIELDS}


def writable_bucket_fields(resource: dict[str, Any]) -> dict[str, Any]:
    """Return the writable fields of a bucket resource."""
    location = resource.get("location")
    if location is not None and location.upper() not in _locations():
        raise ApiError(400, f"The specified location constraint is not valid: {location!r}.")
    if (resource.get("storageClass") or "STANDARD").upper() not in _CLASSES:
        raise ApiError(400, f"Invalid storage class: {resource['storageClass']!r}.")
    access = resource.get("iamConfiguration") or {}
    if (access.get("publicAccessPrevention") or "inherited") not in _PUBLIC_ACCESS:
        raise ApiError(
            400,
            "Invalid value for iamConfiguration.publicAccessPrevention: "
            f"{access['publicAccessPrevention']!r}.",
        )
    kept = {key: value for key, value in resource.items() if key in _BUCKET_FIELDS}
    if access:
        former = access.get("bucketPolicyOnly")
        access = {key: value for key, value in access.items() if key != "bucketPolicyOnly"}
        kept["iamConfiguration"] = {_ACCESS: former, **access} if former else access
    return kept


def _locations() -> set[str]:
    regions = {region.upper() for region in REGIONS | _ONLY_STORAGE}
    return {*_MULTI_REGIONS, *_DUAL_REGIONS, *regions}


def patched(fields: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`fields` after a PATCH: null removes a key; `metadata` and `labels` are merged key by key."""
    result = dict(fields)
    for key, value in changes.items():
        if key in ("metadata", "labels") and isinstance(value, dict):
            value = patched(result.get(key) or {}, value)
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


def object_resource(found: StoredObject, base_url: str) -> dict[str, Any]:
    """The object as JSON, with checksums if `found` has them."""
    path = f"/storage/v1/b/{found.bucket}/o/{quote(found.name, safe=_UNQUOTED)}"
    created = _time(found.generation)
    resource = {
        "kind": "storage#object",
        "id": f"{found.bucket}/{found.name}/{found.generation}",
        "selfLink": _self_link(base_url, path),
        "mediaLink": f"{base_url}/download{path}?generation={found.generation}&alt=media",
        "name": found.name,
        "bucket": found.bucket,
        "generation": str(found.generation),
        "metageneration": str(found.metageneration),
        "storageClass": "STANDARD",
        "size": str(found.size),
        "etag": found.etag,
        "timeCreated": created,
        "updated": _time(found.updated),
        "timeStorageClassUpdated": created,
        "timeFinalized": created,
        **found.fields,
    }
    if found.checksums:
        resource["crc32c"] = found.checksums.crc32c
        if found.checksums.md5:
            resource["md5Hash"] = found.checksums.md5
    return resource


def bucket_resource(row: BucketRow, base_url: str) -> dict[str, Any]:
    """The bucket as JSON."""
    return {
        "kind": "storage#bucket",
        "id": row.name,
        "name": row.name,
        "selfLink": _self_link(base_url, f"/storage/v1/b/{row.name}"),
        "projectNumber": str(PROJECT_NUMBER),
        "generation": str(row.created),
        "metageneration": str(row.metageneration),
        "storageClass": "STANDARD",
        "etag": f"{row.metageneration}",
        "timeCreated": _time(row.created),
        "updated": _time(row.updated),
        **_defaults(row),
        **_place(row.fields),
    }


def _defaults(row: BucketRow) -> dict[str, Any]:
    """The bucket's settings with Cloud Storage's defaults.

    Source: recordings, tests/conformance/facts/k8s-config-connector.json.
    """
    fields = dict(row.fields)
    access = {"enabled": False, **fields.get("iamConfiguration", {}).get(_ACCESS, {})}
    if access["enabled"]:
        # After that time it cannot be disabled.
        access = {"lockedTime": _time(row.created + _DAYS_UNTIL_LOCKED * _DAY), **access}
    fields["iamConfiguration"] = {
        "publicAccessPrevention": "inherited",
        **fields.get("iamConfiguration", {}),
        _ACCESS: access,
        "bucketPolicyOnly": access,  # its former name
    }
    fields["softDeletePolicy"] = {
        "retentionDurationSeconds": _SOFT_DELETE_SECONDS,
        "effectiveTime": _time(row.created),
        **fields.get("softDeletePolicy", {}),
    }
    if fields.get("autoclass", {}).get("enabled"):
        times = ("toggleTime", "terminalStorageClassUpdateTime")
        fields["autoclass"] = {
            "terminalStorageClass": "NEARLINE",
            **dict.fromkeys(times, _time(row.created)),
            **fields["autoclass"],
        }
        fields["storageClass"] = "STANDARD"  # each object has its own class
    if _place(fields)["locationType"] != "region":
        fields.setdefault("rpo", "DEFAULT")
    if not fields.get("lifecycle", {}).get("rule"):
        fields.pop("lifecycle", None)
    return fields


def with_autoclass_times(old: dict[str, Any], new: dict[str, Any], now: int) -> dict[str, Any]:
    """A bucket's new fields; each setting of Autoclass that changes gets its time, `now`."""
    before, after = old.get("autoclass") or {}, new.get("autoclass")
    if not after:
        return new
    after = {**before, **after}
    if bool(before.get("enabled")) != bool(after.get("enabled")):
        after["toggleTime"] = _time(now)
    if before.get("terminalStorageClass") != after.get("terminalStorageClass"):
        after["terminalStorageClassUpdateTime"] = _time(now)
    return {**new, "autoclass": after}


def _self_link(base_url: str, path: str) -> str:
    # Links to resources still have the API's first host; those to bytes have the new one.
    return base_url.replace("//storage.googleapis.com", "//www.googleapis.com") + path


def _place(fields: dict[str, Any]) -> dict[str, str]:
    """`location` as Cloud Storage shows it, and its kind.

    https://cloud.google.com/storage/docs/locations
    """
    location = fields.get("location", "US").upper()
    kind = "multi-region" if location in _MULTI_REGIONS else "region"
    if location in _DUAL_REGIONS or "customPlacementConfig" in fields:
        kind = "dual-region"
    return {"location": location, "locationType": kind}


def bucket_places(fields: dict[str, Any]) -> tuple[str, list[str]]:
    """A bucket's location, and its parts: a dual-region has two regions."""
    location = _place(fields)["location"]
    custom = (fields.get("customPlacementConfig") or {}).get("dataLocations")
    return location, list(custom or _DUAL_REGIONS.get(location, (location,)))


def _time(microseconds: int) -> str:
    moment = dt.datetime.fromtimestamp(microseconds // 1_000_000, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{microseconds // 1000 % 1000:03d}Z"
