"""truth, score, performance: score earlier predictions on the labels that have arrived since.

They run after `plan`, beside the prediction, in every run of EXPERIMENT-predict whose file has
`predict.truth`, also in one with nothing to predict: truth counts the labels that have arrived and
joins them with the tables of predictions (two queries, priced by a dry run and bounded by it),
score computes metrics with intervals (a custom job on the comparison's machine), performance writes
them into the index. A row that the model learned from, or was chosen by, does not count: a table
that is predicted as a whole has them, and its score would be too good.
"""

from collections.abc import Mapping
from typing import Any

from airflow.sdk.exceptions import AirflowFailException
from google.cloud.bigquery import QueryJobConfig

from trellis.bigquery.operators import BigQueryJobOperator
from trellis.workflow import labels, sql
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.prediction_layout import Prediction
from trellis.workflow.contracts.prediction_record import PredictionRecord
from trellis.workflow.contracts.table import Table
from trellis.workflow.lookups import documents, forms, own_dataset, records, table_state
from trellis.workflow.lookups.source import dry_run
from trellis.workflow.pricing import prediction, queries
from trellis.workflow.pricing.cost import BudgetError
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machines
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.prediction import ImagePredict
from trellis.workflow.spec.problems import did_you_mean
from trellis.workflow.spec.split import GroupSplit
from trellis.workflow.stages import job_messages, vertex_job
from trellis.workflow.stages.function_operator import function_task
from trellis.workflow.stages.operators import ScoreOperator
from trellis.workflow.stages.prediction.changes import LEAST
from trellis_contracts.performance import PerformanceFile
from trellis_contracts.plan import PlanFile
from trellis_contracts.tasks import NUMBERS, TASKS

NEWEST = 50
"""Predictions that are looked at: labels of older ones are not expected any more."""


def tasks(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow tasks; returns the first."""

    def joined(context: Any, jinja_env: Any) -> dict[str, Any] | None:
        return join(experiment, platform, context["run_id"])

    def scored(context: Any, jinja_env: Any) -> dict[str, Any]:
        return job(experiment, platform, context["run_id"])

    joins = BigQueryJobOperator(
        task_id="truth",
        configuration=joined,
        location=platform.location,
        # A plan with nothing to predict is skipped; one that was refused spends nothing.
        trigger_rule="none_failed",
        project_id=platform.project,
        gcp_conn_id=platform.connection,
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
    )
    scores = ScoreOperator(
        task_id="score",
        custom_job=scored,
        **vertex_job.arguments(experiment, platform, 1),
    )

    @function_task(task_id="performance")
    def performance(run_id=None):
        return conclude(experiment, platform, run_id)

    joins >> scores >> performance()
    return joins


def join(experiment: Experiment, platform: Platform, run_id: str) -> dict[str, Any] | None:
    """The query job that writes predictions with their labels; None if no run of predictions has
    enough new ones.

    Raises AirflowFailException if BigQuery refuses `predict.truth`, or its queries may cost more
    than the experiment's budget.
    """
    known = _known(experiment, platform)
    if not known:
        print("There are no predictions yet, or their tables are gone.")
        return None
    client = own_dataset.client(platform)
    learned = _learned(platform, known)
    try:
        planned = _bytes(experiment, known, learned, client)
        prediction.within_budget(experiment, prediction.of_truth(platform, planned))
        limit = queries.limit(planned)
        counting = QueryJobConfig.from_api_repr({"query": limit})
        statement = _statement(experiment, known, learned, count=True)
        found = list(table_state.answer(client, statement, counting))
    except (SourceError, BudgetError) as error:
        raise AirflowFailException(str(error)) from None
    counted = {row["run"]: row["examples"] for row in found}
    due = [one for one in known if _is_due(one, counted)]
    print(f"{len(due)} of {len(known)} runs of predictions have new labels, {LEAST} or more.")
    if not counted:
        print(f"No label has the '{_key(experiment)}' of a prediction.")
    for row in found:
        if row["learned"]:
            print(f"{row['run']}: {row['learned']:,} labels of rows that its model learned from")
    if not due:
        return None
    rows = Prediction(experiment, platform, run_id).labelled
    statement = _statement(experiment, due, learned, export=f"{rows}*.parquet")
    return job_messages.query(experiment, platform, statement, **limit)


def planned_bytes(experiment: Experiment, platform: Platform) -> int:
    """Bytes that one query on the labels and predictions may be billed for; 0 without predictions.

    Raises SourceError if BigQuery refuses the query, or it lacks a column.
    """
    known = _known(experiment, platform)
    learned = _learned(platform, known)
    return _bytes(experiment, known, learned, own_dataset.client(platform)) if known else 0


def _known(experiment: Experiment, platform: Platform) -> list[PredictionRecord]:
    """The newest runs of predictions whose tables are there."""
    every = records.predictions(platform, experiment.name)
    newest = [one for one in every if one.output is not None][:NEWEST]
    return [one for one in newest if own_dataset.is_there(platform, str(one.output))]


def _learned(platform: Platform, predictions: list[PredictionRecord]) -> dict[str, str]:
    """Queries for the keys of the rows that the predictions' models learned from, or were chosen
    by, by folder of the prediction; without those whose plan or frozen rows are gone.
    """
    by_run = {run: _of_model(platform, run) for run in {one.trained for one in predictions}}
    found = {one.folder: by_run[one.trained] for one in predictions}
    if unknown := [folder for folder, query in found.items() if query is None]:
        print(
            f"Of {', '.join(unknown)} all labels count: the plan or the frozen rows of their "
            "models' runs are gone, so which rows these learned from is not known."
        )
    return {folder: query for folder, query in found.items() if query is not None}


def _of_model(platform: Platform, run: str) -> str | None:
    """The query of the model that a run has trained. run: its folder."""
    try:
        plan = documents.find_file(platform, PlanFile, f"{run}plan.json")
    except AirflowFailException:  # of another version
        return None
    if plan is None:
        return None
    frozen = job_messages.snapshot(plan, platform)
    if not own_dataset.is_there(platform, frozen):
        return None
    table = Table.from_document(plan.table)
    # Of an image, which has no other key here, the address.
    key = sql.identifier("key" if table.rejected is None else table.features[0].column)
    query = f"SELECT {key} FROM {sql.identifier(frozen)} WHERE {key} IS NOT NULL"
    # With folds, the model that is deployed learns from all rows.
    if plan.configuration.get("train", {}).get("folds"):
        return query
    return f"{query} AND split != 'test'"


def _bytes(
    experiment: Experiment,
    known: list[PredictionRecord],
    learned: Mapping[str, str],
    client: Any,
) -> int:
    check(experiment, client)
    statement = _statement(experiment, known, learned)
    job = dry_run(client, "predict.truth", statement, _truth(experiment))
    return queries.planned(job.total_bytes_processed or 0, len(job.referenced_tables), 0)


def check(experiment: Experiment, client: Any) -> None:
    """Raise SourceError if BigQuery refuses the query, or it lacks a column."""
    text = forms.embeddable(_truth(experiment))
    there = [field.name for field in dry_run(client, "predict.truth", text, text).schema]
    known = {name.lower() for name in there}
    source = experiment.source
    beside = [column.name for column in labels.of(experiment.task).beside(source)]
    needed = [_key(experiment), source.label_column, *beside, _unit(experiment)]
    if missing := [name for name in needed if name and name.lower() not in known]:
        raise SourceError(
            "\n  ".join(
                [
                    "The query (predict.truth) lacks columns, named as in training:",
                    *(f"'{name}'; {did_you_mean(name, there)}" for name in missing),
                ]
            )
        )


def _truth(experiment: Experiment) -> str:
    query = experiment.prediction.truth
    assert query is not None
    return query


def _key(experiment: Experiment) -> str:
    """The column by which a label is found: of images, which have no other key, the address."""
    if isinstance(experiment.prediction, ImagePredict):
        (image,) = experiment.source.image_columns
        return image
    return experiment.source.key_


def _unit(experiment: Experiment) -> str | None:
    """The column of the groups, if they decide the split: intervals count groups."""
    split = experiment.source.split
    return split.decided_by if isinstance(split, GroupSplit) else None


def _is_due(one: PredictionRecord, counted: Mapping[str, int]) -> bool:
    before = one.performance.examples if one.performance else 0
    return counted.get(one.folder, 0) >= max(LEAST, before + 1)


def _statement(
    experiment: Experiment,
    predictions: list[PredictionRecord],
    learned: Mapping[str, str],
    *,
    count: bool = False,
    export: str | None = None,
) -> str:
    source = experiment.source
    return sql.render(
        "predict_truth",
        query=forms.embeddable(_truth(experiment)),
        key=_key(experiment),
        label=source.label_column,
        label_type="FLOAT64" if experiment.task in NUMBERS else "STRING",
        beside=labels.of(experiment.task).beside(source),
        types=TASKS[experiment.task].rows,
        of_images=isinstance(experiment.prediction, ImagePredict),
        unit=_unit(experiment),
        predictions=predictions,
        learned=learned,
        count=count,
        export=export,
    )


def job(experiment: Experiment, platform: Platform, run_id: str) -> dict[str, Any]:
    """The CustomJob that scores."""
    run = Prediction(experiment, platform, run_id)
    arguments = [
        f"--rows={run.labelled}",
        f"--metric={experiment.metric}",
        f"--output={run.performance}",
    ]
    machines = Machines(type=platform.compare.machine_type)
    return job_messages.custom_job(
        experiment, platform, "performance", "performance", arguments, machines
    )


def conclude(experiment: Experiment, platform: Platform, run_id: str) -> int:
    """Write the scores into the index; returns how many runs of predictions have new ones."""
    run = Prediction(experiment, platform, run_id)
    found = documents.read_file(platform, PerformanceFile, run.performance)
    for folder, scores in found.runs.items():
        records.add_performance(platform, experiment, folder, scores)
        metric = scores.metrics.get(scores.primary)
        said = (
            f"{scores.primary} {metric.value:g} [{metric.low:g}, {metric.high:g}]"
            if metric
            else f"{scores.primary} is not defined on them"
        )
        print(f"{folder}: {scores.examples:,} labels, {said}")
    return len(found.runs)
