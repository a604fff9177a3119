"""Checks what experiments read: tables, queries and files are there, and the caller may read them.

A query is tested by a dry run, which is free and asks for the rights to all tables behind it:
https://docs.cloud.google.com/bigquery/docs/running-queries#dry-run
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from trellis.doctor.diagnoses.dataset import API, add_binding
from trellis.doctor.diagnoses.permissions import missing
from trellis.doctor.findings import Finding, Passed
from trellis.doctor.target import Target
from trellis.google_api import RefusedError
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.prediction import QueryPredict, TablePredict
from trellis.workflow.spec.source import FilesSource, ImageSource, QuerySource, TableSource

_OBJECTS = "https://storage.googleapis.com/storage/v1/b/{bucket}/o"
_TO_READ = ("bigquery.tables.get", "bigquery.tables.getData")
_WHY = "An experiment reads it."


def diagnose(target: Target) -> Iterator[Finding | Passed]:
    """What the experiments' files name, each once."""
    yield from dict.fromkeys(_each(target))


def _each(target: Target) -> Iterator[Finding | Passed]:
    for name in _named_tables(target):
        yield from _table(target, name)
    for where, query in _queries(target):
        yield from _query(target, where, query)
    for uri in _files(target):
        yield from _file(target, uri)


def tables(target: Target) -> list[str]:
    """The tables that experiments read, as PROJECT.DATASET.TABLE: by name, and by queries that
    BigQuery accepts.
    """
    names = _named_tables(target)
    for _, query in _queries(target):
        try:
            names += _read(_dry_run(target, query))
        except RefusedError:
            continue
    return list(dict.fromkeys(names))


def _named_tables(target: Target) -> list[str]:
    sections = [part for one in target.experiments.values() for part in (one.source, one.predict)]
    named = [part.bigquery for part in sections if isinstance(part, (TableSource, TablePredict))]
    return list(dict.fromkeys(map(target.platform.table, named)))


def _queries(target: Target) -> Iterator[tuple[str, str]]:
    """(file and section, GoogleSQL) of each query."""
    for file, experiment in target.experiments.items():
        for section, part in (("source", experiment.source), ("predict", experiment.predict)):
            if isinstance(part, (QuerySource, QueryPredict)):
                yield f"{file.name}, {section}.query", part.query
        if experiment.predict is not None and experiment.predict.truth is not None:
            yield f"{file.name}, predict.truth", experiment.predict.truth


def _files(target: Target) -> list[str]:
    """The gs:// addresses of files, in which * may stand for other characters."""
    named = [path for one in target.experiments.values() for path in _paths(one)]
    return list(dict.fromkeys(map(target.platform.uri, named)))


def _paths(experiment: Experiment) -> Iterator[str]:
    if isinstance(experiment.source, ImageSource):
        yield experiment.source.images
    if isinstance(experiment.source, FilesSource):
        yield experiment.source.files
    yield from experiment.baselines.files.values()


def _table(target: Target, name: str) -> Iterator[Finding | Passed]:
    """It exists, is readable, and in the group's location."""
    group = target.platform
    project, dataset, table = name.split(".")
    url = f"{API}/{project}/datasets/{dataset}"
    found = target.api.find(f"{url}/tables/{table}")
    if found is None:
        yield Finding(
            f"There is no table {name}, or {target.caller} has no access to it.",
            _WHY,
            f"bq show {project}:{dataset}.{table}",
        )
        return
    if found["location"].lower() != group.location.lower():
        yield Finding(
            f"{name} is in {found['location']}, platform.yaml has {group.location}.",
            "A query cannot copy rows between locations: the snapshot would fail.",
            f"Copy it: bq cp {project}:{dataset}.{table} {group.project}:DATASET.{table}",
        )
    answer = target.api.post(
        f"{url}/tables/{table}:testIamPermissions", {"permissions": list(_TO_READ)}
    )
    if lacked := missing(_TO_READ, answer):
        yield Finding(
            f"{target.caller} lacks {', '.join(lacked)} on {name}.",
            _WHY,
            add_binding(f"{project}:{dataset}", target.member, "roles/bigquery.dataViewer"),
        )
    else:
        yield Passed(name)


def _query(target: Target, where: str, query: str) -> Iterator[Finding | Passed]:
    """BigQuery accepts it."""
    try:
        job = _dry_run(target, query)
    except RefusedError as error:
        if error.status not in (400, 403, 404):
            raise
        may = f", or: {target.grant('roles/bigquery.dataViewer')}" if error.status != 400 else ""
        yield Finding(f"{where}: {error.message}", _WHY, f"Correct the query{may}")
        return
    yield from map(Passed, _read(job))


def _dry_run(target: Target, query: str) -> dict[str, Any]:
    group = target.platform
    statement = {"query": query, "useLegacySql": False}
    return target.api.post(
        f"{API}/{group.project}/jobs",
        {
            "jobReference": {"projectId": group.project, "location": group.location},
            "configuration": {"dryRun": True, "query": statement},
        },
    )


def _read(job: dict[str, Any]) -> list[str]:
    """The tables behind a query."""
    found = job["statistics"].get("query", {}).get("referencedTables", ())
    return [f"{one['projectId']}.{one['datasetId']}.{one['tableId']}" for one in found]


def _file(target: Target, uri: str) -> Iterator[Finding | Passed]:
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    url = _OBJECTS.format(bucket=bucket)
    try:
        if "*" in name:
            listed = target.api.get(url, matchGlob=name, maxResults=1).get("items", ())
            found = listed[0] if listed else None
        else:
            found = target.api.find(f"{url}/{quote(name, safe='')}")
    except RefusedError as error:
        if error.status not in (403, 404):
            raise
        grant = target.grant_on_bucket(bucket, "roles/storage.objectViewer")
        yield Finding(f"{uri}: {error.message}", _WHY, grant)
        return
    if found is None:
        yield Finding(f"There is no {uri}.", _WHY, f"gcloud storage ls {uri}")
    else:
        yield Passed(uri)
