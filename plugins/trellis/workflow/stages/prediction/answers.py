"""Compares what a batch prediction has answered with what its model answered on its test split."""

from collections.abc import Mapping
from typing import Any

from airflow.sdk.exceptions import AirflowFailException
from google.cloud.bigquery import QueryJobConfig
from google.cloud.exceptions import NotFound

from trellis.workflow import sql
from trellis.workflow.contracts.prediction_plan import PredictionPlan
from trellis.workflow.lookups import documents, own_dataset, storage, table_state
from trellis.workflow.pricing import queries
from trellis.workflow.spec.changes import Limits
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import change_checks
from trellis.workflow.stages.prediction.changes import LEAST
from trellis_contracts.challenger import Challenger
from trellis_contracts.dataset_features import QUANTILES, Statistics
from trellis_contracts.documents import ContractError
from trellis_contracts.drift import measure_classes, measure_numbers
from trellis_contracts.finding import Finding
from trellis_contracts.layout import RunFolder, predictions
from trellis_contracts.tasks import MULTILABEL

Answers = Mapping[str, int] | Statistics
"""How often each class was answered, or statistics of the numbers."""

_TITLE = "the prediction"


def compare(
    run: str, platform: Platform, now: Answers, label: str | None, limits: Limits
) -> tuple[list[Finding], str | None]:
    """The differences beyond the limits, or why nothing was compared.

    run: folder of the run that has promoted the model. label: the experiment's column.
    """
    before = of_test_split(run, platform)
    if isinstance(before, str):
        return [], before
    count = now.count if isinstance(now, Statistics) else sum(now.values())
    if count < LEAST:
        return [], f"{count:,} answers are too few, of {LEAST} and more"
    name = label or _TITLE
    if isinstance(now, Statistics) and isinstance(before, Statistics):
        drift = measure_numbers(name, before, now)
    elif isinstance(now, Mapping) and isinstance(before, Mapping):
        both = [dict.fromkeys((*before, *now), 0) | dict(one) for one in (before, now)]
        drift = measure_classes(name, *both)
    else:
        return [], "the model answers otherwise than on its test split"
    return [*change_checks.of_label(drift, _TITLE, limits)], None


def of_test_split(run: str, platform: Platform) -> Answers | str:
    """What the training that a run has promoted answered on the test split, or why that is not
    known. run: its folder.
    """
    from trellis.workflow.lookups import predicted

    folder = RunFolder(run)
    try:
        file = documents.find_file(platform, Challenger, folder.challenger)
        if file is None:
            return f"{folder.challenger} was deleted"
        where = predictions(folder.contender(file.contender))
        found = predicted.answers(storage.blob(platform, where).download_as_bytes())
    except (AirflowFailException, ContractError):
        return f"files of {run} were written by another version of Trellis"
    except NotFound:
        return f"{where} was deleted"
    if found.dtype.kind == "f":
        return statistics_of(found.to_numpy())
    return found.explode().dropna().value_counts().to_dict()


def of_table(plan: PredictionPlan, platform: Platform) -> Answers:
    """What the rows' table of predictions has."""
    assert plan.rows is not None
    rows = f"SELECT * FROM {sql.identifier(plan.run.output_table)}"
    limit = queries.limit(plan.cost.get("query_bytes"))
    return of_rows(platform, rows, plan.rows.answer, plan.experiment.task, limit)


def of_rows(
    platform: Platform, select: str, answer: str, task: str, limit: Mapping[str, str]
) -> Answers:
    """What rows have that a SELECT gives: columns `error` and `answer`, which is label, value or
    risk. limit: of the query's bytes, as in `queries.limit`.
    """
    statement = sql.render(
        "predict_answers",
        rows=select,
        answer=answer,
        several=task == MULTILABEL,
        quantiles=QUANTILES,
    )
    bounded = QueryJobConfig.from_api_repr({"query": dict(limit)})
    rows = list(table_state.answer(own_dataset.client(platform), statement, bounded))
    if answer == "label":
        return {row["name"]: row["examples"] for row in rows}
    (row,) = rows
    if not row["present"]:
        return _NONE
    edges = tuple(row["quantiles"])
    return Statistics(row["present"], 0, row["mean"], row["stddev"], edges[0], edges[-1], edges)


def statistics_of(numbers: Any) -> Statistics:
    """Statistics of (n,) numbers."""
    import numpy as np

    values = np.asarray(numbers, np.float64)
    if not len(values):
        return _NONE
    levels = np.linspace(0, 1, QUANTILES)
    edges = tuple(np.quantile(values, levels, method="inverted_cdf").tolist())
    mean, stddev = float(values.mean()), float(values.std())
    return Statistics(len(values), 0, mean, stddev, edges[0], edges[-1], edges)


_NONE = Statistics(0, 0, 0.0, 0.0, 0.0, 0.0, ())
