"""Deploys a version at an endpoint, or gives it all requests at once where it is deployed."""

from typing import Any

from vertex.deployments import find_deployed, get_endpoint
from vertex.endpoints import DeployModelOperator, raise_share
from vertex.stepwise import unfinished
from vertex.versions import parse_version

_LEAVING = "UndeployModelOperationMetadata"


class PutBackOperator(DeployModelOperator):
    """As DeployModelOperator, in more of a hurry: a version that is deployed has its share at once,
    whatever else is being deployed there. Returns {"deployed_model": id}.
    """

    doing = "put the model back"

    def _advance(self, context: Any, done: str | None) -> Any:
        version = parse_version(self.model)
        deployed = find_deployed(get_endpoint(self._client, self.endpoint), version)
        if deployed is None or self._leaving():
            return super()._advance(context, done)
        self._link(context, self.endpoint)
        raise_share(self._client, self.endpoint, version, int(self.share), self.log)
        return {"deployed_model": deployed.id}

    def _leaving(self) -> bool:
        """Whether something is being undeployed: it may be this version."""
        under_way = unfinished(self._client, self.endpoint)
        return any(operation.metadata.type_url.endswith(_LEAVING) for operation in under_way)
