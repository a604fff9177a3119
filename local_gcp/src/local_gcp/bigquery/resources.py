"""REST resources of jobs, tables and datasets, from stored and computed fields."""

from __future__ import annotations

import re
import uuid
from typing import Any

from local_gcp.project import PROJECT_NUMBER, project_id

from . import encryption, locations
from .catalog import TableRecord, etag, now_ms
from .errors import BigQueryError, invalid
from .refs import DatasetRef

API = "https://bigquery.googleapis.com/bigquery/v2"
_JOB_ID = re.compile(r"[A-Za-z0-9_-]{1,1024}")


def user() -> str:
    """The account of all requests."""
    return f"local@{project_id()}.iam.gserviceaccount.com"


def checked_project(name: str) -> str:
    """The project's id, from its id or number; raises BigQueryError(accessDenied) for others."""
    if name in (project_id(), str(PROJECT_NUMBER)):
        return project_id()
    raise BigQueryError(
        "accessDenied",
        f"Access Denied: Project {name}: the only project in this local_gcp is {project_id()!r}.",
    )


def new_job(
    project: str, location: str | None, body: dict[str, Any], configuration: dict[str, Any]
) -> dict[str, Any]:
    """REST Job, PENDING, with the request's id or a generated one."""
    reference = body.get("jobReference") or {}
    job = reference.get("jobId") or f"job_{uuid.uuid4().hex}"
    if not _JOB_ID.fullmatch(job):
        raise invalid(
            f'Invalid job ID "{job}". Job IDs have 1 to 1024 letters, numbers, dashes and '
            "underscores."
        )
    place = locations.canonical(reference.get("location") or location or locations.DEFAULT)
    return job_resource(project, place, job, configuration)


def job_resource(
    project: str, location: str, job: str, configuration: dict[str, Any], **statistics: Any
) -> dict[str, Any]:
    """REST Job with this id, PENDING."""
    reference = {"projectId": project, "jobId": job, "location": location}
    resource = {
        "kind": "bigquery#job",
        "id": f"{project}:{location}.{job}",
        "selfLink": f"{API}/projects/{project}/jobs/{job}?location={location}",
        "user_email": user(),
        "jobReference": reference,
        "configuration": configuration,
        "status": {"state": "PENDING"},
        "statistics": {"creationTime": str(now_ms()), **statistics},
    }
    return {**resource, "etag": etag(resource)}


def table_resource(
    record: TableRecord, rows: int, size: int, location: str | None, partitions: int | None = None
) -> dict[str, Any]:
    """REST Table."""
    ref = record.ref
    resource = {
        "kind": "bigquery#table",
        "id": str(ref),
        "selfLink": f"{API}/projects/{ref.project}/datasets/{ref.dataset}/tables/{ref.table}",
        "tableReference": ref.api,
        "location": location,
        **record.resource,
        "numRows": str(rows),
        "numBytes": str(size),
        "numLongTermBytes": "0",
        "numTotalLogicalBytes": str(size),
        "numActiveLogicalBytes": str(size),
        "numLongTermLogicalBytes": "0",
    }
    if partitions:
        resource["numPartitions"] = str(partitions)
    if column := (record.partitioning or {}).get("field"):
        resource["partitionDefinition"] = {"partitionedColumn": [{"field": column}]}
    return {**resource, "etag": etag(record.resource)}


def table_item(record: TableRecord) -> dict[str, Any]:
    """The table as an item of tables.list."""
    kept: tuple[str, ...] = (
        "type",
        "friendlyName",
        "labels",
        "timePartitioning",
        "clustering",
        "creationTime",
    )
    kept += ("expirationTime", "requirePartitionFilter")
    item = {
        "kind": "bigquery#table",
        "id": str(record.ref),
        "tableReference": record.ref.api,
        **{name: record.resource[name] for name in kept if name in record.resource},
    }
    if record.view_query is not None:
        item["view"] = {"useLegacySql": False}
    return item


def dataset_resource(ref: DatasetRef, stored: dict[str, Any]) -> dict[str, Any]:
    """REST Dataset."""
    return {
        "kind": "bigquery#dataset",
        "id": str(ref),
        "selfLink": f"{API}/projects/{ref.project}/datasets/{ref.dataset}",
        "datasetReference": ref.api,
        "type": "DEFAULT",
        **stored,
        "etag": etag(stored),
    }


def new_dataset(body: dict[str, Any]) -> dict[str, Any]:
    """The stored fields of a new dataset."""
    kept = ("friendlyName", "description", "labels", "access", "defaultTableExpirationMs")
    kept += ("defaultPartitionExpirationMs", "maxTimeTravelHours", "storageBillingModel")
    kept += ("resourceTags",)
    now = str(now_ms())
    resource = {name: body[name] for name in kept if body.get(name) is not None}
    resource.setdefault("access", _default_access())
    resource["location"] = locations.canonical(body.get("location") or locations.DEFAULT)
    key = body.get("defaultEncryptionConfiguration")
    if key and key.get("kmsKeyName"):  # null removes it
        resource["defaultEncryptionConfiguration"] = encryption.checked(key, resource["location"])
    return {**resource, "creationTime": now, "lastModifiedTime": now}


def _default_access() -> list[dict[str, Any]]:
    groups = {"WRITER": "projectWriters", "OWNER": "projectOwners", "READER": "projectReaders"}
    access: list[dict[str, Any]] = [{"role": r, "specialGroup": g} for r, g in groups.items()]
    return [*access, {"role": "OWNER", "userByEmail": user()}]
