"""REST methods that wait for jobs: jobs.query, jobs.getQueryResults and jobs.get."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from local_gcp.storage.call import Call

from .app import answer, call_of, wait_for
from .catalog import etag, now_ms
from .errors import BigQueryError, invalid
from .job_api import JobApi
from .jobs import Job, JobRunner
from .refs import TableRef
from .resources import checked_project
from .tabledata_api import TableDataApi

_DEFAULT_WAIT_SECONDS = 10.0
_LONGEST_WAIT_SECONDS = 200.0
_SHORT_WAIT_SECONDS = 0.25
"""Google's clients look at once, and then wait for a second or so: most jobs here take less."""
_REQUEST_MS = 15 * 60 * 1000
"""Time for which jobs.query deduplicates requests by their requestId:
https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/query#QueryRequest"""


class QueryApi:
    """jobs.query, jobs.getQueryResults and jobs.get, which wait for the job without a thread."""

    def __init__(self, runner: JobRunner, jobs: JobApi, data: TableDataApi):
        self._runner, self._jobs, self._data = runner, jobs, data

    async def query(self, request: Request) -> Response:
        """jobs.query: start a query, and return its first rows if it is done in time."""
        call = await call_of(request, "QueryRequest")
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
        """jobs.getQueryResults: wait for the job, and return a page of its rows."""
        call = await call_of(request)
        reference = await self._wait(call, _wait_seconds(call.number("timeoutMs")))
        options = {
            "maxResults": call.number("maxResults"),
            "startIndex": call.number("startIndex"),
            "pageToken": call.query.get("pageToken"),
            "formatOptions": _format_options(call),
        }
        return await answer(lambda call: self._results(reference, options), call)

    async def get(self, request: Request) -> Response:
        """jobs.get: the job, after a short wait if it is not done."""
        call = await call_of(request)
        await self._wait(call, _SHORT_WAIT_SECONDS)
        return await answer(self._jobs.get, call)

    async def _wait(self, call: Call, seconds: float) -> dict[str, Any]:
        """Wait for the job that `call` names; its jobReference."""
        found: dict[str, Any] = {}

        def find(call: Call) -> None:
            found.update(self._jobs.get(call))

        await answer(find, call)
        reference: dict[str, Any] = found["jobReference"]
        job = self._runner.active(reference["projectId"], reference["jobId"])
        if job:
            await wait_for(job.done, seconds)
        return reference

    def _begin(self, call: Call) -> tuple[dict[str, Any], Job | None]:
        body = dict(call.body)
        project = checked_project(call.params["project"])
        job = _as_job(body)
        if not body.get("requestId") or body.get("dryRun"):
            return self._jobs.begin(project, job)
        # The job's id identifies a repeated request, also after a kill.
        job_id = f"job_{etag([body['requestId'], job['configuration']['query']])}"
        named = {**job, "jobReference": {**job.get("jobReference", {}), "jobId": job_id}}
        try:
            return self._jobs.begin(project, named)
        except BigQueryError as error:
            if error.reason != "duplicate":
                raise
        resource = self._runner.find(project, job_id)
        if now_ms() - int(resource["statistics"]["creationTime"]) > _REQUEST_MS:
            return self._jobs.begin(project, job)
        return resource, self._runner.active(project, job_id) or _done(resource)

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
            return result if short else {**result, "etag": etag(result)}
        if "errorResult" in resource["status"]:
            problem = resource["status"]["errorResult"]
            raise BigQueryError(problem["reason"], problem["message"], problem.get("location"))
        configuration, statistics = resource["configuration"], resource["statistics"]
        if "query" not in configuration:
            raise invalid("Cannot get query results of a job that is not a query.")
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
        if not short:
            result["etag"] = etag([resource["etag"], options.get("pageToken")])
        return result


def _as_job(body: dict[str, Any]) -> dict[str, Any]:
    """REST Job of a QueryRequest."""
    same: tuple[str, ...] = (
        "query",
        "defaultDataset",
        "useQueryCache",
        "useLegacySql",
        "parameterMode",
    )
    same += ("queryParameters", "maximumBytesBilled", "destinationEncryptionConfiguration")
    query = {name: body[name] for name in same if name in body}
    configuration: dict[str, Any] = {"query": query}
    for name in ("labels", "dryRun", "jobTimeoutMs"):
        if name in body:
            configuration[name] = body[name]
    if "location" in body:
        return {"configuration": configuration, "jobReference": {"location": body["location"]}}
    return {"configuration": configuration}


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
