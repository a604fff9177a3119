"""Checks the group's dataset, Airflow's permissions in it, and the tables of experiments.

BigQuery tests permissions of tables only, so an empty table is created in it and deleted.
"""

import secrets
import time
from collections.abc import Iterator

from trellis.doctor.diagnoses.permissions import missing
from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target
from trellis.google_api import RefusedError
from trellis.workflow.spec.prediction import TablePredict
from trellis.workflow.spec.source import TableSource

_API = "https://bigquery.googleapis.com/bigquery/v2/projects"
_PROJECT = "https://cloudresourcemanager.googleapis.com/v3/projects/{project}:testIamPermissions"

_ON_TABLE = (
    "bigquery.tables.get",
    "bigquery.tables.getData",
    "bigquery.tables.updateData",
    "bigquery.tables.export",
    "bigquery.tables.delete",
)
_TO_READ = ("bigquery.tables.get", "bigquery.tables.getData")
_AN_HOUR = 3_600_000


def dataset(target: Target) -> Iterator[Finding | Passed]:
    """The dataset of snapshots and models."""
    group = target.platform
    url = f"{_API}/{group.project}/datasets/{group.dataset}"
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


def sources(target: Target) -> Iterator[Finding | Passed]:
    """The tables that experiments name: they exist, are readable, and in the right location."""
    group = target.platform
    for name in tables(target):
        project, dataset_, table = name.split(".")
        url = f"{_API}/{project}/datasets/{dataset_}"
        found = target.api.find(f"{url}/tables/{table}")
        if found is None:
            yield Finding(
                f"There is no table {name}, or {target.caller} has no access to it.",
                "An experiment reads it.",
                f"bq show {project}:{dataset_}.{table}",
            )
            continue
        if found["location"].lower() != group.location.lower():
            yield Finding(
                f"{name} is in {found['location']}, platform.yaml has {group.location}.",
                "A query cannot copy rows between locations: the snapshot would fail.",
                f"Copy it: bq cp {project}:{dataset_}.{table} {group.project}:DATASET.{table}",
            )
        answer = target.api.post(
            f"{url}/tables/{table}:testIamPermissions", {"permissions": list(_TO_READ)}
        )
        if lacked := missing(_TO_READ, answer):
            yield Finding(
                f"{target.caller} lacks {', '.join(lacked)} on {name}.",
                "An experiment reads it.",
                _add_binding(f"{project}:{dataset_}", target.member, "roles/bigquery.dataViewer"),
            )
        else:
            yield Passed(name)


def tables(target: Target) -> list[str]:
    """The tables that experiments read, as PROJECT.DATASET.TABLE."""
    group = target.platform
    names = []
    for experiment in target.experiments.values():
        if isinstance(experiment.source, TableSource):
            names.append(group.table(experiment.source.bigquery))
        if isinstance(experiment.predict, TablePredict):
            names.append(group.table(experiment.predict.bigquery))
    return list(dict.fromkeys(names))


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
            _add_binding(
                f"{group.project}:{group.dataset}", target.member, "roles/bigquery.dataEditor"
            ),
        )
    else:
        yield Passed(f"{group.dataset}: {len(_ON_TABLE)} held")


def _add_binding(dataset_: str, member: str, role: str) -> str:
    """Command that grants the role on a dataset, which bq calls a table reference too."""
    return f"bq add-iam-policy-binding --member={member} --role={role} {dataset_}"
