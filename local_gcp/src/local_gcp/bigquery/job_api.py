"""REST resource Job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from local_gcp.storage.call import Call

from .catalog import Catalog, etag
from .database import Database
from .errors import BigQueryError, already_exists, invalid, not_found
from .job_store import JobStore
from .jobs import Job, JobRunner
from .locations import MULTI_REGIONS
from .pages import position_of, token_of
from .query_job import check as check_query
from .refs import DatasetRef, TableRef
from .resources import checked_project, new_job
from .sql import datasets_named, schema_location

_KINDS = ("query", "load", "extract", "copy")
_MOST_JOBS = 1000


class JobApi:
    """jobs.insert, get, list, cancel, delete."""

    def __init__(
        self, database: Database, runner: JobRunner, dry_run: Callable[[Job], dict[str, Any]]
    ):
        self._database, self._runner, self._dry_run = database, runner, dry_run

    def insert(self, call: Call) -> dict[str, Any]:
        """jobs.insert: starts the job; a dry run returns its statistics."""
        return self.begin(call.params["project"], dict(call.body))[0]

    def begin(self, project: str, body: dict[str, Any]) -> tuple[dict[str, Any], Job | None]:
        """(REST Job, the running job or None for a dry run)."""
        configuration = body.get("configuration") or {}
        resource = self.resource(project, body)
        if configuration.get("dryRun"):
            return self._tried(resource), None
        return resource, self._runner.submit(resource)

    def resource(self, project: str, body: dict[str, Any]) -> dict[str, Any]:
        """REST Job of a request, not started; raises BigQueryError if it is incomplete."""
        configuration = dict(body.get("configuration") or {})
        kinds = [kind for kind in _KINDS if configuration.get(kind) is not None]
        if len(kinds) != 1:
            raise invalid("Required parameter is missing: a job has one of " + ", ".join(_KINDS))
        (kind,) = kinds
        configuration["jobType"] = kind.upper()
        project = checked_project(project)
        _fill_projects(configuration[kind], project)
        if kind == "query":
            check_query(configuration[kind])
        location = self._location(project, configuration[kind])
        return new_job(project, location, body, configuration)

    def refuse_used(self, project: str, job: str) -> None:
        """Raise BigQueryError(duplicate) if a job has this id."""
        try:
            found = self._runner.find(checked_project(project), job)
        except BigQueryError:
            return
        raise already_exists("Job", found["id"])

    def get(self, call: Call) -> dict[str, Any]:
        """jobs.get."""
        project = checked_project(call.params["project"])
        location = call.query.get("location")
        found = self._runner.find(project, call.params["job"], location)
        if not location and found["jobReference"]["location"] not in MULTI_REGIONS:
            raise not_found("Job", f"{project}:{call.params['job']}")
        return found

    def list(self, call: Call) -> dict[str, Any]:
        """jobs.list, newest first."""
        project = checked_project(call.params["project"])
        size = min(call.number("maxResults", _MOST_JOBS) or _MOST_JOBS, _MOST_JOBS)
        states = {state.upper() for state in call.query.getlist("stateFilter")}
        times = call.number("minCreationTime"), call.number("maxCreationTime")
        before = position_of(call.query.get("pageToken"))
        found: list[dict[str, Any]] = []
        more = True
        with self._database.cursor() as cursor:
            store = JobStore(cursor)
            while more and len(found) <= size:
                batch = store.list(
                    project, call.query.get("parentJobId"), times, before, _MOST_JOBS
                )
                more = len(batch) == _MOST_JOBS
                if batch:
                    before = _position(batch[-1])
                found += [job for job in map(self._now, batch) if not states or _in(job, states)]
        shown = found[:size]
        full = call.query.get("projection", "minimal").lower() == "full"
        jobs = [_item(job, full) for job in shown]
        result = {"kind": "bigquery#jobList", "etag": etag(jobs), "jobs": jobs}
        if len(found) > size:
            result["nextPageToken"] = token_of(_position(shown[-1]))
        return result

    def cancel(self, call: Call) -> dict[str, Any]:
        """jobs.cancel: requests it, and returns at once."""
        job = self.get(call)
        self._runner.cancel(job["jobReference"]["projectId"], job["jobReference"]["jobId"])
        return {"kind": "bigquery#jobCancelResponse", "job": self.get(call)}

    def delete(self, call: Call) -> None:
        """jobs.delete: removes the record of a job that is done."""
        job = self.get(call)
        if job["status"]["state"] != "DONE":
            raise invalid(f"Cannot delete job {job['id']}: it is {job['status']['state']}.")
        with self._database.transaction() as cursor:
            reference = job["jobReference"]
            JobStore(cursor).delete(reference["projectId"], reference["jobId"])

    def _now(self, stored: dict[str, Any]) -> dict[str, Any]:
        reference = stored["jobReference"]
        running = self._runner.active(reference["projectId"], reference["jobId"])
        return running.resource if running and stored["status"]["state"] != "DONE" else stored

    def _tried(self, resource: dict[str, Any]) -> dict[str, Any]:
        if "query" not in resource["configuration"]:
            raise invalid("Dry run is only supported for query jobs.")
        job = Job(resource)
        try:
            with self._database.cursor() as job.cursor:
                statistics = self._dry_run(job)
        finally:
            job.end()
        job.amend(status={"state": "DONE"}, statistics=statistics)
        return job.resource

    def _location(self, project: str, configuration: dict[str, Any]) -> str | None:
        """The default location of a job: that of the first dataset that it names."""
        with self._database.cursor() as cursor:
            catalog = Catalog(cursor)
            for ref in _tables_named(project, configuration):
                found = catalog.location_of(ref)
                if found:
                    return found
        return schema_location(configuration.get("query") or "")


def _tables_named(project: str, configuration: dict[str, Any]) -> Iterator[TableRef]:
    """Tables that a job's configuration names, the destination last.

    https://cloud.google.com/bigquery/docs/locations#default-location
    """
    for dataset, table in datasets_named(configuration.get("query") or ""):
        yield TableRef(project, dataset, table)
    if configuration.get("defaultDataset"):
        default = DatasetRef.from_api(configuration["defaultDataset"])
        yield TableRef(default.project, default.dataset, "")
    for name in ("sourceTable", "sourceTables", "destinationTable"):
        given = configuration.get(name) or []
        for reference in given if isinstance(given, list) else [given]:
            yield TableRef.from_api(reference)


def _fill_projects(configuration: dict[str, Any], project: str) -> None:
    """Fill in the job's project where a reference has none; numbers become ids."""
    for name in ("destinationTable", "defaultDataset", "sourceTable"):
        reference = configuration.get(name)
        if reference:
            given = reference.get("projectId") or project
            configuration[name] = {**reference, "projectId": checked_project(given)}
    configuration.update(
        {
            name: [
                {**r, "projectId": checked_project(r.get("projectId") or project)}
                for r in configuration[name]
            ]
            for name in ("sourceTables",)
            if configuration.get(name)
        }
    )


def _position(job: dict[str, Any]) -> list[Any]:
    return [int(job["statistics"]["creationTime"]), job["jobReference"]["jobId"]]


def _in(job: dict[str, Any], states: set[str]) -> bool:
    return job["status"]["state"] in states


def _item(job: dict[str, Any], full: bool) -> dict[str, Any]:
    kept = ("kind", "id", "jobReference", "status", "statistics", "user_email")
    item = {name: job[name] for name in kept if name in job}
    item["state"] = job["status"]["state"]
    if "errorResult" in job["status"]:
        item["errorResult"] = job["status"]["errorResult"]
    configuration = job["configuration"]
    brief = {name: configuration[name] for name in ("jobType", "labels") if name in configuration}
    item["configuration"] = configuration if full else {**configuration, **brief}
    return item
