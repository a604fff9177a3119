"""ensemble: makes the mean of the run's trainings one more training, which competes as they do.

A Vertex AI custom job on the comparison's machine loads their models, predicts the validation and
the test split, and saves them together: training/ensemble/. Without it the comparison goes on.
"""

from collections.abc import Iterator
from typing import Any

from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import compare, job_messages, vertex_job
from trellis.workflow.stages.planned import figure, planned
from trellis.workflow.stages.stage import Building, Row, Stage, Tasks, Usd


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The CustomJob that makes the ensemble. It finds the trainings in the run's folder."""
    arguments = [f"--run={plan.run.uri}", *job_messages.held_out_arguments(plan.experiment)]
    return compare.job_of(plan, platform, "ensemble", "ensemble", arguments)


def _tasks(dag: Building) -> Tasks:
    from trellis.workflow.lookups import left
    from trellis.workflow.stages.ended import EndedOperator
    from trellis.workflow.stages.operators import EnsembleOperator

    experiment, platform = dag.experiment, dag.platform
    made = EnsembleOperator(
        task_id="ensemble",
        custom_job=planned(experiment, platform, job, needs=left.trainings),
        at_most=planned(experiment, platform, figure("ensemble")),
        reads=compare.folders,
        writes=_folder(experiment, platform),
        contenders=compare.trainings,
        **vertex_job.arguments(experiment, platform, 1),
    )
    # One that failed is in the report.
    ended = EndedOperator(
        task_id="combined",
        of="ensemble",
        made_by=None,
        one_succeeded=False,
        on_failure=dag.alert,
    )
    made >> ended
    return Tasks(made, ended)


def _folder(experiment: Experiment, platform: Platform) -> Any:
    def ensemble(context: Any, jinja_env: Any) -> str:
        return Run.of(experiment, platform, context["run_id"]).ensemble

    return ensemble


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    yield "ensemble", "makes the mean of the trainings one model, a contender as they (Vertex AI)"


def _dry_run(plan: Plan, platform: Platform) -> Iterator[Row]:
    yield "ensemble", "the mean of the trainings as one more contender"


def _at_most(experiment: Experiment, platform: Platform, source_bytes: int) -> Usd:
    return {"ensemble": compare.per_hour(platform) * cost.hours(platform.compare.timeout)}


STAGE = Stage(
    name="ensemble",
    where="Vertex AI",
    writes=["training/ensemble/"],
    when=lambda experiment: experiment.train.ensemble,
    tasks=_tasks,
    page=_page,
    dry_run=_dry_run,
    at_most=_at_most,
    spent=lambda jobs: {
        "ensemble": jobs.custom_hours("ensemble") * compare.per_hour(jobs.platform)
    },
    fleet=lambda experiment, platform: compare.fleet(platform),
    jobs=lambda plan: {"custom": 1},
    advice={
        "ensemble": "The trainings are safe, and compared without it: the leaderboard shows it as "
        "failed. Clear this task; the comparison follows.",
        "combined": "The message names the task to clear; the comparison follows.",
    },
    ends_run=["ensemble"],
)
