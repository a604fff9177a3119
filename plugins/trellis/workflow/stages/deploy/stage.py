"""deploy: the promoted training goes into service step by step, or is taken back."""

from collections.abc import Iterator

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.quantities import duration_text
from trellis.workflow.stages.stage import Building, Fleet, Row, Stage, Tasks


def _tasks(dag: Building) -> Tasks:
    from airflow.providers.standard.operators.empty import EmptyOperator

    from trellis.workflow.stages.deploy import tasks
    from trellis.workflow.stages.deploy.subject import Subject

    group = tasks.tasks(Subject(dag.experiment, dag.platform), dag.alert)
    # The deployment is over: done, given up, or skipped.
    settled = EmptyOperator(task_id="settled", trigger_rule="all_done")
    group >> settled
    return Tasks(group, settled)


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    deploy = experiment.deployment
    hold = f" and a pause of {duration_text(deploy.hold)}" if deploy.hold else ""
    canary = ", ".join(f"{share}%" for share in deploy.canary)
    yield (
        "deploy",
        f"adds a version to the model `{experiment.name}` and sends it {canary} of the requests; "
        f"each step ends with a test on {deploy.smoke.examples} rows{hold}; a step that fails is "
        "undone",
    )


def _dry_run(plan: Plan, platform: Platform) -> Iterator[Row]:
    serving = cost.serving(plan.experiment, platform.region)
    yield "deploy", f"only if the gate is passed; serving costs {serving}"


def _fleet(experiment: Experiment, platform: Platform) -> Fleet:
    serving = experiment.deployment.machines
    fewest, most = serving.replicas
    # While one model replaces another, both are deployed.
    return Fleet("deploy", [(serving, max(most, 2 * fewest))], use="serving")


STAGE = Stage(
    name="deploy",
    where="Vertex AI",
    writes=["deployment.json"],
    when=lambda experiment: experiment.deploy is not None,
    tasks=_tasks,
    page=_page,
    dry_run=_dry_run,
    fleet=_fleet,
    advice={
        "deploy.": "The previous model still serves all requests, or does so again: "
        "`deploy.retreat` restores it. To try again once the cause is fixed, clear this task and "
        "those after it.",
        "settled": "It only waits for the deployment: clear it.",
    },
    ends_run=["deploy."],
)
