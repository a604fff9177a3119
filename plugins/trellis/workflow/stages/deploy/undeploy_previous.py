"""The DAG undeploy_previous: a replaced model is undeployed when its `keep_previous` is over.

A task of the experiment's own run that waited so long would hold back the experiment's next run
(one at a time). So each deployment triggers a run of this DAG for the day on which it is due.
"""

from datetime import datetime
from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowSkipException

from research.alerts import on_failure_with
from research.attempts import arguments
from research.experiment import Experiment
from research.platform import Platform
from research.registry_names import CHAMPION
from vertex.deployments import version_at
from vertex.jobs import CALL_TIMEOUT_SECONDS
from vertex.undeployment import UndeployIdleOperator
from vertex.versions import parse_version

DAG_ID = "undeploy_previous"

PAGE = """\
Undeploys a model that another has replaced, once the experiment's `deploy.keep_previous` is over.
Deployments trigger it; its runs wait, queued, for their time. A version that has requests again by
then, or is the champion (someone rolled back), stays.

**Red:** the version is still deployed, and paid for. Clear the task once the cause is gone.
"""
_ADVICE = {"undeploy": "The version is still paid for. Clear this task once the cause is gone."}


def build(platform: Platform) -> DAG:
    """One task; its run's conf: {"endpoint": name, "model": name@version}."""
    with DAG(
        dag_id=DAG_ID,
        description="Undeploy a replaced model when its time is over",
        doc_md=PAGE,
        schedule=None,
        catchup=False,
        # Nobody opens it to switch it on, and a run of a paused DAG waits for ever, unseen.
        is_paused_upon_creation=False,
        tags=["research", "deployment"],
        default_args={"owner": "trellis", **arguments(platform, on_failure_with(_ADVICE))},
    ) as dag:
        RetirementOperator(
            task_id="undeploy",
            endpoint="{{ dag_run.conf['endpoint'] }}",
            model="{{ dag_run.conf['model'] }}",
            platform=platform,
            project_id=platform.project,
            region=platform.region,
            gcp_conn_id=platform.connection,
            poll_interval=platform.poll_seconds,
        )
    return dag


class RetirementOperator(UndeployIdleOperator):
    """Undeploy one version, if it has no requests and is not the champion.

    :param model: name of the version (templated).
    """

    template_fields = (*UndeployIdleOperator.template_fields, "model")

    def __init__(self, *, model: str, platform: Platform, **kwargs: Any):
        super().__init__(**kwargs)
        self.model = model
        self.platform = platform

    def _advance(self, context: Any, done: str | None) -> Any:
        from google.api_core.exceptions import NotFound

        from research.stages.deploy.look import Look

        version = parse_version(self.model)
        try:
            endpoint = self._client.get_endpoint(name=self.endpoint, timeout=CALL_TIMEOUT_SECONDS)
        except NotFound:
            raise AirflowSkipException(f"The endpoint {self.endpoint} is gone.") from None
        deployed = [version_at(each) for each in endpoint.deployed_models]
        others = [each.name for each in deployed if not each.is_the_same_as(version)]
        self.keep = [*others, Look(self.platform).bearer(self.model, CHAMPION)]
        return super()._advance(context, done)


class RetireOperator(TriggerDagRunOperator):
    """Trigger that DAG for the time when the version before is due.

    :param experiment: whose.
    :param diary: of the run's deployment.
    """

    def __init__(self, *, experiment: Experiment, diary: Any, **kwargs: Any):
        super().__init__(trigger_dag_id=DAG_ID, skip_when_already_exists=True, **kwargs)
        self.experiment = experiment
        self.diary = diary

    def execute(self, context: Any) -> None:
        content = self.diary.record(context).read()
        if content["previous"] is None:
            raise AirflowSkipException("There was no champion before.")
        replaced = next(s["at"] for s in content["steps"] if s["step"] == "champion")
        due = datetime.fromisoformat(replaced) + self.experiment.deploy.keep_previous
        self.run_after = due
        self.trigger_run_id = f"{self.experiment.name}__{replaced}"
        self.conf = {"endpoint": content["endpoint"], "model": content["previous"]}
        self.log.info("%s is undeployed on %s", content["previous"], due)
        super().execute(context)
