"""approve: ask people whether the promoted training is deployed, and wait for the answer.

The run waits without a process: Airflow's scheduler wakes the task when a person has answered in
Airflow's UI or API, when the time is over, and now and then, to see whether another model is served
by now. Unless somebody approves, nothing is deployed, and the run ends green. approval.json has the
answer. The deployment begins with none but an approved training, whoever marks this task as done.
"""

from collections.abc import Iterator
from typing import Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.quantities import duration_text
from trellis.workflow.stages.stage import Building, Row, Stage


def _tasks(dag: Building) -> Any:
    from trellis.workflow.stages.approve_operator import ApproveOperator

    return ApproveOperator(
        task_id="approve", experiment=dag.experiment, platform=dag.platform, tell=dag.tell
    )


def _asks(experiment: Experiment) -> str:
    deploy = experiment.deployment
    return f"{' or '.join(deploy.approve)}, for {duration_text(deploy.within)} at most"


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    yield (
        "approve",
        f"asks {_asks(experiment)}, whether the promoted training is deployed; without an "
        "approval the run ends green and the served model stays",
    )


def _dry_run(plan: Plan, platform: Platform) -> Iterator[Row]:
    yield "approve", f"waits for {_asks(plan.experiment)}"


STAGE = Stage(
    name="approve",
    where="Airflow",
    writes=["approval.json"],
    when=lambda experiment: experiment.deploy is not None and bool(experiment.deploy.approve),
    tasks=_tasks,
    page=_page,
    dry_run=_dry_run,
    advice={
        "approve": "The served model is unchanged. Clear this task to ask again: an answer that is "
        "in approval.json counts without being asked for."
    },
    ends_run=["approve"],
    linked=True,
)
