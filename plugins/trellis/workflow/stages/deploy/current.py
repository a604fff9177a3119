"""The current state: which version is the champion, and each version's share."""

from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.endpoint_service import EndpointServiceHook
from airflow.providers.google.cloud.hooks.vertex_ai.model_service import ModelServiceHook

from trellis.vertex.deployments import find_deployed, get_endpoint
from trellis.vertex.registry import find_by_alias
from trellis.vertex.versions import parse_version
from trellis.workflow.spec.platform import Platform


class CurrentState:
    """Raises google.api_core.exceptions, and JobFailedForGood if the endpoint is gone.

    endpoint: its name. model: names of versions, projects/.../models/ID@VERSION.
    """

    def __init__(self, platform: Platform):
        self._platform = platform

    def deployed(self, endpoint: str, model: str) -> tuple[str | None, int]:
        """Id of the deployed model that serves the version, and its share in percent."""
        found = get_endpoint(self._endpoints(), endpoint)
        deployed = find_deployed(found, parse_version(model))
        return (deployed.id, found.traffic_split.get(deployed.id, 0)) if deployed else (None, 0)

    def version_with(self, model: str, alias: str) -> str | None:
        """The version of the same model that has the alias."""
        version = find_by_alias(self._models(), model, alias)
        return version.name if version else None

    def _endpoints(self) -> Any:
        hook = EndpointServiceHook(gcp_conn_id=self._platform.connection)
        return hook.get_endpoint_service_client(self._platform.region)

    def _models(self) -> Any:
        hook = ModelServiceHook(gcp_conn_id=self._platform.connection)
        return hook.get_model_service_client(self._platform.region)
