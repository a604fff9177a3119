"""All endpoints of a group, from Vertex AI and Cloud Monitoring."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from google.api_core.exceptions import GoogleAPICallError
from google.cloud.aiplatform_v1 import EndpointServiceClient

from trellis.google_api import GoogleApi, RefusedError
from trellis.identity import EXPERIMENT_LABEL
from trellis.vertex.calls import CALL_TIMEOUT_SECONDS, REPEATABLE
from trellis.vertex.stepwise import unfinished
from trellis.workflow.endpoints.monitoring import LONGEST_DAYS, counted
from trellis.workflow.endpoints.state import Endpoint, State, describe, removal_order
from trellis.workflow.spec.platform import Platform


@dataclass(frozen=True)
class Survey:
    """The endpoints of a project and region. refused: why Cloud Monitoring did not answer."""

    endpoints: tuple[Endpoint, ...]
    refused: RefusedError | None

    @property
    def idle(self) -> list[Endpoint]:
        return [endpoint for endpoint in self.endpoints if endpoint.state == State.IDLE]


def client_of(platform: Platform, api: GoogleApi) -> EndpointServiceClient:
    """A client of the group's region, with the credentials of `api`."""
    return EndpointServiceClient(
        credentials=api.credentials,
        client_options={"api_endpoint": f"{platform.region}-aiplatform.googleapis.com"},
    )


def survey(client: Any, api: GoogleApi, platform: Platform, now: datetime, days: int) -> Survey:
    """The endpoints of a group's project and region that have an experiment's label, by experiment.

    client: an EndpointServiceClient. Raises google.api_core.exceptions for refusals of Vertex AI's.
    """
    counts, refused = None, None
    try:
        start = now - timedelta(days=days)
        counts = counted(api, platform.project, platform.region, start, now)
    except RefusedError as error:
        refused = error
    parent = f"projects/{platform.project}/locations/{platform.region}"
    request = {"parent": parent, "filter": f"labels.{EXPERIMENT_LABEL}:*"}
    found = [
        describe(
            each,
            counts,
            bool(each.deployed_models and unfinished(client, each.name)),
            platform.labels,
            platform.region,
            now,
            days,
        )
        for each in client.list_endpoints(request=request, **REPEATABLE)
    ]
    return Survey(tuple(sorted(found, key=lambda each: (each.experiment, each.name))), refused)


def survey_or_why(
    client: Any, api: GoogleApi, platform: Platform, now: datetime, days: int
) -> Survey | str:
    """The survey, idle after `days` or what Cloud Monitoring keeps; Vertex AI's refusal as text."""
    try:
        return survey(client, api, platform, now, min(days, LONGEST_DAYS))
    except GoogleAPICallError as error:
        return " ".join(error.message.split())


def undeploy(client: Any, endpoint: Endpoint) -> Iterator[str]:
    """Undeploy all models of an idle endpoint, one after the other; yields each version.

    An endpoint that was changed since the survey is left as it is: nothing is yielded. Raises
    google.api_core.exceptions.
    """
    now = client.get_endpoint(name=endpoint.name, **REPEATABLE)
    shares = {each.id: now.traffic_split.get(each.id, 0) for each in now.deployed_models}
    if shares != {model.id: model.share for model in endpoint.models}:
        return
    for model in removal_order(endpoint):
        request = {"endpoint": endpoint.name, "deployed_model_id": model.id}
        client.undeploy_model(request=request, timeout=CALL_TIMEOUT_SECONDS).result()
        yield model.version
