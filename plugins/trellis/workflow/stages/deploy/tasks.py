"""The tasks of a deployment, and their order.

    register -> endpoint -> canary_10 -> smoke_10 -> hold_10 -> shift_50 -> smoke_50 -> hold_50 ->
    shift_100 -> smoke_100 -> champion -> undeploy -> retention
                          any of these from the canary to the champion failed -> retreat

Each step looks at what is there, does what is missing, and leaves what is right. So a task may die
between any two calls, and a finished deployment that is cleared changes nothing.

The alias `champion` moves when the challenger has all requests and has passed its last test. Until
then a failure leads to `retreat`: the champion gets the requests back, the challenger is
undeployed, as is any that an earlier run left half-way, no alias of the champion changes, and the
run fails. After a retreat, clearing the test
that failed (or the canary) deploys the challenger again, at its first share; not if there is
another champion by then, with which it was not compared.

The champion before stays deployed, without requests, for `keep_previous`:
`undeploy_previous` triggers a run of the DAG of that name for the end of that time. Whatever else
has no requests is undeployed.
"""

import functools
from collections.abc import Callable
from typing import Any

from airflow.sdk import TaskGroup, chain

from trellis.vertex.endpoints import DeployModelOperator, EndpointOperator, TrafficOperator
from trellis.vertex.models import AliasOperator, DeleteOldVersionsOperator
from trellis.vertex.service_models import ServiceVersionOperator
from trellis.vertex.undeployment import UndeployIdleOperator
from trellis.workflow.contracts.aliases import CHALLENGER, CHAMPION, PREVIOUS
from trellis.workflow.lookups import left
from trellis.workflow.stages import vertex_job
from trellis.workflow.stages.deploy import messages
from trellis.workflow.stages.deploy.hold import HoldOperator
from trellis.workflow.stages.deploy.hooks import DeploymentHooks
from trellis.workflow.stages.deploy.smoke import SmokeOperator
from trellis.workflow.stages.deploy.subject import Subject
from trellis.workflow.stages.deploy.take_back import TakeBackOperator
from trellis.workflow.stages.deploy.undeploy_previous import TriggerUndeployPreviousOperator
from trellis.workflow.stages.planned import planned, returned
from trellis.workflow.stages.unread import unread

GROUP = "deploy"

_MODEL = returned(f"{GROUP}.register", "name")
_ENDPOINT = returned(f"{GROUP}.endpoint", "endpoint")


def _kept(context: Any, jinja_env: Any) -> list[str]:
    """The challenger, and the version that was the champion before, if there was one."""
    registered = left.returned(context["ti"], f"{GROUP}.register", "version")
    previous = left.returned(context["ti"], f"{GROUP}.champion", "champion")["previous"]
    return [registered["name"], *([f"{registered['model']}@{previous}"] if previous else [])]


def _served(context: Any, jinja_env: Any) -> list[str]:
    """The challenger."""
    return [_MODEL(context)]


class RegisterOperator(ServiceVersionOperator):
    """One version for each challenger: its generation is known when the run has one."""

    template_fields = (*ServiceVersionOperator.template_fields, "generation")


def tasks(subject: Subject, alert: Callable[[Any], None]) -> Any:
    """The Airflow tasks; skipped when nothing was promoted. subject: what is deployed. alert: as
    in Building.
    """
    experiment, platform = subject.experiment, subject.platform
    deploy = experiment.deployment
    hooks = DeploymentHooks(subject)
    common: dict[str, Any] = {
        **vertex_job.place(platform),
        "on_failure_callback": [hooks.failed, alert],
    }
    challenger = {**common, "endpoint_id": _ENDPOINT, "model": _MODEL}
    # Steps that did not begin are not taken back.
    perhaps = {
        "endpoint_id": returned(f"{GROUP}.endpoint", "endpoint", required=False),
        "model": returned(f"{GROUP}.register", "name", required=False),
    }
    field = functools.partial(planned, experiment, platform, load=subject.load)

    with TaskGroup(GROUP, tooltip="The challenger, into service step by step") as group:
        register = RegisterOperator(
            task_id="register",
            model_id=experiment.name,
            model=field(subject.model, subject.challenger),
            origin=field(messages.origin, subject.challenger),
            bigquery_location=platform.location,
            aliases=[CHALLENGER],
            generation=field(messages.generation, subject.challenger),
            pre_execute=unread(subject.approved),
            **common,
        )
        endpoint = EndpointOperator(
            task_id="endpoint",
            endpoint_id=experiment.name,
            endpoint=field(messages.planned_endpoint),
            pre_execute=unread(hooks.keep_requests),
            post_execute=unread(hooks.begin),
            **common,
        )
        steps = _steps(subject, hooks, challenger)
        champion = AliasOperator(
            task_id="champion",
            model_id=_MODEL,
            alias=CHAMPION,
            previous=PREVIOUS,
            drop=[CHALLENGER],
            pre_execute=unread(hooks.complete),
            post_execute=unread(hooks.promoted),
            **common,
        )
        undeploy = UndeployIdleOperator(
            task_id="undeploy",
            endpoint_id=_ENDPOINT,
            keep=_kept if deploy.keep_previous else _served,
            post_execute=unread(hooks.cleaned_up),
            **common,
        )
        retention = DeleteOldVersionsOperator(
            task_id="retention",
            model_id=_MODEL,
            keep=deploy.keep_versions,
            post_execute=unread(hooks.cleaned_up),
            **common,
        )
        chain(register, endpoint, *steps, champion, undeploy, retention)
        if deploy.keep_previous:
            champion >> TriggerUndeployPreviousOperator(
                task_id="undeploy_previous",
                experiment=experiment,
                platform=platform,
                hooks=hooks,
            )
        [*steps, champion] >> TakeBackOperator(
            task_id="retreat",
            experiment=experiment,
            platform=platform,
            champion=CHAMPION,
            trigger_rule="one_failed",
            pre_execute=unread(hooks.deployed_anything),
            post_execute=unread(hooks.retreated),
            **common,
            **perhaps,
        )
    return group


def _steps(subject: Subject, hooks: DeploymentHooks, challenger: dict[str, Any]) -> list:
    """Build the steps from the canary to the last test; `challenger`: arguments that say which, and
    where.
    """
    deploy = subject.experiment.deployment
    field = functools.partial(planned, subject.experiment, subject.platform, load=subject.load)
    deployed_model = field(messages.deployed_model)
    first = deploy.canary[0]
    steps: list[Any] = []
    for share in deploy.canary:
        shift: DeployModelOperator | TrafficOperator
        if share == first:
            shift = DeployModelOperator(
                task_id=f"canary_{share}",
                deployed_model=deployed_model,
                share=share,
                pre_execute=unread(hooks.unchanged),
                post_execute=unread(hooks.stepped),
                **challenger,
            )
        else:
            shift = TrafficOperator(
                task_id=f"shift_{share}",
                share=share,
                pre_execute=unread(hooks.unchanged),
                post_execute=unread(hooks.stepped),
                **challenger,
            )
        smoke = SmokeOperator(
            task_id=f"smoke_{share}",
            deployed_model=deployed_model,
            share=first,
            platform=subject.platform,
            examples=field(messages.examples),
            latency=deploy.smoke.latency,
            pre_execute=unread(hooks.unchanged),
            post_execute=unread(hooks.stepped),
            **challenger,
        )
        steps += [shift, smoke]
        if deploy.hold and share < 100:
            held = HoldOperator(task_id=f"hold_{share}", hooks=hooks, share=share, hold=deploy.hold)
            steps.append(held)
    return steps
