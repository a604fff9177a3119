"""The DAG rollback: one for all experiments that deploy models, started by a person."""

from typing import Any

from airflow.sdk import DAG, Param

from trellis.vertex.endpoints import EndpointOperator, TrafficOperator
from trellis.vertex.models import AliasOperator
from trellis.vertex.undeployment import UndeployIdleOperator
from trellis.workflow.assembly.alerts import on_failure
from trellis.workflow.assembly.group_dag import group_dag
from trellis.workflow.assembly.rollback_page import ADVICE, page
from trellis.workflow.contracts.aliases import CHAMPION, PATTERN, PREVIOUS
from trellis.workflow.lookups import requests_table
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import vertex_job
from trellis.workflow.stages.deploy import messages
from trellis.workflow.stages.planned import returned
from trellis.workflow.stages.rollback import resolve, result
from trellis.workflow.stages.rollback.put_back import PutBackOperator
from trellis.workflow.stages.unread import unread

NAME = "rollback"

_VERSION = returned("resolve", "version")
_ENDPOINT = returned("endpoint", "endpoint")


def build(experiments: dict[str, Experiment], platform: Platform) -> DAG:
    """resolve -> endpoint -> deploy -> champion -> shift -> undeploy -> result

    The requests come first. They are shifted once more after the alias: a deployment of the
    experiment's own run that gives up in between sends them back to the champion of that moment.
    """
    owners = sorted({experiment.owner for experiment in experiments.values()})
    common = vertex_job.place(platform)

    def endpoint_message(context: Any, jinja_env: Any) -> dict[str, Any]:
        return messages.endpoint(experiments[context["params"]["experiment"]], platform)

    def keep_requests(context: Any) -> None:
        requests_table.create(experiments[context["params"]["experiment"]], platform)

    def deployed_model(context: Any, jinja_env: Any) -> dict[str, Any]:
        experiment = experiments[context["params"]["experiment"]]
        return messages.deployed_version(experiment, platform, _VERSION(context))

    at_endpoint = {**common, "endpoint_id": _ENDPOINT}
    with group_dag(
        platform,
        NAME,
        on_failure(platform, ADVICE),
        description="Put an earlier version of an experiment's model back into service",
        doc_md=page(list(experiments)),
        # A rollback triggered by the API must not wait because the DAG is paused.
        is_paused_upon_creation=False,
        # Two at once would undo each other's work.
        max_active_runs=1,
        tags=["deployment"],
        owners=owners,
    ) as dag:
        resolved = resolve.task(experiments, platform)
        endpoint = EndpointOperator(
            task_id="endpoint",
            endpoint_id="{{ params.experiment }}",
            endpoint=endpoint_message,
            pre_execute=unread(keep_requests),
            **common,
        )
        deploy = PutBackOperator(
            task_id="deploy",
            model=_VERSION,
            deployed_model=deployed_model,
            share=100,
            **at_endpoint,
        )
        champion = AliasOperator(
            task_id="champion", model_id=_VERSION, alias=CHAMPION, previous=PREVIOUS, **common
        )
        shift = TrafficOperator(task_id="shift", model=_VERSION, share=100, **at_endpoint)
        undeploy = UndeployIdleOperator(task_id="undeploy", keep=_kept, **at_endpoint)
        chained = resolved >> endpoint >> deploy >> champion >> shift >> undeploy
        chained >> result.task(platform)
    # As training.py has them: a task would copy them, and Airflow validates each copy.
    dag.params.update(_params(list(experiments)))
    return dag


def _kept(context: Any, jinja_env: Any) -> list[str]:
    return [_VERSION(context)]


def _params(names: list[str]) -> dict[str, Param]:
    # One alone is chosen already; of several, a person chooses.
    default: dict[str, Any] = {"default": names[0]} if len(names) == 1 else {}
    return {
        "experiment": Param(
            **default,
            type="string",
            enum=names,
            title="Experiment",
            description="whose model goes back to an earlier version",
        ),
        "version": Param(
            PREVIOUS,
            type="string",
            pattern=PATTERN,
            title="Version",
            description="number or alias; previous: the champion before today's",
        ),
    }
