"""Cloud Monitoring as a service of local_gcp."""

from __future__ import annotations

from local_gcp.monitoring.app import Quotas, monitoring_app
from local_gcp.project_apis.service import FILE
from local_gcp.service import Context, Service
from local_gcp.vertex.endpoints.usage import Usage


class Monitoring(Service):
    """Time series over REST; Google's own client speaks gRPC, which is not emulated.

    `usage`: what Vertex AI's endpoints were asked. `quotas`: what its trainings have in use of
    their quotas, by region and quota.
    """

    hosts = ("monitoring.googleapis.com",)

    def __init__(self, context: Context, usage: Usage, quotas: Quotas):
        self.rest = monitoring_app(context.project, context.home.root / FILE, usage, quotas)
