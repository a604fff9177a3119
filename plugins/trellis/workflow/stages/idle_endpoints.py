"""Reports idle endpoints, and undeploys their models if platform.yaml says so."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.endpoint_service import EndpointServiceHook
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException

from trellis.google_api import GoogleApi
from trellis.workflow.endpoints.state import Endpoint
from trellis.workflow.endpoints.survey import survey, undeploy
from trellis.workflow.spec.platform import Platform


class IdleEndpointsOperator(BaseOperator):
    """Returns the message about idle endpoints, "" if there is none.

    Fails, and undeploys nothing, if Cloud Monitoring has no counts of requests.

    :param days: after so many without a request an endpoint is idle.
    :param undeploy: whether their models are undeployed.
    """

    def __init__(self, *, platform: Platform, days: int, undeploy: bool, **kwargs: Any):
        super().__init__(**kwargs)
        self.platform = platform
        self.days = days
        self.undeploy = undeploy

    def execute(self, context: Any) -> str:
        """See BaseOperator."""
        hook = EndpointServiceHook(gcp_conn_id=self.platform.connection)
        client = hook.get_endpoint_service_client(self.platform.region)
        api = GoogleApi(hook.get_credentials())
        found = survey(client, api, self.platform, self.now(), self.days)
        if found.refused is not None:
            raise AirflowException(
                f"Cloud Monitoring has no counts of requests: {found.refused.message}"
                " (`trellis endpoints` says what to do)"
            )
        if not found.idle:
            self.log.info("Of %s endpoints none is idle", len(found.endpoints))
            return ""
        lines = []
        for line in self._lines(client, found.idle):
            self.log.warning("%s", line)  # at once: an error may end what follows
            lines.append(line)
        return "\n".join(lines)

    def now(self) -> datetime:
        """The end of the days that count."""
        return datetime.now(UTC)

    def _lines(self, client: Any, idle: list[Endpoint]) -> Iterator[str]:
        done = "were undeployed" if self.undeploy else "are still paid for"
        yield (
            f"TRELLIS IDLE: endpoints without requests for {self.days} days, whose models "
            f"{done}: {', '.join(endpoint.experiment for endpoint in idle)}"
        )
        for endpoint in idle:
            cost = endpoint.usd_per_day
            a_day = "at an unknown price" if cost is None else f"{cost:.2f} USD a day"
            yield f"{endpoint.name}, {a_day}"
            for version in undeploy(client, endpoint) if self.undeploy else ():
                yield f"  undeployed {version}; it stays in the registry"
        if not self.undeploy:
            yield "trellis endpoints --undeploy --yes"
