"""bqml: BigQuery ML models trained on the snapshot's train and validation rows.

One BigQuery script each: it trains, predicts exactly the test rows, and writes the predictions, the
service's own evaluation and the feature importance into the run's folder.
"""

from collections.abc import Callable, Iterator
from typing import Any

from trellis.workflow import sql
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost, queries
from trellis.workflow.spec import bqml, bqml_options
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.stage import FAILED_BASELINE, Row, Stage, Usd
from trellis_contracts.folds import column

GROUP = "bqml"


def tasks(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow tasks, one for each type in the file; skipped if switched off for the run."""
    from airflow.sdk import TaskGroup

    from trellis.workflow.lookups import left
    from trellis.workflow.stages.operators import PartQueryOperator

    folds = experiment.folds
    operator: Any = PartQueryOperator if folds is None else PartQueryOperator.partial
    with TaskGroup(GROUP, prefix_group_id=True) as group:
        for name in experiment.baselines.bqml:
            made = operator(
                task_id=name,
                project_id=platform.project,
                location=platform.location,
                gcp_conn_id=platform.connection,
                configuration=planned(experiment, platform, job, _given(name), needs=left.snapshot),
                generation=experiment.generation,
                poll_interval=platform.poll_seconds,
                **({"map_index_template": "{{ task.part }}"} if folds else {}),
            )
            if folds is not None:
                made.expand(part=list(folds.parts))
    return group


def _given(name: str) -> Callable[[Any], tuple[str, str | None]]:
    return lambda context: (name, context["task"].part)


def task_id(name: str) -> str:
    """The id of the task that trains the baseline of a type."""
    return f"{GROUP}.{name}"


def job(plan: Plan, platform: Platform, of: tuple[str, str | None]) -> dict[str, Any] | None:
    """The job of the script; None if the baseline is switched off for the run.

    of: the type, and the fold that it learns in; None without folds.
    """
    name, part = of
    if name not in plan.experiment.baselines.bqml:
        return None
    limit = queries.limit(plan.query_bytes, queries.BASELINE)
    configuration = job_messages.query(
        plan.experiment, platform, script(plan, platform, name, part), **limit
    )
    if bqml.TYPES[name].external:
        longest = cost.EXTERNAL_TRAINING_LIMIT.total_seconds() * 1000
        configuration["jobTimeoutMs"] = f"{longest:.0f}"
    return configuration


def script(plan: Plan, platform: Platform, name: str, part: str | None = None) -> str:
    """The script that trains the baseline of a type; part: in a fold."""
    kind = bqml.TYPES[name]
    options = plan.experiment.baselines.options.get(name, {})
    return sql.render(
        "bqml",
        model=model(plan, platform, name, part),
        folds=plan.experiment.folds,
        part=part,
        fold=part and column(part),
        type=name,
        options={option: bqml_options.sql(value) for option, value in options.items()},
        snapshot=job_messages.snapshot(plan, platform),
        features=plan.table.of_baselines(),
        folder=folder(plan, name, part),
        regression=kind.regression,
        weighted=kind.weighted and plan.table.weight is not None,
        importance=kind.importance,
        encryption_key=platform.encryption_key,
    )


def folder(plan: Plan, name: str, part: str | None = None) -> str:
    """The folder of the files of a baseline of a type; part: in a fold."""
    run = plan.run if part is None else plan.part(part).run
    return run.baseline(baseline(name))


def prediction(plan: Plan, platform: Platform, model: str, folder: str) -> str:
    """The statement by which a model, PROJECT.DATASET.MODEL, predicts the test split. folder: of
    the contender.
    """
    return sql.render(
        "bqml_predict",
        model=model,
        rows=sql.identifier(job_messages.snapshot(plan, platform)),
        features=plan.table.of_baselines(),
        folder=folder,
        regression=plan.table.regression,
    )


def model(plan: Plan, platform: Platform, name: str, part: str | None = None) -> str:
    """PROJECT.DATASET.MODEL of a run's model: unique to the run, and to the fold."""
    return platform.own_table(bqml.model_name(plan.experiment.name, name, plan.run.folder, part))


def baseline(name: str) -> str:
    """A baseline of this type, as plan.json and the leaderboard call it."""
    return f"bqml-{name}"


def _dry_run(plan: Plan, platform: Platform) -> Iterator[Row]:
    for name in plan.experiment.baselines.bqml:
        yield baseline(name), "baseline"


def _at_most(experiment: Experiment, platform: Platform, source_bytes: int) -> Usd:
    names = map(baseline, experiment.baselines.bqml)
    times = len(experiment.folds.parts) if experiment.folds else 1
    return {
        name: times * cost.baseline(experiment, name, source_bytes, platform.region)
        for name in names
    }


STAGE = Stage(
    name=GROUP,
    where="BigQuery",
    writes=["baselines/NAME/"],
    when=lambda experiment: bool(experiment.baselines.bqml),
    tasks=lambda dag: tasks(dag.experiment, dag.platform),
    dry_run=_dry_run,
    at_most=_at_most,
    assumes="; BigQuery bills every query by its bytes, and for a boosted tree or DNN an hour of a "
    "large machine of Vertex AI, when it is stopped",
    spent=lambda jobs: jobs.baselines("bqml"),
    advice={f"{GROUP}.": FAILED_BASELINE},
)
