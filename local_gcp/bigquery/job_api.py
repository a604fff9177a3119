"""REST resource Job, and the two methods that wait for queries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from local_gcp.storage.call import Call

from .app import answer, call_of, wait_for
from .catalog import ANONYMOUS, Catalog, etag
from .database import Database
from .errors import BigQueryError, invalid, not_found
from .job_store import JobStore
from .jobs import Job, JobRunner
from .pages import position_of, token_of
from .refs import DatasetRef, TableRef
from .resources import DEFAULT_LOCATION, new_job, project_id
from .tabledata_api import TableDataApi

_KINDS = ("query", "load", "extract", "copy")
_MOST_JOBS = 1000
_DEFAULT_WAIT_SECONDS = 10.0
_LONGEST_WAIT_SECONDS = 200.0
_REQUEST_SECONDS = 15 * 60
"""How long a requestId of jobs.query is remembered."""


class JobApi:
    """jobs.insert, get, list, cancel, delete."""

    def __init__(
        self, database: Database, runner: JobRunner, dry_run: Callable[[Job], dict[str, Any]]
    ):
        self._database, self._runner, self._dry_run = database, runner, dry_run

    def insert(self, call: Call) -> dict[str, Any]:
        """jobs.insert: the job as it begins; a dry run as it would end."""
        return self.begin(call.params["project"], dict(call.body))[0]

    def begin(self, project: str, body: dict[str, Any]) -> tuple[dict[str, Any], Job | None]:
        """(REST Job, the running job or None for a dry run)."""
        configuration = body.get("configuration") or {}
        resource = self.resource(project, body)
        if configuration.get("dryRun"):
            return self._tried(resource), None
        return resource, self._runner.submit(resource)

    def resource(self, project: str, body: dict[str, Any]) -> dict[str, Any]:
        """REST Job of a request, not begun; BigQueryError for one that says too little."""
        configuration = dict(body.get("configuration") or {})
        kinds = [kind for kind in _KINDS if configuration.get(kind) is not None]
        if len(kinds) != 1:
            raise invalid("Required parameter is missing: a job has one of " + ", ".join(_KINDS))
        (kind,) = kinds
        configuration["jobType"] = kind.upper()
        project = project_id(project)
        _fill_projects(configuration[kind], project)
        return new_job(project, self._location(configuration[kind]), body, configuration)

    def get(self, call: Call) -> dict[str, Any]:
        """jobs.get."""
        project = project_id(call.params["project"])
        return self._runner.find(project, call.params["job"], call.query.get("location"))

    def list(self, call: Call) -> dict[str, Any]:
        """jobs.list, newest first."""
        project = project_id(call.params["project"])
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
        """jobs.cancel: asks for it, and answers at once."""
        job = self.get(call)
        self._runner.cancel(job["jobReference"]["projectId"], job["jobReference"]["jobId"])
        return {"kind": "bigquery#jobCancelResponse", "job": self.get(call)}

    def delete(self, call: Call) -> None:
        """jobs.delete: forget a job that is done."""
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

    def _location(self, configuration: dict[str, Any]) -> str:
        """Where the job runs unless it says so: where its datasets are."""
        named = ("destinationTable", "defaultDataset", "sourceTable")
        for reference in filter(None, map(configuration.get, named)):
            with self._database.cursor() as cursor:
                dataset = DatasetRef(reference["projectId"], reference["datasetId"])
                found = Catalog(cursor).find_dataset(dataset)
            if found:
                return found["location"]
        return DEFAULT_LOCATION


class QueryApi:
    """jobs.query and jobs.getQueryResults: they wait for the job, without holding a thread."""

    def __init__(self, runner: JobRunner, jobs: JobApi, data: TableDataApi):
        self._runner, self._jobs, self._data = runner, jobs, data
        self._requests: dict[tuple[str, str], tuple[float, dict[str, Any]]] = {}
        self._guard = threading.Lock()

    async def query(self, request: Request) -> Response:
        """jobs.query: begin a query, and answer its first rows if it is done in time."""
        call = await call_of(request)
        began: dict[str, Any] = {}

        def begin(call: Call) -> None:
            began["resource"], began["job"] = self._begin(call)

        await answer(begin, call)
        if began["job"] is None:
            return await answer(lambda call: self._dry(began["resource"]), call)
        await wait_for(began["job"].done, _wait_seconds(call.body.get("timeoutMs")))
        options = {
            "maxResults": call.body.get("maxResults"),
            "formatOptions": call.body.get("formatOptions") or {},
        }
        return await answer(
            lambda call: self._results(began["resource"]["jobReference"], options, short=True), call
        )

    async def results(self, request: Request) -> Response:
        """jobs.getQueryResults: wait for the job, and answer a page of its rows."""
        call = await call_of(request)
        found: dict[str, Any] = {}

        def look(call: Call) -> None:
            found.update(self._jobs.get(call))

        await answer(look, call)
        reference = found["jobReference"]
        job = self._runner.active(reference["projectId"], reference["jobId"])
        if job:
            timeout = call.query.get("timeoutMs")
            await wait_for(job.done, _wait_seconds(timeout))
        options = {
            "maxResults": call.number("maxResults"),
            "startIndex": call.number("startIndex"),
            "pageToken": call.query.get("pageToken"),
            "formatOptions": _format_options(call),
        }
        return await answer(lambda call: self._results(reference, options), call)

    def _begin(self, call: Call) -> tuple[dict[str, Any], Job | None]:
        body = dict(call.body)
        request_id = body.get("requestId")
        project = project_id(call.params["project"])
        with self._guard:
            key = (project, request_id or "")
            known = self._requests.get(key)
            if request_id and known and time.monotonic() - known[0] < _REQUEST_SECONDS:
                resource = known[1]
                reference = resource["jobReference"]
                running = self._runner.active(reference["projectId"], reference["jobId"])
                return resource, running or _done(resource)
            resource, job = self._jobs.begin(project, _as_job(body))
            if request_id and job:
                self._requests[key] = (time.monotonic(), resource)
            return resource, job

    def _dry(self, resource: dict[str, Any]) -> dict[str, Any]:
        statistics = resource["statistics"]
        return {
            "kind": "bigquery#queryResponse",
            "jobComplete": True,
            "jobReference": resource["jobReference"],
            "schema": statistics["query"].get("schema", {"fields": []}),
            "totalBytesProcessed": statistics["totalBytesProcessed"],
            "cacheHit": False,
        }

    def _results(
        self, reference: dict[str, Any], options: dict[str, Any], short: bool = False
    ) -> dict[str, Any]:
        resource = self._runner.find(reference["projectId"], reference["jobId"])
        kind = "bigquery#queryResponse" if short else "bigquery#getQueryResultsResponse"
        result: dict[str, Any] = {
            "kind": kind,
            "jobReference": resource["jobReference"],
            "jobComplete": resource["status"]["state"] == "DONE",
        }
        if short:
            result["queryId"] = reference["jobId"]
            result["jobCreationReason"] = {"code": "REQUESTED"}
            result["location"] = reference["location"]
        if not result["jobComplete"]:
            return {**result, "etag": etag(result)}
        if "errorResult" in resource["status"]:
            problem = resource["status"]["errorResult"]
            raise BigQueryError(problem["reason"], problem["message"], problem.get("location"))
        configuration, statistics = resource["configuration"], resource["statistics"]
        if "query" not in configuration:
            raise invalid("Cannot get query results of a job that is no query.")
        query = statistics.get("query", {})
        result["totalBytesProcessed"] = statistics.get("totalBytesProcessed", "0")
        result["cacheHit"] = bool(query.get("cacheHit"))
        for name in ("numDmlAffectedRows", "dmlStats"):
            if name in query:
                result[name] = query[name]
        if short:
            result["creationTime"] = statistics["creationTime"]
            result["startTime"], result["endTime"] = statistics["startTime"], statistics["endTime"]
            for name in ("totalBytesBilled", "statementType"):
                if name in query:
                    result[name] = query[name]
        target = configuration["query"].get("destinationTable")
        if "schema" in query and target:
            page = self._data.page(TableRef.from_api(target), query["schema"], options)
            result |= page
        elif "schema" in query:
            result |= {"schema": query["schema"], "totalRows": "0"}
        else:
            result |= {"schema": {"fields": []}, "totalRows": "0"}
        return {**result, "etag": etag([resource["etag"], options.get("pageToken")])}


def _as_job(body: dict[str, Any]) -> dict[str, Any]:
    """A QueryRequest as a Job."""
    same = ("query", "defaultDataset", "useQueryCache", "useLegacySql", "parameterMode")
    same += ("queryParameters", "maximumBytesBilled", "connectionProperties", "createSession")
    same += ("destinationEncryptionConfiguration", "writeIncrementalResults")
    query = {name: body[name] for name in same if name in body}
    configuration: dict[str, Any] = {"query": query}
    for name in ("labels", "dryRun", "jobTimeoutMs"):
        if name in body:
            configuration[name] = body[name]
    if "location" in body:
        return {"configuration": configuration, "jobReference": {"location": body["location"]}}
    return {"configuration": configuration}


def _fill_projects(configuration: dict[str, Any], project: str) -> None:
    """References without a project mean the job's; numbers become ids."""
    for name in ("destinationTable", "defaultDataset", "sourceTable"):
        reference = configuration.get(name)
        if reference:
            given = reference.get("projectId") or project
            configuration[name] = {**reference, "projectId": project_id(given)}
    configuration.update(
        {
            name: [
                {**r, "projectId": project_id(r.get("projectId") or project)}
                for r in configuration[name]
            ]
            for name in ("sourceTables",)
            if configuration.get(name)
        }
    )


def _done(resource: dict[str, Any]) -> Job:
    job = Job(resource)
    job.done.set_result(None)
    return job


def _wait_seconds(milliseconds: Any) -> float:
    if milliseconds is None:
        return _DEFAULT_WAIT_SECONDS
    return min(int(milliseconds) / 1000, _LONGEST_WAIT_SECONDS)


def _format_options(call: Call) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if call.flag("formatOptions.useInt64Timestamp"):
        options["useInt64Timestamp"] = True
    output = call.query.get("formatOptions.timestampOutputFormat")
    return {**options, "timestampOutputFormat": output} if output else options


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
