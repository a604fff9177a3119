"""The DAG digest: summarizes a group's runs at regular times."""

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, BaseOperator

from trellis.results import digest
from trellis.results.index import load_index
from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.group_dag import group_dag
from trellis.workflow.assembly.notifications import send
from trellis.workflow.spec.platform import Digest, Platform

NAME = "digest"
PAGE = """\
Summarizes the group's runs of the last days: their winners, their costs, new champions and
failures. The text is in the log of `tell`, and goes to `notify` of
platform.yaml. `trellis digest` prints the same.
"""
_ADVICE = {"tell": "The runs are untouched. `trellis digest` prints the same text."}


class DigestOperator(BaseOperator):
    """Log the digest and send it; returns its first line."""

    def __init__(self, *, platform: Platform, days: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.platform = platform
        self.days = days

    def execute(self, context: Any) -> str:
        """See BaseOperator."""
        from airflow.providers.google.cloud.hooks.gcs import GCSHook
        from airflow.providers.google.cloud.hooks.vertex_ai.endpoint_service import (
            EndpointServiceHook,
        )

        from trellis.google_api import GoogleApi
        from trellis.workflow.endpoints.survey import survey_or_why

        client = GCSHook(gcp_conn_id=self.platform.connection).get_conn()
        end = datetime.now(UTC)
        index = load_index(client, self.platform.bucket)
        start = end - timedelta(days=self.days)
        found = digest.lines(index, start, end, self.platform.limits)
        vertex = EndpointServiceHook(gcp_conn_id=self.platform.connection)
        surveyed = survey_or_why(
            vertex.get_endpoint_service_client(self.platform.region),
            GoogleApi(vertex.get_credentials()),
            self.platform,
            end,
            self.days,
        )
        text = "\n".join([*found, *digest.around(client, self.platform, start, end, surveyed)])
        self.log.info("%s", text)
        send(self.platform, context, text)
        return found[0]


def build(platform: Platform, settings: Digest) -> DAG:
    """Build the DAG of one task. A past run, too, summarizes the last days: it is a message."""
    with group_dag(
        platform,
        NAME,
        on_failure(platform, _ADVICE),
        description="Results, costs and new champions of the last days' runs",
        doc_md=PAGE,
        schedule=settings.schedule,
        max_active_runs=1,
    ) as dag:
        DigestOperator(task_id="tell", platform=platform, days=settings.days)
    return dag
