"""What an experiment's endpoint serves, as Vertex AI says. For tasks: never at parse time."""

from dataclasses import dataclass
from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.endpoint_service import EndpointServiceHook
from airflow.providers.google.cloud.hooks.vertex_ai.model_service import ModelServiceHook
from airflow.sdk.exceptions import AirflowFailException
from google.api_core import exceptions

from research.layout import Run
from research.platform import Platform
from research.registry_names import CHAMPION, RUN_LABEL
from vertex.deployments import find_endpoint, version_at
from vertex.identity import label_value
from vertex.jobs import CALL_TIMEOUT_SECONDS


@dataclass(frozen=True)
class Version:
    """A model version that gets requests.

    name: projects/P/locations/R/models/ID@VERSION. traffic: percent of the requests. artifact_uri:
    its SavedModel; None if someone deleted the version. own: registered by the run that asks.
    champion: whether it has that alias.
    """

    name: str
    traffic: int
    artifact_uri: str | None
    own: bool
    champion: bool = False


@dataclass(frozen=True)
class Endpoint:
    """An experiment's endpoint. versions: those with requests, the one with most of them first.

    private: inside a network, by Private Service Connect.
    """

    name: str
    private: bool
    versions: tuple[Version, ...]

    @property
    def before(self) -> Version | None:
        """What is served beside what the run that asks deployed itself."""
        return next((version for version in self.versions if not version.own), None)


def look(platform: Platform, run: Run) -> Endpoint | None:
    """The endpoint of the run's experiment; None if there is none.

    Raises AirflowFailException for what platform.yaml or its project's permissions must change, and
    google.api_core.exceptions for what may pass.
    """
    try:
        hook = EndpointServiceHook(gcp_conn_id=platform.connection)
        client = hook.get_endpoint_service_client(platform.region)
        parent = f"projects/{platform.project}/locations/{platform.region}"
        label = label_value(run.experiment)
        found = find_endpoint(client, parent, label, run.experiment)
        if found is None:
            return None
        models = ModelServiceHook(gcp_conn_id=platform.connection).get_model_service_client(
            platform.region
        )
        versions = [
            _version(models, run, name, share) for name, share in _shares(found).items() if share
        ]
    except exceptions.Forbidden as error:
        raise AirflowFailException(
            f"This project may not see what is served in {platform.region} (it needs "
            f"aiplatform.endpoints.list and aiplatform.models.get): {error.message}"
        ) from error
    except (exceptions.MethodNotImplemented, exceptions.InvalidArgument) as error:
        # All that a client hears of a region that there is not: a 404 from no service.
        raise AirflowFailException(
            f"Vertex AI does not answer for the region {platform.region} (platform.yaml: region); "
            f"is there such a region? It says: {error.message}"
        ) from error
    # Of equal shares the older version, so that the answer is always the same.
    versions.sort(key=lambda version: (-version.traffic, int(version.name.rpartition("@")[2])))
    private = found.private_service_connect_config.enable_private_service_connect
    return Endpoint(found.name, private, tuple(versions))


def _shares(endpoint: Any) -> dict[str, int]:
    """Percent of the requests by version; a version may be deployed twice."""
    shares: dict[str, int] = {}
    for deployed in endpoint.deployed_models:
        name = version_at(deployed).name
        shares[name] = shares.get(name, 0) + endpoint.traffic_split.get(deployed.id, 0)
    return shares


def _version(client: Any, run: Run, name: str, share: int) -> Version:
    try:
        model = client.get_model(name=name, timeout=CALL_TIMEOUT_SECONDS)
    except exceptions.NotFound:
        return Version(name, share, None, own=False)
    own = model.labels.get(RUN_LABEL) == label_value(run.folder)
    champion = CHAMPION in model.version_aliases
    return Version(name, share, model.artifact_uri or None, own, champion)
