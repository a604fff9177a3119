"""result: checks that every instance came out, and records failures and the output's address.

predictions.json, schema 1:
    {"schema": 1, "experiment", "model": "projects/P/locations/R/models/ID@3",
     "instances": 1000, "predicted": 998, "failed": 2,
     "errors": a few of the failed ones: {"instance": key or address, "error"},
     "output": PROJECT.DATASET.TABLE, or gs:// folder of JSON lines,
     "job": projects/.../batchPredictionJobs/ID, "console": its page}
"""

import ast
import json
from collections.abc import Iterator
from typing import Any

from airflow.sdk import task as airflow_task
from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.contracts.prediction_layout import Prediction
from trellis.workflow.lookups import bigquery_source, documents, left, plans, storage
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform

SCHEMA = 1

_SHOWN = 5
_LONGEST = 300


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task. Returns the content of predictions.json, without the errors."""

    @airflow_task(task_id="result")
    def result(ti=None, run_id=None):
        predicted = left.returned(ti, "predict", "predictions")
        return make(experiment, platform, run_id, predicted)

    return result()


def make(experiment: Experiment, platform: Platform, run_id: str, predicted: Any) -> dict[str, Any]:
    """Read the job's output and write predictions.json; returns it without the errors, whose
    instances and texts are of rows.

    Raises AirflowFailException if instances are missing, or more failed than predict.max_failed.
    """
    plan = plans.load_prediction(experiment, platform, run_id)
    run = plan.run
    if plan.rows is None:
        found = _images(platform, predicted["output"]) | {"instances": plan.instances}
    else:
        found = _rows(platform, run)
    content = {
        "schema": SCHEMA,
        "experiment": experiment.name,
        "model": plan.model,
        **found,
        "job": predicted["name"],
        "console": predicted["console"],
    }
    documents.write(platform, "prediction_result", run.record, content)
    for line in summary(content):
        print(line)
    if problem := wrong(content, plan.experiment.prediction.max_failed):
        raise AirflowFailException(
            f"{problem} {run.record} has a few of the errors. Job: {predicted['console']}"
        )
    return {name: value for name, value in content.items() if name != "errors"}


def summary(content: dict[str, Any]) -> Iterator[str]:
    """A summary of a predictions.json for people, in lines."""
    yield f"{content['predicted']:,} of {content['instances']:,} predicted by {content['model']}"
    if content["failed"]:
        yield f"{content['failed']:,} failed"
    yield f"Predictions: {content['output']}"


def wrong(content: dict[str, Any], max_failed: float) -> str:
    """Return why the prediction failed; "" if it succeeded."""
    instances, failed = content["instances"], content["failed"]
    if content["predicted"] + failed != instances:
        return (
            f"{instances:,} instances went in, {content['predicted']:,} predictions and {failed:,} "
            "errors came out."
        )
    if failed > max_failed * instances:
        return (
            f"{failed:,} of {instances:,} instances have no prediction; predict.max_failed allows "
            f"{max_failed:.1%}."
        )
    return ""


def _rows(platform: Platform, run: Prediction) -> dict[str, Any]:
    failed, errors = bigquery_source.errors_of(platform, run.output_table, _SHOWN)
    return {
        "instances": bigquery_source.rows_of(platform, run.snapshot),
        "predicted": bigquery_source.rows_of(platform, run.output_table) - failed,
        "failed": failed,
        "errors": [{"instance": key, "error": text[:_LONGEST]} for key, text in errors],
        "output": run.output_table,
    }


def _images(platform: Platform, output: str) -> dict[str, Any]:
    """The answers in prediction.results-*, and the numbers in prediction.errors_stats-*."""
    predicted, failed = 0, 0
    errors: list[dict[str, str]] = []
    for blob in storage.each_blob(platform, f"{output.rstrip('/')}/"):
        statistics = "errors" in blob.name.rpartition("/")[2]
        with blob.open("rt", encoding="utf-8") as lines:
            for line in filter(str.strip, lines):
                text: str | None
                if statistics:
                    text, count = _statistic(line)
                    name = f"{count:,} instances"
                else:
                    name, text = _answer(line)
                    count = 1
                if text is None:
                    predicted += 1
                    continue
                failed += count
                if len(errors) < _SHOWN:
                    errors.append({"instance": name[:_LONGEST], "error": text[:_LONGEST]})
    return {
        "predicted": predicted,
        "failed": failed,
        "errors": errors,
        "output": f"{output.rstrip('/')}/",
    }


def _answer(line: str) -> tuple[str, str | None]:
    """(instance, why it failed or None) of a line of results."""
    try:
        content = json.loads(line)
        instance, prediction = content["instance"], content["prediction"]
    except (ValueError, KeyError, TypeError):
        return "?", f"unreadable line of results: {line}"
    name = next(iter(instance.values()), "?") if isinstance(instance, dict) else instance
    failed = prediction.get("error") if isinstance(prediction, dict) else None
    return str(name), None if failed is None else str(failed)


def _statistic(line: str) -> tuple[str, int]:
    """(message, number of instances): a line is a Python tuple, as Google's page shows it.

    https://cloud.google.com/vertex-ai/docs/general/troubleshooting
    """
    try:
        text, count = ast.literal_eval(line.strip())
        return str(text), int(count)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return line.strip(), 1
