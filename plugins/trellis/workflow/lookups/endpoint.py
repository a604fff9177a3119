"""Reads from Vertex AI the model that an experiment's endpoint serves. Called by tasks only."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.endpoint_service import EndpointServiceHook
from airflow.providers.google.cloud.hooks.vertex_ai.model_service import ModelServiceHook
from airflow.sdk.exceptions import AirflowFailException
from google.api_core import exceptions

from trellis.identity import label_value
from trellis.vertex.calls import REPEATABLE
from trellis.vertex.deployments import find_endpoint, version_at
from trellis.vertex.registry import service_of
from trellis.vertex.stepwise import no_service
from trellis.workflow.contracts.aliases import CHAMPION, RUN_LABEL
from trellis.workflow.contracts.layout import Run
from trellis.workflow.lookups import versions
from trellis.workflow.spec.platform import Platform


@dataclass(frozen=True)
class ServedVersion:
    """A model version that gets requests.

    name: projects/P/locations/R/models/ID@VERSION. traffic: percent of the requests. artifact_uri:
    its files; None of a service's model, and if someone deleted the version. own: registered by
    the calling run. champion: whether it has that alias. service: as in Served. origin: folder of
    the contender that it was in its run; None if its description does not say. deployed: IDs by
    which the endpoint has it. since: when the first of these was deployed.
    """

    name: str
    traffic: int
    artifact_uri: str | None
    own: bool
    champion: bool = False
    service: str | None = None
    origin: str | None = None
    deployed: tuple[str, ...] = ()
    since: datetime | None = None


@dataclass(frozen=True)
class Endpoint:
    """An experiment's endpoint. versions: those with traffic, largest share first.

    private: reachable only from a VPC network, by Private Service Connect.
    """

    name: str
    private: bool
    versions: tuple[ServedVersion, ...]

    @property
    def before(self) -> ServedVersion | None:
        """The served versions that the calling run did not deploy itself."""
        return next((version for version in self.versions if not version.own), None)


def find(platform: Platform, run: Run) -> Endpoint | None:
    """The endpoint of the run's experiment; None if there is none.

    Raises AirflowFailException for errors in platform.yaml or the project's permissions, and
    google.api_core.exceptions for errors that may be transient.
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
            replace(_version(models, run, name, share), **_deployed(found, name))
            for name, share in _shares(found).items()
            if share
        ]
    except exceptions.Forbidden as error:
        raise AirflowFailException(
            f"This project may not see what is served in {platform.region} (it needs "
            f"aiplatform.endpoints.list and aiplatform.models.get): {error.message}"
        ) from error
    except (exceptions.MethodNotImplemented, exceptions.InvalidArgument) as error:
        hint = "" if _not_offered(error) else "\nDoes that region exist (platform.yaml: region)?"
        raise AirflowFailException(
            f"Vertex AI in {platform.region} does not say what is served: {error.message}{hint}"
        ) from error
    # Equal shares: the older version first, so that the order is deterministic.
    versions.sort(key=lambda version: (-version.traffic, int(version.name.rpartition("@")[2])))
    private = found.private_service_connect_config.enable_private_service_connect
    return Endpoint(found.name, private, tuple(versions))


def _not_offered(error: exceptions.GoogleAPICallError) -> bool:
    """Return whether Vertex AI itself answered that it does not offer the method."""
    return isinstance(error, exceptions.MethodNotImplemented) and not no_service(error)


def _shares(endpoint: Any) -> dict[str, int]:
    """Percent of the requests by version; a version may be deployed twice."""
    shares: dict[str, int] = {}
    for deployed in endpoint.deployed_models:
        name = version_at(deployed).name
        shares[name] = shares.get(name, 0) + endpoint.traffic_split.get(deployed.id, 0)
    return shares


def _deployed(endpoint: Any, name: str) -> dict[str, Any]:
    """The fields `deployed` and `since` of a version."""
    found = [one for one in endpoint.deployed_models if version_at(one).name == name]
    return {
        "deployed": tuple(one.id for one in found),
        "since": min((one.create_time for one in found if one.create_time), default=None),
    }


def _version(client: Any, run: Run, name: str, share: int) -> ServedVersion:
    try:
        model = client.get_model(name=name, **REPEATABLE)
    except exceptions.NotFound:
        return ServedVersion(name, share, None, own=False)
    own = model.labels.get(RUN_LABEL) == label_value(run.folder)
    champion = CHAMPION in model.version_aliases
    return ServedVersion(
        name,
        share,
        model.artifact_uri or None,
        own,
        champion,
        service_of(model),
        versions.origin(model),
    )
