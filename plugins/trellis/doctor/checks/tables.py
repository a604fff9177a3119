"""The group's dataset: where it is, and whether Airflow may work in it; and what experiments read.

BigQuery tests permissions of tables only, so an empty table is made in the dataset and deleted.
"""

import secrets
import time
from collections.abc import Iterator

from trellis.doctor.checks.permissions import missing
from trellis.doctor.findings import Finding, Seen
from trellis.doctor.patient import Patient
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


def dataset(patient: Patient) -> Iterator[Finding | Seen]:
    """The dataset of snapshots and models."""
    group = patient.platform
    url = f"{_API}/{group.project}/datasets/{group.dataset}"
    found = patient.api.find(url)
    if found is None:
        yield from _may_create(patient)
        return
    if found["location"].lower() != group.location.lower():
        yield Finding(
            f"The dataset {group.dataset} is in {found['location']}, platform.yaml says "
            f"{group.location} (location).",
            "BigQuery joins and exports within one location only.",
            f"Write `location: {found['location']}` in platform.yaml if the bucket is there too; "
            "else name another dataset, which the first run makes",
        )
    yield from _rights(patient, url)


def sources(patient: Patient) -> Iterator[Finding | Seen]:
    """The tables that experiments name: they exist, can be read, and are where they should be."""
    group = patient.platform
    for name in _tables(patient):
        project, dataset_, table = name.split(".")
        url = f"{_API}/{project}/datasets/{dataset_}"
        found = patient.api.find(f"{url}/tables/{table}")
        if found is None:
            yield Finding(
                f"There is no table {name}, or {patient.caller} may not see it.",
                "An experiment reads it.",
                f"bq show {project}:{dataset_}.{table}",
            )
            continue
        if found["location"].lower() != group.location.lower():
            yield Finding(
                f"{name} is in {found['location']}, platform.yaml says {group.location}.",
                "BigQuery copies no rows between locations in a query: the snapshot would fail.",
                f"Copy it: bq cp {project}:{dataset_}.{table} {group.project}:DATASET.{table}",
            )
        answer = patient.api.post(
            f"{url}/tables/{table}:testIamPermissions", {"permissions": list(_TO_READ)}
        )
        if lacked := missing(_TO_READ, answer):
            yield Finding(
                f"{patient.caller} lacks {', '.join(lacked)} on {name}.",
                "An experiment reads it.",
                _add_binding(f"{project}:{dataset_}", patient.member, "roles/bigquery.dataViewer"),
            )
        else:
            yield Seen(name)


def _tables(patient: Patient) -> list[str]:
    group = patient.platform
    names = []
    for experiment in patient.experiments.values():
        if isinstance(experiment.source, TableSource):
            names.append(group.table(experiment.source.bigquery))
        if isinstance(experiment.predict, TablePredict):
            names.append(group.table(experiment.predict.bigquery))
    return list(dict.fromkeys(names))


def _may_create(patient: Patient) -> Iterator[Finding | Seen]:
    group, permission = patient.platform, "bigquery.datasets.create"
    answer = patient.api.post(_PROJECT.format(project=group.project), {"permissions": [permission]})
    if missing([permission], answer):
        yield Finding(
            f"There is no dataset {group.dataset}, and {patient.caller} may not make one.",
            "Snapshots, and models of BigQuery ML, are made in it.",
            f"bq mk --dataset --location={group.location} {group.project}:{group.dataset}",
        )
    else:
        yield Seen(f"{group.dataset} will be made by the first run")


def _rights(patient: Patient, url: str) -> Iterator[Finding | Seen]:
    group = patient.platform
    table = f"trellis_doctor_{secrets.token_hex(8)}"
    reference = {"projectId": group.project, "datasetId": group.dataset, "tableId": table}
    ends = str(int(time.time() * 1000) + _AN_HOUR)
    try:
        patient.api.post(f"{url}/tables", {"tableReference": reference, "expirationTime": ends})
    except RefusedError as error:
        if error.status != 403:
            raise
        lacked = ["bigquery.tables.create"]
    else:
        asked = {"permissions": list(_ON_TABLE)}
        answer = patient.api.post(f"{url}/tables/{table}:testIamPermissions", asked)
        lacked = missing(_ON_TABLE, answer)
        if "bigquery.tables.delete" not in lacked:  # else it expires
            patient.api.delete(f"{url}/tables/{table}")
    if lacked:
        yield Finding(
            f"{patient.caller} lacks {', '.join(lacked)} in the dataset {group.dataset}.",
            "Airflow makes, reads and exports snapshots there.",
            _add_binding(
                f"{group.project}:{group.dataset}", patient.member, "roles/bigquery.dataEditor"
            ),
        )
    else:
        yield Seen(f"{group.dataset}: {len(_ON_TABLE)} held")


def _add_binding(dataset_: str, member: str, role: str) -> str:
    """For a dataset, which bq calls a table reference too."""
    return f"bq add-iam-policy-binding --member={member} --role={role} {dataset_}"
