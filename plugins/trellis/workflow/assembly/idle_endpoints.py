"""The DAG idle_endpoints: tells, at regular times, which endpoints cost money for nothing."""

from typing import Any

from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowSkipException

from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.group_dag import group_dag
from trellis.workflow.assembly.notifications import send
from trellis.workflow.spec.platform import IdleEndpoints, Platform
from trellis.workflow.stages.function_operator import function_task
from trellis.workflow.stages.idle_endpoints import IdleEndpointsOperator

NAME = "idle_endpoints"
PAGE = """\
Reports the group's endpoints without requests for some days, with their costs, in the log and to
`notify` of platform.yaml; undeploys their models if `idle_endpoints.undeploy` is on.
`trellis endpoints` prints all endpoints. A version that was undeployed stays in the registry, and
the next model that is promoted is deployed to the same endpoint.

**Red:** Cloud Monitoring or Vertex AI refused. Nothing that might be in use was undeployed.
"""
_ADVICE = {"find": "`trellis endpoints` says what is missing. Then clear this task."}


def build(platform: Platform, settings: IdleEndpoints) -> DAG:
    """find -> tell; `tell` is skipped if there is nothing to say."""
    with group_dag(
        platform,
        NAME,
        on_failure(platform, _ADVICE),
        description="Endpoints without requests, and their costs",
        doc_md=PAGE,
        schedule=settings.schedule,
        # Two at once would undeploy the same models.
        max_active_runs=1,
        tags=["deployment"],
    ) as dag:
        find = IdleEndpointsOperator(
            task_id="find", platform=platform, days=settings.days, undeploy=settings.undeploy
        )

        @function_task(task_id="tell")
        def tell(text: str, **context: Any) -> None:
            if not text:
                raise AirflowSkipException("No endpoint is idle.")
            send(platform, context, text)

        tell(find.output)
    return dag
