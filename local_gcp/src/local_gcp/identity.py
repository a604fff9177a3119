"""Emulates tokens, the project and IAM credentials.

Every caller is the project's owner, but for one without rights: see rights.py. Clients make these
requests before their first real one; without a response, some retry for 50 seconds.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
import urllib.parse

import grpc
from google.cloud.resourcemanager_v3 import GetProjectRequest, Project
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from local_gcp import rights
from local_gcp.certificates import TOKEN_HOST
from local_gcp.project import PROJECT_NUMBER
from local_gcp.rest import HANDLERS, ApiError, json_object, not_emulated, unknown_field
from local_gcp.service import Context, Service

TOKEN_SECONDS = 3600
"""Lifetime of Google's access tokens."""


class Identity(Service):
    """OAuth 2.0 token endpoint, Resource Manager GetProject, IAM Service Account Credentials."""

    hosts = (
        "oauth2.googleapis.com",
        TOKEN_HOST,
        "www.googleapis.com/oauth2/*",
        "cloudresourcemanager.googleapis.com",
        "iamcredentials.googleapis.com",
    )

    def __init__(self, context: Context):
        self.project = context.project
        account = "/v1/projects/{project}/serviceAccounts/{account}"
        self.rest = Starlette(
            routes=[
                Route("/token", _token, methods=["POST"]),
                Route("/oauth2/v4/token", _token, methods=["POST"]),
                Route("/v1/projects/{project}", self._project_v1),
                Route(f"{account}/allowedLocations", _allowed_locations),
                Route(f"{account}:generateAccessToken", _generate_access_token, methods=["POST"]),
                Route("/{path:path}", _refuse, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
            ],
            exception_handlers=HANDLERS,
        )
        self.grpc_handlers = (self._projects_handler(),)

    def _project_v1(self, request: Request) -> JSONResponse:
        self._check(request.path_params["project"])
        return JSONResponse(
            {
                "projectNumber": str(PROJECT_NUMBER),
                "projectId": self.project,
                "lifecycleState": "ACTIVE",
                "name": self.project,
            }
        )

    def _check(self, project: str) -> None:
        if project not in (self.project, str(PROJECT_NUMBER)):
            raise ApiError(
                403,
                f"There is one project here, {self.project!r} (number {PROJECT_NUMBER}), "
                f"not {project!r}: use GOOGLE_CLOUD_PROJECT of `local-gcp env`.",
                "forbidden",
            )

    def _projects_handler(self) -> grpc.GenericRpcHandler:
        def get_project(request: GetProjectRequest, context: grpc.ServicerContext) -> Project:
            try:
                self._check(request.name.removeprefix("projects/"))
            except ApiError as error:
                context.abort(grpc.StatusCode.PERMISSION_DENIED, error.message)
            return Project(
                name=f"projects/{PROJECT_NUMBER}",
                project_id=self.project,
                display_name=self.project,
                state=Project.State.ACTIVE,
            )

        return grpc.method_handlers_generic_handler(
            "google.cloud.resourcemanager.v3.Projects",
            {
                "GetProject": grpc.unary_unary_rpc_method_handler(
                    get_project, GetProjectRequest.deserialize, Project.serialize
                )
            },
        )


async def _token(request: Request) -> JSONResponse:
    sent = urllib.parse.parse_qs((await request.body()).decode("latin-1"))
    token = _new_token(rights.token_prefix(sent.get("assertion", [""])[0]))
    return JSONResponse(
        {"access_token": token, "token_type": "Bearer", "expires_in": TOKEN_SECONDS}
    )


async def _generate_access_token(request: Request) -> JSONResponse:
    body = json_object(await request.body())
    # Every token may do everything here, whatever its scope; nobody is asked for another's.
    for name in body.keys() - {"delegates", "lifetime", "scope"}:
        raise unknown_field(name)
    if body.get("delegates"):
        raise not_emulated("the field delegates of generateAccessToken")
    lifetime = body.get("lifetime", f"{TOKEN_SECONDS}s")
    if not isinstance(lifetime, str) or not re.fullmatch(r"[1-9]\d{0,4}s", lifetime):
        raise ApiError(400, f"lifetime: expected a duration such as '3600s', got {lifetime!r}.")
    expires = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=int(lifetime[:-1]))
    return JSONResponse(
        {"accessToken": _new_token(), "expireTime": f"{expires:%Y-%m-%dT%H:%M:%SZ}"}
    )


def _allowed_locations(_request: Request) -> JSONResponse:
    # "No trust boundary", Google's response for accounts without one.
    return JSONResponse({"locations": [], "encodedLocations": "0x0"})


def _refuse(request: Request) -> JSONResponse:
    raise not_emulated(f"{request.method} https://{request.url.hostname}{request.url.path}")


def _new_token(prefix: str = "local-gcp.") -> str:
    return prefix + secrets.token_urlsafe(24)
