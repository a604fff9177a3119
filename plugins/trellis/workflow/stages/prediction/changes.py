"""changes: compare the rows to predict with those that the model learned from, before the job is
paid for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow import sql
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.prediction_plan import PredictionPlan
from trellis.workflow.contracts.run_params import ACCEPT_CHANGES
from trellis.workflow.lookups import documents, left, plans, records
from trellis.workflow.pricing import queries
from trellis.workflow.spec.changes import Limits
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import change_checks, data_checks, job_messages
from trellis.workflow.stages.operators import CheckOperator
from trellis.workflow.stages.planned import planned
from trellis_contracts.changes import DatasetChanges
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import (
    CATEGORICAL,
    IMAGE,
    QUANTILES,
    SEQUENCE,
    Feature,
    Statistics,
    TermStatistics,
)
from trellis_contracts.drift import measure_features
from trellis_contracts.finding import Finding
from trellis_contracts.withheld import for_log, shown, withheld

LEAST = 30
"""Rows below which nothing is compared: the rule's approximations of chance need about so many."""

_MOST_TERMS = 1000


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns the warnings, without a value of a row."""

    def passed(context: Any) -> str | None:
        plan = plans.load_prediction(experiment, platform, context["run_id"])
        if not (remark := _without(plan, platform)):
            return None
        _write(plan, platform, remark)
        return f"Not compared with what the model learned from: {remark}."

    def judged(context: Any, row: Mapping[str, Any]) -> list[str]:
        plan = plans.load_prediction(experiment, platform, context["run_id"])
        return conclude(row, plan, platform)

    return CheckOperator(
        task_id="changes",
        passed=passed,
        judge=judged,
        project_id=platform.project,
        location=platform.location,
        gcp_conn_id=platform.connection,
        configuration=planned(
            experiment, platform, job, load=plans.load_prediction, needs=left.rows_to_predict
        ),
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
    )


def job(plan: PredictionPlan, platform: Platform) -> dict[str, Any] | None:
    """The query job of the rows' statistics; None if there is nothing to compare them with."""
    compared = compared_of(learned_from(plan.dataset, platform))
    if not compared:
        return None
    statement = statistics(compared, f"SELECT * FROM {sql.identifier(plan.run.snapshot)}")
    limit = queries.limit(plan.cost.get("query_bytes"), queries.CHECK)
    return job_messages.query(plan.experiment, platform, statement, **limit)


def statistics(compared: Sequence[Feature], rows: str) -> str:
    """The statement for the statistics of rows. rows: a SELECT of `key` and these features, under
    the names of the dataset's columns.
    """
    places = list(enumerate(compared))
    return sql.render(
        "predict_statistics",
        rows=rows,
        plain=[one for one in places if one[1].kind != SEQUENCE],
        sequences=[one for one in places if one[1].kind == SEQUENCE],
        cells=data_checks.MOST_CELLS,
        quantiles=QUANTILES,
        most_terms=_MOST_TERMS,
    )


def beyond(learned: DatasetDescription, row: Mapping[str, Any], limits: Limits) -> list[Finding]:
    """The differences of rows from the train split beyond the limits. row: their statistics."""
    compared = compared_of(learned)
    rows = learned.examples("train"), row["examples"]
    drifts = measure_features(compared, described(compared, row), rows)
    return [finding for one in drifts for finding in change_checks.of_feature(one, limits)]


def conclude(row: Mapping[str, Any], plan: PredictionPlan, platform: Platform) -> list[str]:
    """Write changes.json, and warn; returns the warnings for everybody. row: the result of
    predict_statistics.sql.

    Raises AirflowFailException if one is beyond a limit and `predict.changes` refuses that.
    """
    limits = plan.experiment.row_prediction.changes
    learned = learned_from(plan.dataset, platform)
    assert learned is not None
    if row["examples"] < LEAST:
        remark = f"{row['examples']:,} rows are too few, of {LEAST} and more"
        _write(plan, platform, remark)
        print(f"Not compared with what the model learned from: {remark}.")
        return []
    found = beyond(learned, row, limits)
    whole = tuple(replace(finding, text=shown(finding.text)) for finding in found)
    warnings = [withheld(finding.text) for finding in found]
    _write(plan, platform, None, whole)
    print(f"Compared with {plan.dataset}, which {plan.model} learned from:")
    texts = [finding.text for finding in found] or ["no feature is beyond its limit."]
    texts = for_log(texts, lambda _: plan.run.changes)
    if found and limits.beyond == "refuse":
        records.add_prediction(platform, plan, None, warnings)
        raise AirflowFailException(_refusal(plan, texts))
    for text in texts:
        print(f"  {'Warning: ' if found else ''}{text}")
    return warnings


def described(compared: Sequence[Feature], row: Mapping[str, Any]) -> list[Feature]:
    """The features with the statistics of the rows. row: the result of predict_statistics.sql."""
    numbers = {entry["feature"]: entry for entry in row["numbers"]}
    terms: dict[int, list[Mapping[str, Any]]] = {}
    for entry in row["terms"]:
        terms.setdefault(entry["feature"], []).append(entry)
    return [
        _described(feature, numbers.get(place), terms.get(place, ()))
        for place, feature in enumerate(compared)
    ]


def _described(
    feature: Feature, found: Mapping[str, Any] | None, terms: Sequence[Mapping[str, Any]]
) -> Feature:
    count, missing = (found["present"], found["missing"]) if found else (0, 0)
    if feature.kind == CATEGORICAL:
        frequencies = tuple(term["frequency"] for term in terms)
        statistics = TermStatistics(count, missing, count - sum(frequencies), frequencies)
        names = tuple(term["term"] for term in terms)
        return replace(feature, vocabulary=names, statistics=statistics)
    if not found or not count:
        return replace(feature, statistics=Statistics(0, missing, 0.0, 0.0, 0.0, 0.0, ()))
    edges = tuple(found["quantiles"])
    whole = Statistics(count, missing, found["mean"], found["stddev"], edges[0], edges[-1], edges)
    return replace(feature, statistics=whole)


def compared_of(learned: DatasetDescription | None) -> list[Feature]:
    """The features that have statistics: all but images."""
    return [feature for feature in (learned.features if learned else ()) if feature.kind != IMAGE]


def _without(plan: PredictionPlan, platform: Platform) -> str:
    """Why nothing can be compared; "" if it can."""
    learned = learned_from(plan.dataset, platform)
    if learned is None:
        where = layout.dataset_mark(plan.dataset)
        return f"{where} was deleted, or written by another version of Trellis"
    return "" if compared_of(learned) else "it learned from images alone"


def learned_from(dataset: str, platform: Platform) -> DatasetDescription | None:
    """The description of the dataset in a folder; None if it was deleted, or is not readable."""
    try:
        mark = layout.dataset_mark(dataset)
        return documents.find_file(platform, DatasetDescription, mark)
    except AirflowFailException:
        return None


def _write(
    plan: PredictionPlan, platform: Platform, remark: str | None, found: tuple[Any, ...] = ()
) -> None:
    limits = plan.experiment.row_prediction.changes.model_dump()
    changes = DatasetChanges(plan.dataset, remark, limits, found)
    documents.write_file(platform, plan.run.changes, changes)


def _refusal(plan: PredictionPlan, texts: Sequence[str]) -> str:
    return "\n  ".join(
        [
            f"The rows of this run ({plan.source}) are too far from {plan.dataset}, which "
            f"{plan.model} learned from (predict.changes):",
            *texts,
        ]
    ) + (
        "\nThe prediction was not paid for. If the rows are wrong, correct them. If they are right,"
        f" train on newer data, or trigger a run with `{ACCEPT_CHANGES}`. Or raise the limit in the"
        " experiment file."
    )
