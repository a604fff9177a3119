"""Checks the group's dataset, and Airflow's permissions in it.

BigQuery tests permissions of tables only, so an empty table is created in it and deleted.
"""

import secrets
import time
from collections.abc import Iterator

from trellis.doctor.diagnoses.permissions import missing
from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target
from trellis.google_api import RefusedError

API = "https://bigquery.googleapis.com/bigquery/v2/projects"
_PROJECT = "https://cloudresourcemanager.googleapis.com/v3/projects/{project}:testIamPermissions"

_ON_TABLE = (
    "bigquery.tables.get",
    "bigquery.tables.getData",
    "bigquery.tables.updateData",
    "bigquery.tables.export",
    "bigquery.tables.delete",
)
_AN_HOUR = 3_600_000


def diagnose(target: Target) -> Iterator[Finding | Passed]:
    """The dataset of snapshots and models."""
    group = target.platform
    url = f"{API}/{group.project}/datasets/{group.dataset}"
    found = target.api.find(url)
    if found is None:
        yield from _may_create(target)
        return
    if found["location"].lower() != group.location.lower():
        yield Finding(
            f"The dataset {group.dataset} is in {found['location']}, platform.yaml has "
            f"{group.location} (location).",
            "BigQuery can only join and export within one location.",
            f"Write `location: {found['location']}` in platform.yaml if the bucket is there too; "
            "else name another dataset, which the first run creates",
        )
    yield from _rights(target, url)


def _may_create(target: Target) -> Iterator[Finding | Passed]:
    group, permission = target.platform, "bigquery.datasets.create"
    answer = target.api.post(_PROJECT.format(project=group.project), {"permissions": [permission]})
    if missing([permission], answer):
        yield Finding(
            f"There is no dataset {group.dataset}, and {target.caller} may not create one.",
            "Snapshots and BigQuery ML models are created in it.",
            f"bq mk --dataset --location={group.location} {group.project}:{group.dataset}",
        )
    else:
        yield Passed(f"{group.dataset} will be created by the first run")


def _rights(target: Target, url: str) -> Iterator[Finding | Passed]:
    group = target.platform
    table = f"trellis_doctor_{secrets.token_hex(8)}"
    reference = {"projectId": group.project, "datasetId": group.dataset, "tableId": table}
    ends = str(int(time.time() * 1000) + _AN_HOUR)
    try:
        target.api.post(f"{url}/tables", {"tableReference": reference, "expirationTime": ends})
    except RefusedError as error:
        if error.status != 403:
            raise
        lacked = ["bigquery.tables.create"]
    else:
        request = {"permissions": list(_ON_TABLE)}
        answer = target.api.post(f"{url}/tables/{table}:testIamPermissions", request)
        lacked = missing(_ON_TABLE, answer)
        if "bigquery.tables.delete" not in lacked:  # else it expires
            target.api.delete(f"{url}/tables/{table}")
    if lacked:
        yield Finding(
            f"{target.caller} lacks {', '.join(lacked)} in the dataset {group.dataset}.",
            "Airflow creates, reads and exports snapshots there.",
            add_binding(
                f"{group.project}:{group.dataset}", target.member, "roles/bigquery.dataEditor"
            ),
        )
    else:
        yield Passed(f"{group.dataset}: {len(_ON_TABLE)} held")


def add_binding(dataset: str, member: str, role: str) -> str:
    """Command that grants the role on a dataset, which bq calls a table reference too."""
    return f"bq add-iam-policy-binding --member={member} --role={role} {dataset}"
