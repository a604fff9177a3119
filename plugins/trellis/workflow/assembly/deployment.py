"""The tasks of a deployment, and their order.

    prepare -> register -> endpoint -> canary_10 -> smoke_10 -> hold_10 -> shift_50 -> smoke_50 ->
    hold_50 -> shift_100 -> smoke_100 -> champion -> undeploy -> retention
                          any of these from the canary to the champion failed -> retreat

Each step looks at what is there, does what is missing, and leaves what is right. So a task may die
between any two calls, and a finished deployment that is cleared changes nothing.

The alias `champion` moves when the challenger has all requests and has passed its last test. Until
then a failure leads to `retreat`: the champion gets the requests back, the challenger is
undeployed, no alias of the champion changes, and the run fails. After a retreat, clearing the test
that failed (or the canary) deploys the challenger again, at its first share; not if there is
another champion by then, with which nobody has compared it.

The champion before stays deployed, without requests, for `keep_previous`: `retire` triggers a run
of the DAG undeploy_previous for the end of that time. Whatever else has no requests is undeployed.
"""

from typing import Any

from airflow.sdk import TaskGroup, chain

from research.alerts import on_failure
from research.deployment_section import Deploy
from research.experiment import Experiment
from research.platform import Platform
from research.registry_names import CHALLENGER, CHAMPION, PREVIOUS
from research.retirement import RetireOperator
from research.stages.deploy import prepare
from research.stages.deploy.diary import Diary
from research.stages.deploy.hold import HoldOperator
from research.stages.deploy.smoke import SmokeOperator
from vertex.endpoints import DeployModelOperator, EndpointOperator, TrafficOperator
from vertex.models import AliasOperator, DeleteOldVersionsOperator, ModelVersionOperator
from vertex.undeployment import RetreatOperator, UndeployIdleOperator

GROUP = "deploy"

_PREPARED = "ti.xcom_pull(task_ids='deploy.prepare')"
_MODEL = "{{ (ti.xcom_pull(task_ids='deploy.register') or {}).get('name') }}"
_ENDPOINT = "{{ (ti.xcom_pull(task_ids='deploy.endpoint') or {}).get('endpoint') }}"
_PREVIOUS = (
    "{% set model = ti.xcom_pull(task_ids='deploy.register')['model'] %}"
    "{% set version = ti.xcom_pull(task_ids='deploy.champion')['previous'] %}"
    "{{ model ~ '@' ~ version if version else '' }}"
)
"""The version that was the champion before; empty if there was none."""


class RegisterOperator(ModelVersionOperator):
    """One version for each challenger: its generation is known when the run has one."""

    template_fields = (*ModelVersionOperator.template_fields, "generation")


def tasks(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow tasks; skipped when nothing was promoted."""
    deploy = experiment.deploy
    diary = Diary(experiment, platform)
    common = {
        "project_id": platform.project,
        "region": platform.region,
        "gcp_conn_id": platform.connection,
        "poll_interval": platform.poll_seconds,
        "on_failure_callback": [diary.failed, on_failure],
    }
    challenger = {**common, "endpoint": _ENDPOINT, "model": _MODEL}
    with TaskGroup(GROUP, tooltip="The promoted training, into service step by step") as group:
        register = RegisterOperator(
            task_id="register",
            model_id=experiment.name,
            model=f"{{{{ {_PREPARED}['model'] }}}}",
            aliases=[CHALLENGER],
            generation=f"{{{{ {_PREPARED}['key'] }}}}",
            **common,
        )
        endpoint = EndpointOperator(
            task_id="endpoint",
            endpoint_id=experiment.name,
            endpoint=f"{{{{ {_PREPARED}['endpoint'] }}}}",
            post_execute=diary.begin,
            **common,
        )
        steps = _steps(deploy, platform, diary, challenger)
        champion = AliasOperator(
            task_id="champion",
            model=_MODEL,
            alias=CHAMPION,
            previous=PREVIOUS,
            drop=[CHALLENGER],
            pre_execute=diary.complete,
            post_execute=diary.crowned,
            **common,
        )
        undeploy = UndeployIdleOperator(
            task_id="undeploy",
            endpoint=_ENDPOINT,
            keep=[_MODEL, _PREVIOUS] if deploy.keep_previous else [_MODEL],
            post_execute=diary.tidied,
            **common,
        )
        retention = DeleteOldVersionsOperator(
            task_id="retention",
            model=_MODEL,
            keep=deploy.keep_versions,
            post_execute=diary.tidied,
            **common,
        )
        prepared = prepare.task(experiment, platform)
        chain(prepared, register, endpoint, *steps, champion, undeploy, retention)
        if deploy.keep_previous:
            champion >> RetireOperator(task_id="retire", experiment=experiment, diary=diary)
        [*steps, champion] >> RetreatOperator(
            task_id="retreat",
            champion=CHAMPION,
            trigger_rule="one_failed",
            pre_execute=diary.deployed_anything,
            post_execute=diary.retreated,
            **challenger,
        )
    return group


def _steps(deploy: Deploy, platform: Platform, diary: Diary, challenger: dict[str, Any]) -> list:
    """From the canary to the last test; `challenger`: arguments that say which, and where."""
    deployed_model = f"{{{{ {_PREPARED}['deployed_model'] }}}}"
    first = deploy.canary[0]
    steps: list[Any] = []
    for share in deploy.canary:
        if share == first:
            shift = DeployModelOperator(
                task_id=f"canary_{share}",
                deployed_model=deployed_model,
                share=share,
                pre_execute=diary.unchanged,
                post_execute=diary.stepped,
                **challenger,
            )
        else:
            shift = TrafficOperator(
                task_id=f"shift_{share}",
                share=share,
                pre_execute=diary.unchanged,
                post_execute=diary.stepped,
                **challenger,
            )
        smoke = SmokeOperator(
            task_id=f"smoke_{share}",
            deployed_model=deployed_model,
            share=first,
            platform=platform,
            examples=f"{{{{ {_PREPARED}['challenger'] }}}}",
            latency=deploy.smoke.latency,
            pre_execute=diary.unchanged,
            post_execute=diary.stepped,
            **challenger,
        )
        steps += [shift, smoke]
        if deploy.hold and share < 100:
            hold = {"diary": diary, "share": share, "hold": deploy.hold}
            steps.append(HoldOperator(task_id=f"hold_{share}", **hold))
    return steps
