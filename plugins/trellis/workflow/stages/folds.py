"""folds: a job writes the dataset of each fold of a cross-validation beside the whole one.

One small machine for all: they are small, and every trial and training of a fold then reads a
dataset like any other, with vocabularies and statistics of the fold's own train split.
"""

from collections.abc import Iterator
from typing import Any

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost
from trellis.workflow.spec import job_images, sharding
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import compare, vertex_job
from trellis.workflow.stages.planned import figure, planned
from trellis.workflow.stages.stage import Row, Stage, Usd
from trellis_contracts.folds import EVERYTHING, dataset


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task; without a job if the datasets exist."""
    from trellis.workflow.lookups import left
    from trellis.workflow.stages.operators import FoldsOperator

    return FoldsOperator(
        task_id="folds",
        custom_job=planned(experiment, platform, job, needs=left.dataset),
        at_most=planned(experiment, platform, figure("folds")),
        unless=planned(experiment, platform, mark),
        # The export is skipped if its dataset exists.
        trigger_rule="none_failed",
        **vertex_job.arguments(experiment, platform, 1),
    )


def mark(plan: Plan, platform: Platform) -> str:
    """The file that is written last of all."""
    return layout.dataset_mark(dataset(plan.dataset.uri, EVERYTHING))


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The CustomJob, in the image that exports."""
    arguments = [
        f"--dataset={plan.dataset.uri}",
        f"--fingerprint={plan.dataset.fingerprint}",
        f"--shards={sharding.flag(plan.experiment)}",
    ]
    described = compare.job_of(plan, platform, "folds", "folds", arguments)
    (pool,) = described["job_spec"]["worker_pool_specs"]
    pool["container_spec"]["image_uri"] = job_images.of_export(platform)
    return described


def _rows(experiment: Experiment) -> str:
    folds = experiment.folds
    if folds is None:
        raise TypeError(f"{experiment.name} has no folds")
    again = f", {folds.repeats} times" if folds.repeats > 1 else ""
    return f"{folds.count} folds{again}"


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    yield (
        "folds",
        f"divides the rows into {_rows(experiment)}: tuning, choice, training and BigQuery ML run "
        "in each, and once more for the model to deploy",
    )


def _dry_run(plan: Plan, platform: Platform) -> Iterator[Row]:
    parts = len(plan.experiment.parts)
    what = f"{_rows(plan.experiment)}, and the model to deploy"
    yield "folds", f"{what}: all that follows, {parts} times; baselines {parts - 1} times"


def _at_most(experiment: Experiment, platform: Platform, source_bytes: int) -> Usd:
    return {"folds": compare.per_hour(platform) * cost.hours(platform.compare.timeout)}


STAGE = Stage(
    name="folds",
    where="Vertex AI",
    writes=["folds/PART/"],
    when=lambda experiment: experiment.folds is not None,
    tasks=lambda dag: task(dag.experiment, dag.platform),
    page=_page,
    dry_run=_dry_run,
    at_most=_at_most,
    spent=lambda jobs: {"folds": jobs.custom_hours("folds") * compare.per_hour(jobs.platform)},
    jobs=lambda plan: {"custom": 1},
    advice={
        "folds": "Nothing was spent on training. The job's log says why; clear this task once the "
        "cause is fixed. Folds that are complete are not written again."
    },
)
