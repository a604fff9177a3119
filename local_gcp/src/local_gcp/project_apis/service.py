"""The project's own APIs as a service of local_gcp."""

from __future__ import annotations

from starlette.types import ASGIApp

from local_gcp.project_apis.app import ProjectApp
from local_gcp.service import Context, Service

FILE = "project.json"
"""File in the home; `facts` describes it."""


class ProjectApis(Service):
    """Service Usage, IAM, look-ups of Artifact Registry, Composer, Compute Engine, KMS; prices;
    the organization above the project, its policies and perimeters.

    Comes before the services whose hosts it shares.
    """

    hosts = (
        "accesscontextmanager.googleapis.com",
        "artifactregistry.googleapis.com",
        "cloudbilling.googleapis.com",
        "cloudkms.googleapis.com",
        "composer.googleapis.com",
        "compute.googleapis.com",
        "iam.googleapis.com",
        "orgpolicy.googleapis.com",
        "serviceusage.googleapis.com",
        "cloudresourcemanager.googleapis.com/v3/*",
        "bigquery.googleapis.com/bigquery/v2/*:testIamPermissions",
        "storage.googleapis.com/storage/v1/b/*/iam/testPermissions",
    )

    def __init__(self, context: Context, bigquery: ASGIApp | None, storage: ASGIApp | None):
        assert bigquery is not None
        assert storage is not None
        self.rest = ProjectApp(context.project, context.home.root / FILE, bigquery, storage).asgi
