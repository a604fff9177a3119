"""Deploys a version at an endpoint, or gives it all requests at once if it is deployed."""

from typing import Any

from trellis.vertex.deployments import find_deployed, get_endpoint
from trellis.vertex.endpoints import DeployModelOperator, raise_share
from trellis.vertex.links import ConsoleLink
from trellis.vertex.stepwise import unfinished
from trellis.vertex.versions import parse_version


class PutBackOperator(DeployModelOperator):
    """Acts like DeployModelOperator, but faster: a deployed version gets its share at once, without
    waiting for other deployments. Returns {"deployed_model": id}.
    """

    doing = "put the model back"

    def _advance(self, context: Any, done: str | None) -> Any:
        version = parse_version(self.model)
        deployed = find_deployed(get_endpoint(self._client, self.endpoint_id), version)
        # An undeployment under way may be of this version.
        if deployed is None or unfinished(self._client, self.endpoint_id, "UndeployModel"):
            return super()._advance(context, done)
        ConsoleLink.remember(context, self.endpoint_id, version.name)
        raise_share(self._client, self.endpoint_id, version, int(self.share), self.log)
        return {"deployed_model": deployed.id}
