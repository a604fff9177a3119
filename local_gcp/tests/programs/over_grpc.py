"""Google's gRPC clients through the proxy: a method that is emulated, and one that is not."""

import google.auth
import pytest
from google.api_core.exceptions import MethodNotImplemented, PermissionDenied
from google.auth.transport.requests import Request
from google.cloud.aiplatform_v1 import VizierServiceClient
from google.cloud.resourcemanager_v3 import ProjectsClient

credentials, project = google.auth.default(
    scopes=["https://www.googleapis.com/auth/cloud-platform"]
)
credentials.refresh(Request())
assert credentials.token.startswith("local-gcp.")
assert project == "local-gcp"

projects = ProjectsClient()
assert projects.get_project(name="projects/local-gcp").project_id == "local-gcp"
with pytest.raises(PermissionDenied, match="one project here, 'local-gcp'"):
    projects.get_project(name="projects/elsewhere")

for host in ("us-central1-aiplatform.googleapis.com", "aiplatform.us.rep.googleapis.com"):
    vizier = VizierServiceClient(client_options={"api_endpoint": host})
    with pytest.raises(MethodNotImplemented, match=r"does not emulate .*VizierService/GetStudy"):
        vizier.get_study(name="projects/p/locations/us-central1/studies/1")
