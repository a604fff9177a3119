"""The DAG undeploy_previous: a replaced model is undeployed when its `keep_previous` is over.

A task of the experiment's own run that waited so long would hold back the experiment's next run
(one at a time). So each deployment triggers a run of this DAG for the day on which it is due.
"""

from collections.abc import Iterable

from airflow.sdk import DAG

from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.group_dag import group_dag
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import vertex_job
from trellis.workflow.stages.deploy.undeploy_previous import NAME, UndeployPreviousOperator

PAGE = """\
Undeploys a model that another has replaced, once the experiment's `deploy.keep_previous` is over.
Deployments trigger it; its runs wait, queued, for their time. A version that has requests again by
then, or is the champion (someone rolled back), stays.

**Red:** the version is still deployed, and paid for. Clear the task once the cause is gone.
"""
_ADVICE = {"undeploy": "The version is still paid for. Clear this task once the cause is gone."}


def build(platform: Platform, owners: Iterable[str]) -> DAG:
    """One task; its run's conf: {"endpoint": name, "model": name@version}.

    owners: of the experiments that deploy their models.
    """
    with group_dag(
        platform,
        NAME,
        on_failure(platform, _ADVICE),
        description="Undeploy a replaced model when its time is over",
        doc_md=PAGE,
        # No person opens this DAG, and the run of a paused DAG would wait for ever.
        is_paused_upon_creation=False,
        tags=["deployment"],
        owners=owners,
        owner="trellis",
    ) as dag:
        UndeployPreviousOperator(
            task_id="undeploy",
            endpoint_id="{{ dag_run.conf['endpoint'] }}",
            model="{{ dag_run.conf['model'] }}",
            platform=platform,
            **vertex_job.place(platform),
        )
    return dag
