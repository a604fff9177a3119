"""Parameters of all operators of this package: project, region, credentials, poll interval."""

from collections.abc import Sequence
from typing import Any

from airflow.providers.google.cloud.operators.cloud_base import GoogleCloudBaseOperator


class VertexOperator(GoogleCloudBaseOperator):
    """An operator on Vertex AI in one project and region.

    :param generation: raise it to create again what the task would otherwise adopt.
    :param poll_interval: seconds between two polls of what the task waits for.
    """

    template_fields: Sequence[str] = ("region", "project_id", "impersonation_chain", "gcp_conn_id")

    def __init__(
        self,
        *,
        project_id: str,
        region: str,
        generation: int | str = 1,
        gcp_conn_id: str = "google_cloud_default",
        impersonation_chain: str | Sequence[str] | None = None,
        poll_interval: float = 10,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.project_id = project_id
        self.region = region
        self.generation = generation
        self.gcp_conn_id = gcp_conn_id
        self.impersonation_chain = impersonation_chain
        self.poll_interval = poll_interval
