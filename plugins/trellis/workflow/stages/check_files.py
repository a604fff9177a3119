"""check_files: checks the files of predictions (`baselines.files`) before any training is paid.

A Vertex AI custom job on the comparison's machine, since the keys of the test split are in the
dataset's files. What is wrong with a file is wrong at every attempt, so the task fails once.
"""

from typing import Any

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import compare, vertex_job
from trellis.workflow.stages.planned import figure, planned
from trellis.workflow.stages.stage import Building, Stage, Usd

NAME = "check_files"


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The CustomJob that checks. It finds the files in the run's folder."""
    return compare.job_of(plan, platform, NAME, NAME, [f"--run={plan.run.uri}"])


def _tasks(dag: Building) -> Any:
    from trellis.workflow.lookups import left
    from trellis.workflow.stages.operators import CheckFilesOperator

    experiment, platform = dag.experiment, dag.platform
    return CheckFilesOperator(
        task_id=NAME,
        custom_job=planned(experiment, platform, job, needs=left.dataset),
        at_most=planned(experiment, platform, figure(NAME)),
        retries=0,
        # The export is skipped if its dataset exists.
        trigger_rule="none_failed",
        **vertex_job.arguments(experiment, platform, 1),
    )


def _at_most(experiment: Experiment, platform: Platform, source_bytes: int) -> Usd:
    return {NAME: compare.per_hour(platform) * cost.hours(platform.compare.timeout)}


STAGE = Stage(
    name=NAME,
    where="Vertex AI",
    when=lambda experiment: bool(experiment.baselines.files),
    tasks=_tasks,
    page=lambda *_: [(NAME, "checks the files of predictions by the test split (Vertex AI)")],
    dry_run=lambda *_: [(NAME, "each file of predictions, by the keys of the test split")],
    at_most=_at_most,
    spent=lambda jobs: {NAME: jobs.custom_hours(NAME) * compare.per_hour(jobs.platform)},
    fleet=lambda experiment, platform: compare.fleet(platform),
    jobs=lambda plan: {"custom": 1},
    advice={
        NAME: "Nothing was spent on training. The message names each file and what is wrong. "
        "Write it anew by the run's own test split (`trellis export-split`), or leave it out, and "
        "trigger a new run."
    },
)
