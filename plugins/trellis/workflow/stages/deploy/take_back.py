"""Takes the challenger of a failed deployment back, and with it what earlier ones left half-way."""

from typing import Any

from trellis.vertex.deployments import get_endpoint, version_at
from trellis.vertex.endpoints import traffic_of
from trellis.vertex.undeployment import RetreatOperator
from trellis.vertex.versions import VersionName, parse_version
from trellis.workflow.contracts.aliases import CHAMPION, PREVIOUS
from trellis.workflow.contracts.layout import Run
from trellis.workflow.lookups import documents, versions
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis_contracts.deployment import SERVING, Deployment


class TakeBackOperator(RetreatOperator):
    """Acts like RetreatOperator; then undeploys the challengers that an earlier run, or an earlier
    round of this one, left deployed and never made champion. The champion has their requests by
    then; without a champion, one of them has all requests and stays.
    """

    def __init__(self, *, experiment: Experiment, platform: Platform, **kwargs: Any):
        super().__init__(**kwargs)
        self._experiment = experiment
        self._platform = platform

    def _advance(self, context: Any, done: str | None) -> Any:
        # First what this run deployed: nothing below may delay it.
        result = super()._advance(context, done)
        endpoint = get_endpoint(self._client, self.endpoint_id)
        for deployed in endpoint.deployed_models:
            version = version_at(deployed)
            if not endpoint.traffic_split.get(deployed.id) and self._left_half_way(version):
                self.log.info("%s was left half-way by an earlier deployment", version.name)
                return self._undeploy(context, deployed)
        return {**result, "traffic": traffic_of(endpoint)}

    def _left_half_way(self, version: VersionName) -> bool:
        """Return whether a run deployed the version, and it never became the champion."""
        known = versions.versions(self._experiment, self._platform)
        found = versions.find(known, version.version)
        if found is None or not found.run or {CHAMPION, PREVIOUS} & set(found.aliases):
            return False
        folder = found.run.rstrip("/").rpartition("/")[2]
        run = Run(self._platform.bucket, self._experiment.name, folder)
        record = documents.find_file(self._platform, Deployment, run.deployment)
        if record is None:  # no run's: a person's
            return False
        same = parse_version(record.model).is_the_same_as(version)
        return not same or record.state != SERVING
