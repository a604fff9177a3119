"""Undeploys a replaced model after `keep_previous`, in a DAG of its own.

A waiting task in the experiment's own run would delay the experiment's next run (one at a time). So
each deployment triggers a run of the DAG undeploy_previous for the time at which it is due.
"""

from datetime import datetime
from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk.exceptions import AirflowSkipException
from google.api_core.exceptions import NotFound

from trellis.vertex.calls import REPEATABLE
from trellis.vertex.deployments import version_at
from trellis.vertex.undeployment import UndeployIdleOperator
from trellis.vertex.versions import parse_version
from trellis.workflow.contracts.aliases import CHAMPION
from trellis.workflow.lookups.left import NothingLeftError
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.deploy.current import CurrentState
from trellis.workflow.stages.deploy.hooks import DeploymentHooks

NAME = "undeploy_previous"


class UndeployPreviousOperator(UndeployIdleOperator):
    """Undeploy one version, if it has no requests and is not the champion.

    :param model: name of the version (templated).
    """

    template_fields = (*UndeployIdleOperator.template_fields, "model")

    def __init__(self, *, model: str, platform: Platform, **kwargs: Any):
        super().__init__(**kwargs)
        self.model = model
        self.platform = platform

    def _advance(self, context: Any, done: str | None) -> Any:
        version = parse_version(self.model)
        try:
            endpoint = self._client.get_endpoint(name=self.endpoint_id, **REPEATABLE)
        except NotFound:
            raise AirflowSkipException(f"The endpoint {self.endpoint_id} is gone.") from None
        deployed = [version_at(each) for each in endpoint.deployed_models]
        others = [each.name for each in deployed if not each.is_the_same_as(version)]
        champion = CurrentState(self.platform).version_with(self.model, CHAMPION)
        self.keep = [*others, *filter(None, [champion])]
        return super()._advance(context, done)


class TriggerUndeployPreviousOperator(TriggerDagRunOperator):
    """Trigger that DAG for the time when the previous version is due.

    :param experiment: whose run this is.
    :param platform: the group's, whose DAG it is.
    :param hooks: of the run's deployment.
    """

    def __init__(
        self, *, experiment: Experiment, platform: Platform, hooks: DeploymentHooks, **kwargs: Any
    ):
        dag = platform.dag_id(NAME)
        super().__init__(trigger_dag_id=dag, skip_when_already_exists=True, **kwargs)
        self.experiment = experiment
        self.hooks = hooks

    def execute(self, context: Any) -> None:
        record = self.hooks.record(context).read()
        if record.previous is None:
            raise AirflowSkipException("There was no champion before.")
        replaced = record.time_of("champion")
        if replaced is None:
            raise NothingLeftError("deploy.champion", "champion")
        due = datetime.fromisoformat(replaced) + self.experiment.deployment.keep_previous
        self.run_after = due
        self.trigger_run_id = f"{self.experiment.name}__{replaced}"
        self.conf = {"endpoint": record.endpoint, "model": record.previous}
        self.log.info("%s is undeployed on %s", record.previous, due)
        super().execute(context)
