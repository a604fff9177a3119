"""The routes of the project's APIs, and testIamPermissions of buckets and tables.

A route that is not in this table gives 501 with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message

from local_gcp.emulated_parameters import taking
from local_gcp.project import PROJECT_NUMBER
from local_gcp.project_apis import facts, usage
from local_gcp.project_apis.resources import Resources
from local_gcp.rest import HANDLERS, ApiError, EncodedPath, json_object, not_emulated, unknown_field

_MOST_SKUS = 5000
_ALL = ["GET", "POST", "PUT", "PATCH", "DELETE"]

Answer = Callable[[Request, Resources], Mapping[str, Any]]


class ProjectApp:
    """One application for all hosts: their paths do not overlap, except /v1/projects/...

    `bigquery`, `storage`: applications that know which tables and buckets exist.
    """

    def __init__(self, project: str, path: Path, bigquery: ASGIApp, storage: ASGIApp):
        self._project, self._path = project, path
        self._bigquery, self._storage = bigquery, storage
        routes = [
            self._route("/v1/projects/{project}/services:batchGet", _services, "services.batchGet"),
            self._route(
                "/v1beta1/projects/{project}/services/{host}/consumerQuotaMetrics",
                _quotas,
                "consumerQuotaMetrics.list",
            ),
            self._route(
                "/v3/projects/{project}:testIamPermissions",
                _permissions,
                "testIamPermissions",
                "POST",
            ),
            self._route(
                "/v1/{name:path}:testIamPermissions", _permissions_of, "testIamPermissions", "POST"
            ),
            self._route("/v1/{name:path}:getIamPolicy", _policy, "getIamPolicy"),
            self._route(
                "/v1/projects/{project}/locations/{region}/environments",
                _environments,
                "environments.list",
            ),
            self._route(
                "/v1/projects/{project}/locations/{region}/imageVersions",
                _image_versions,
                "imageVersions.list",
            ),
            Route("/v3/projects/{project}", self._project_above, methods=["GET"]),
            self._route("/v3/{name:path}", _resource, "get"),
            self._route("/v1/accessPolicies", _access_policies, "accessPolicies.list"),
            self._route(
                "/v1/accessPolicies/{policy}/servicePerimeters",
                _perimeters,
                "servicePerimeters.list",
            ),
            self._route("/v1/services", _billed, "cloudbilling.services.list"),
            self._route("/v1/services/{service}/skus", _skus, "skus.list"),
            self._route(
                "/v2/projects/{project}/policies/{constraint}:getEffectivePolicy",
                _effective_policy,
                "policies.getEffectivePolicy",
            ),
            self._route("/compute/v1/{name:path}", _resource, "get"),
            self._route("/v1/{name:path}", _resource, "get"),
            Route("/bigquery/v2/{name:path}:testIamPermissions", self._table, methods=["POST"]),
            Route("/storage/v1/b/{bucket}/iam/testPermissions", self._bucket, methods=["GET"]),
            Route("/{path:path}", _refuse, methods=_ALL),
        ]
        app = Starlette(routes=routes, exception_handlers=HANDLERS)
        self.asgi = EncodedPath(app)

    def _route(self, path: str, answer: Answer, name: str, verb: str = "GET") -> Route:
        async def endpoint(request: Request) -> Response:
            request.state.body = await _body(request)
            known = facts.read(self._path)
            check_enabled(known, request.url.hostname or "")
            if (named := request.path_params.get("project")) is not None:
                self._check_project(named)
            return JSONResponse(answer(request, Resources(self._project, known)))

        return Route(path, taking(name, endpoint), methods=[verb])

    async def _project_above(self, request: Request) -> Response:
        """The project and what it is in: nothing, unless the file says; others of the file."""
        known, named = facts.read(self._path), request.path_params["project"]
        check_enabled(known, request.url.hostname or "")
        if (other := known.resources.get(f"projects/{named}")) is not None:
            return JSONResponse({"state": "ACTIVE", "projectId": named, **other})
        self._check_project(named)
        own = {"name": f"projects/{PROJECT_NUMBER}", "projectId": self._project}
        above = {"parent": known.parent} if known.parent else {}
        return JSONResponse({**own, "state": "ACTIVE", "displayName": self._project, **above})

    def _check_project(self, project: str) -> None:
        if project not in (self._project, str(PROJECT_NUMBER)):
            raise ApiError(
                403,
                f"The caller does not have permission. (local_gcp: there is one project here, "
                f"{self._project!r}.)",
                "forbidden",
            )

    async def _table(self, request: Request) -> Response:
        body = await _body(request)
        path = f"/bigquery/v2/{request.path_params['name']}"
        return await self._tested(self._bigquery, request, path, _requested_permissions(body))

    async def _bucket(self, request: Request) -> Response:
        path = f"/storage/v1/b/{request.path_params['bucket']}"
        permissions = request.query_params.getlist("permissions")
        kind = {"kind": "storage#testIamPermissionsResponse"}
        return await self._tested(self._storage, request, path, permissions, kind)

    async def _tested(
        self,
        app: ASGIApp,
        request: Request,
        path: str,
        permissions: list[str],
        kind: Mapping[str, str] | None = None,
    ) -> Response:
        """The permissions on the resource at `path`; the error of its GET if there is none."""
        status, content = await _get(app, request, path)
        if status != 200:
            return Response(content, status, media_type="application/json")
        held = facts.read(self._path).permitted(permissions)
        return JSONResponse({**(kind or {}), **held})


def _services(request: Request, here: Resources) -> Mapping[str, Any]:
    names = request.query_params.getlist("names")
    if not 1 <= len(names) <= 30:
        raise ApiError(400, "Batch get of services takes 1 to 30 names.")
    return {"services": [usage.service(here.facts, name.rsplit("/", 1)[-1]) for name in names]}


def _quotas(request: Request, here: Resources) -> Mapping[str, Any]:
    return usage.quota_metrics(here.facts, request.path_params["host"])


def _permissions(request: Request, here: Resources) -> Mapping[str, Any]:
    return here.facts.permitted(_requested_permissions(request.state.body))


def _permissions_of(request: Request, here: Resources) -> Mapping[str, Any]:
    here.get(request.path_params["name"])
    return here.facts.permitted(_requested_permissions(request.state.body))


def _policy(request: Request, here: Resources) -> Mapping[str, Any]:
    name = request.path_params["name"]
    here.get(name)
    return {"version": 1, "etag": "ACAB", **here.facts.resources.get(f"{name}:policy", {})}


def _effective_policy(request: Request, here: Resources) -> Mapping[str, Any]:
    """The organization's policy for the project: everything is allowed, unless the file says."""
    name = f"projects/{here.project}/policies/{request.path_params['constraint']}"
    everything = {"spec": {"rules": [{"allowAll": True}]}}
    return {"name": name, **here.facts.resources.get(name, everything)}


def _access_policies(request: Request, here: Resources) -> Mapping[str, Any]:
    """The access policies of an organization, in one page."""
    parent = request.query_params.get("parent")
    if not parent:
        raise ApiError(400, "Request is missing the parent: organizations/NUMBER.")
    every = {name: each for name, each in here.facts.resources.items() if name.count("/") == 1}
    found = [
        {"name": name, **fields}
        for name, fields in every.items()
        if name.startswith("accessPolicies/") and fields.get("parent") == parent
    ]
    return {"accessPolicies": found} if found else {}


def _perimeters(request: Request, here: Resources) -> Mapping[str, Any]:
    policy = f"accessPolicies/{request.path_params['policy']}"
    here.get(policy)
    found = here.list(policy, "servicePerimeters")
    return {"servicePerimeters": found} if found else {}


def _environments(request: Request, here: Resources) -> Mapping[str, Any]:
    parent = f"projects/{here.project}/locations/{request.path_params['region']}"
    found = here.list(parent, "environments")
    return {"environments": found} if found else {}


def _image_versions(request: Request, here: Resources) -> Mapping[str, Any]:
    """Composer's builds; of past releases are those with which no environment can be made."""
    parent = f"projects/{here.project}/locations/{request.path_params['region']}"
    past = request.query_params.get("includePastReleases") == "true"
    found = [
        {"imageVersionId": name.rpartition("/")[2], **fields}
        for name, fields in here.named(parent, "imageVersions")
        if past or not fields.get("creationDisabled")
    ]
    return {"imageVersions": found} if found else {}


def _billed(request: Request, here: Resources) -> Mapping[str, Any]:
    """The services of the catalog, in one page; their names are those that their SKUs have."""
    found = [
        {
            "name": f"services/{service}",
            "serviceId": service,
            "displayName": skus[0]["category"].get("serviceDisplayName", service),
            "businessEntityName": "businessEntities/GCP",
        }
        for service, skus in here.facts.skus.items()
        if skus
    ]
    return {"services": found, "nextPageToken": ""}


def _skus(request: Request, here: Resources) -> Mapping[str, Any]:
    """A page of the catalog. The token is its start index."""
    service = request.path_params["service"]
    if service not in here.facts.skus:
        raise ApiError(404, f"Service {service} was not found.", "notFound")
    try:
        first = int(request.query_params.get("pageToken") or 0)
        size = int(request.query_params.get("pageSize") or _MOST_SKUS)
    except ValueError:
        first = size = -1
    if first < 0 or size < 0:
        raise ApiError(400, "Invalid value at 'pageSize' or 'pageToken'.")
    every = here.facts.skus[service]
    end = first + min(size or _MOST_SKUS, _MOST_SKUS)
    more = str(end) if end < len(every) else ""
    return {"skus": every[first:end], "nextPageToken": more}


def _resource(request: Request, here: Resources) -> Mapping[str, Any]:
    return here.get(request.path_params["name"])


async def _refuse(request: Request) -> Response:
    raise not_emulated(f"{request.method} https://{request.url.hostname}{request.url.path}")


def _requested_permissions(body: Mapping[str, Any]) -> list[str]:
    for name in body.keys() - {"permissions"}:
        raise unknown_field(name)
    permissions = body.get("permissions", [])
    if isinstance(permissions, list) and all(isinstance(each, list) for each in permissions):
        # Google's parser takes lists in a list for their items.
        permissions = [name for each in permissions for name in each]
    if not isinstance(permissions, list) or not all(isinstance(name, str) for name in permissions):
        raise ApiError(400, "Invalid value at 'permissions': a list of strings is expected.")
    if any("*" in name for name in permissions):
        raise ApiError(400, "Permissions with wildcards are not allowed.")
    return permissions


async def _body(request: Request) -> Mapping[str, Any]:
    return json_object(await request.body())


def check_enabled(known: facts.Facts, host: str) -> None:
    """Refuse calls of a disabled API as Google does, with the page that enables it."""
    if host in known.disabled_apis:
        raise ServiceDisabledError(host)


class ServiceDisabledError(ApiError):
    """403 with google.rpc.ErrorInfo, as https://cloud.google.com/apis/design/errors has it."""

    def __init__(self, host: str):
        message = (
            f"{host} API has not been used in project {PROJECT_NUMBER} before or it is disabled. "
            "Enable it, then retry."
        )
        super().__init__(403, message, "accessNotConfigured")
        self.host = host

    def response(self) -> Response:
        info = {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "SERVICE_DISABLED",
            "domain": "googleapis.com",
            "metadata": {"service": self.host, "consumer": f"projects/{PROJECT_NUMBER}"},
        }
        error = {
            "code": 403,
            "message": self.message,
            "status": "PERMISSION_DENIED",
            "details": [info],
        }
        return JSONResponse({"error": error}, 403)


async def _get(app: ASGIApp, request: Request, path: str) -> tuple[int, bytes]:
    """Status and body of a GET of `path` on the same host."""
    scope = {
        **request.scope,
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name, value) for name, value in request.scope["headers"] if name == b"host"],
    }
    status, content = 500, b""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, content
        status = message.get("status", status)
        content += message.get("body", b"")

    await app(scope, receive, send)
    return status, content
