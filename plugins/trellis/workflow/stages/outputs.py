"""outputs: checks what the program of an image that is not ours has left, before it is built upon.

A Vertex AI custom job on the comparison's machine, in our image. A program that breaks the contract
does so at every attempt, so the task fails once.
"""

from typing import Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import compare, vertex_job
from trellis.workflow.stages.planned import figure, planned
from trellis.workflow.stages.stage import Building, Stage, Usd


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The CustomJob that checks. It finds the trainings in the run's folder."""
    arguments = [f"--run={plan.run.uri}", f"--metric={plan.experiment.metric}"]
    return compare.job_of(plan, platform, "outputs", "outputs", arguments)


def _tasks(dag: Building) -> Any:
    from trellis.workflow.stages.operators import OutputsOperator

    experiment, platform = dag.experiment, dag.platform
    return OutputsOperator(
        task_id="outputs",
        custom_job=planned(experiment, platform, job),
        at_most=planned(experiment, platform, figure("outputs")),
        reads=compare.folders,
        writes=[],
        contenders=compare.trainings,
        retries=0,
        **vertex_job.arguments(experiment, platform, 1),
    )


def _at_most(experiment: Experiment, platform: Platform, source_bytes: int) -> Usd:
    return {"outputs": compare.per_hour(platform) * cost.hours(platform.compare.timeout)}


STAGE = Stage(
    name="outputs",
    where="Vertex AI",
    when=lambda experiment: experiment.foreign,
    tasks=_tasks,
    page=lambda *_: [("outputs", "checks what the image's own program has left (Vertex AI)")],
    dry_run=lambda *_: [("outputs", "what the image's own program has left")],
    at_most=_at_most,
    spent=lambda jobs: {"outputs": jobs.custom_hours("outputs") * compare.per_hour(jobs.platform)},
    fleet=lambda experiment, platform: compare.fleet(platform),
    jobs=lambda plan: {"custom": 1},
    advice={
        "outputs": "The message names file and rule (`trellis contract`). Mend the program, build "
        "its image under another tag, and trigger a new run."
    },
    ends_run=["outputs"],
)
