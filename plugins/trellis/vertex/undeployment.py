"""Undeployment from Airflow: a challenger that failed, and models without traffic."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from airflow.providers.google.cloud.hooks.vertex_ai.model_service import ModelServiceHook
from airflow.providers.google.cloud.operators.vertex_ai.endpoint_service import (
    UndeployModelOperator,
)
from google.api_core import exceptions

from trellis.verdict import JobFailed
from trellis.vertex.base import PLACE, filled
from trellis.vertex.calls import CALL_TIMEOUT_SECONDS
from trellis.vertex.deployments import (
    deployed_ids,
    find_deployed,
    get_endpoint,
    set_traffic,
    version_at,
)
from trellis.vertex.endpoints import EndpointBaseOperator, traffic_of
from trellis.vertex.links import ConsoleLink
from trellis.vertex.registry import find_by_alias
from trellis.vertex.stepwise import unfinished
from trellis.vertex.traffic import withdrawn
from trellis.vertex.versions import VersionName, parse_version


class _UndeployingOperator(EndpointBaseOperator, UndeployModelOperator):
    """Base of the operators that undeploy what they find when they run."""

    template_fields: Sequence[str] = (*PLACE, "endpoint_id")

    def __init__(self, **kwargs: Any):
        super().__init__(**filled("deployed_model_id"), **kwargs)

    def _undeploy(self, context: Any, deployed: Any) -> Any:
        """Undeploy a model that has no traffic, or is the only one, then read the state again."""
        name = version_at(deployed).name
        request = {"endpoint": self.endpoint_id, "deployed_model_id": deployed.id}
        try:
            operation = self._client.undeploy_model(request=request, timeout=CALL_TIMEOUT_SECONDS)
        except exceptions.NotFound as error:
            raise JobFailed(
                f"{name} was just undeployed: {error.message}. Airflow retries the task."
            ) from error
        self.log.info("Undeploying %s", name)
        return self._wait(context, operation.operation, f"undeploy {name}")


class RetreatOperator(_UndeployingOperator):
    """Undeploy a version after its traffic went back to the champion. Returns
    {"traffic": {"projects/.../models/ID@VERSION": percent}, "champion": "2" or None}.

    If no champion is deployed, its traffic goes to the other deployed models in proportion; without
    any, the endpoint is left without a model. Waits for a running deployment of the version and
    undoes it. Does nothing if the version is the champion itself. Aliases do not change. Waits
    deferred.

    :param endpoint_id: name of the endpoint (templated).
    :param model: name of the version (templated): projects/.../models/ID@VERSION.
    :param champion: the alias of the version that traffic goes back to.
    """

    doing = "take the model back"
    template_fields: Sequence[str] = (*_UndeployingOperator.template_fields, "model")

    def __init__(self, *, model: str, champion: str = "champion", **kwargs: Any):
        super().__init__(**kwargs)
        self.model = model
        self.champion = champion

    def _advance(self, context: Any, done: str | None) -> Any:
        ConsoleLink.remember(context, self.endpoint_id)
        leaving = parse_version(self.model)
        champion = find_by_alias(self._models, self.model, self.champion)
        if champion is not None and champion.version == leaving.version:
            self.log.warning("%s is the %s: it stays", leaving.name, self.champion)
            endpoint = get_endpoint(self._client, self.endpoint_id)
            return self._result(endpoint, champion)
        # First, stop requests to it.
        endpoint = self._withdraw(leaving, champion)
        for operation in unfinished(self._client, self.endpoint_id):
            return self._wait(context, operation, None)
        deployed = find_deployed(get_endpoint(self._client, self.endpoint_id), leaving)
        if deployed is not None:
            return self._undeploy(context, deployed)
        return self._result(endpoint, champion)

    def _withdraw(self, leaving: VersionName, champion: VersionName | None) -> Any:
        """Move its traffic to others, unless it is the only model; returns the endpoint."""

        def change(endpoint: Any) -> dict[str, int]:
            split = dict(endpoint.traffic_split)
            deployed = find_deployed(endpoint, leaving)
            # Without traffic there is nothing to move, and the model that has it may just have got
            # it from a rollback whose alias has not moved yet.
            if deployed is None or not split.get(deployed.id) or len(endpoint.deployed_models) == 1:
                return split
            heir = champion and find_deployed(endpoint, champion)
            if heir is None:
                self.log.warning("No version with alias %s is deployed here", self.champion)
            ids = deployed_ids(endpoint)
            return withdrawn(split, ids, deployed.id, heir.id if heir else None)

        return set_traffic(self._client, self.endpoint_id, change, self.log)

    def _result(self, endpoint: Any, champion: VersionName | None) -> dict[str, Any]:
        return {"traffic": traffic_of(endpoint), "champion": champion and champion.version}

    @cached_property
    def _models(self) -> Any:
        return self._hook(ModelServiceHook).get_model_service_client(self.region)


class UndeployIdleOperator(_UndeployingOperator):
    """Undeploy an endpoint's models without traffic. Returns {"traffic": as RetreatOperator}.

    A model that is still being deployed is left alone. Waits deferred.

    :param endpoint_id: name of the endpoint (templated).
    :param keep: names of versions (templated) to keep even without traffic.
    """

    doing = "undeploy what has no traffic"
    template_fields: Sequence[str] = (*_UndeployingOperator.template_fields, "keep")

    def __init__(
        self,
        *,
        keep: Sequence[str] | Callable[[Any, Any], Sequence[str]] = (),
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.keep: Any = keep

    def _advance(self, context: Any, done: str | None) -> Any:
        ConsoleLink.remember(context, self.endpoint_id)
        kept = [parse_version(name) for name in self.keep if name]
        # A model that is being deployed is left to the task that deploys it.
        for operation in unfinished(self._client, self.endpoint_id, "UndeployModel"):
            return self._wait(context, operation, None)
        endpoint = get_endpoint(self._client, self.endpoint_id)
        for deployed in endpoint.deployed_models:
            version = version_at(deployed)
            if endpoint.traffic_split.get(deployed.id) or any(map(version.is_the_same_as, kept)):
                continue
            return self._undeploy(context, deployed)
        return {"traffic": traffic_of(endpoint)}
