"""result: checks that every instance came out, and records failures, the output's address, and how
the answers differ from those of the test split.

predictions.json, schema 1:
    {"schema": 1, "experiment", "model": "projects/P/locations/R/models/ID@3",
     "instances": 1000, "predicted": 998, "failed": 2,
     "errors": a few of the failed ones: {"instance": key or address, "error"},
     "findings": differences beyond the limits of predict.changes: {"check", "feature", "text"},
     "remark": why the answers were not compared, or null,
     "output": PROJECT.DATASET.TABLE, or gs:// folder of JSON lines,
     "job": projects/.../batchPredictionJobs/ID, or the id of BigQuery's job, "console": its page}
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from trellis.workflow.contracts.prediction_layout import Prediction
from trellis.workflow.contracts.prediction_plan import PredictionPlan
from trellis.workflow.lookups import bigquery_source, documents, left, plans, records, storage
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.function_operator import function_task
from trellis.workflow.stages.prediction import answers, lines
from trellis.workflow.validation.file import PREDICTIONS
from trellis_contracts.withheld import shown, withheld

SCHEMA = 1

_SHOWN = 5
_LONGEST = 300


def task(experiment: Experiment, platform: Platform, tell: Callable[[Any, str], None]) -> Any:
    """The Airflow task. Returns the content of predictions.json, without what quotes rows.

    tell: sends a message to people; called with the context and the text.
    """

    @function_task(task_id="result")
    def result(ti=None, run_id=None, **context):
        predicted = _predicted(ti, plans.load_prediction(experiment, platform, run_id))
        of_rows = ti.xcom_pull(task_ids="changes") or []
        content, warnings = make(experiment, platform, run_id, predicted, of_rows)
        if warnings:
            context = {**context, "ti": ti, "run_id": run_id}
            tell(context, message(experiment.name, run_id, content["output"], warnings))
        return content

    return result()


def _predicted(ti: Any, plan: PredictionPlan) -> dict[str, Any]:
    """name, console, and of images output, of the job that predicted."""
    if plan.rows is None or plan.rows.bqml is None:
        found: dict[str, Any] = left.returned(ti, "predict", "predictions")
        return found
    asked = left.returned(ti, "publish", "predictions")
    return {"name": asked["job"], "console": asked["console"]}


def message(experiment: str, run_id: str, output: str, warnings: Sequence[str]) -> str:
    """What people are told of a prediction whose rows or answers are beyond a limit."""
    return "\n".join(
        [
            f"TRELLIS WARNING: {experiment}{PREDICTIONS} is beyond the limits of predict.changes",
            f"Run: {run_id}. Predictions: {output}",
            *warnings,
            "What to do: the predictions are there. Where the rows or images are wrong, correct "
            "them and predict anew; where they are right, train on newer data.",
        ]
    )


def make(
    experiment: Experiment, platform: Platform, run_id: str, predicted: Any, of_rows: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Read the job's output and write predictions.json; returns it without the errors and findings,
    whose texts are of rows, and the warnings for everybody. of_rows: those of `changes`.

    Raises AirflowFailException if instances are missing, or more failed than predict.max_failed.
    """
    plan = plans.load_prediction(experiment, platform, run_id)
    run = plan.run
    if plan.rows is None:
        found, said = _images(platform, predicted["output"])
        found |= {"instances": plan.instances}
    else:
        found, said = _rows(platform, run), answers.of_table(plan, platform)
    label, limits = plan.experiment.source.label, plan.experiment.prediction.changes
    findings, remark = answers.compare(plan.model_run, platform, said, label, limits)
    content = {
        "schema": SCHEMA,
        "experiment": experiment.name,
        "model": plan.model,
        **found,
        "findings": [
            replace(finding, text=shown(finding.text)).to_document() for finding in findings
        ],
        "remark": remark,
        "job": predicted["name"],
        "console": predicted["console"],
    }
    documents.write(platform, "prediction_result", run.record, content)
    warnings = [*of_rows, *(withheld(one.text) for one in findings)]
    records.add_prediction(platform, plan, content["predicted"], warnings)
    for line in (*summary(content), *(f"Warning: {text}" for text in warnings)):
        print(line)
    if problem := wrong(content, plan.experiment.prediction.max_failed):
        raise AirflowFailException(
            f"{problem} {run.record} has a few of the errors. Job: {predicted['console']}"
        )
    quoting = ("errors", "findings")
    return {name: part for name, part in content.items() if name not in quoting}, warnings


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


def _images(platform: Platform, output: str) -> tuple[dict[str, Any], answers.Answers]:
    """The answers in the job's files, and of a server the numbers in prediction.errors_stats-*."""
    predicted, failed = 0, 0
    classes: dict[str, int] = {}
    values: list[float] = []
    errors: list[dict[str, str]] = []
    for blob in storage.each_blob(platform, f"{output.rstrip('/')}/"):
        statistics = "errors_stats" in blob.name.rpartition("/")[2]
        with blob.open("rt", encoding="utf-8") as file:
            for line in filter(str.strip, file):
                text: str | None
                if statistics:
                    text, count = _statistic(line)
                    name = f"{count:,} instances"
                else:
                    name, text, answer = lines.of_file(line)
                    count = 1
                    for one in answer.get("labels", [answer["label"]] if "label" in answer else []):
                        classes[one] = classes.get(one, 0) + 1
                    if (number := lines.number(answer)) is not None:
                        values.append(number)
                if text is None:
                    predicted += 1
                    continue
                failed += count
                if len(errors) < _SHOWN:
                    errors.append({"instance": name[:_LONGEST], "error": text[:_LONGEST]})
    found = {
        "predicted": predicted,
        "failed": failed,
        "errors": errors,
        "output": f"{output.rstrip('/')}/",
    }
    return found, answers.statistics_of(values) if values else classes


def _statistic(line: str) -> tuple[str, int]:
    """(message, number of instances): a line is a Python tuple, as Google's page shows it.

    https://cloud.google.com/vertex-ai/docs/general/troubleshooting
    """
    try:
        text, count = ast.literal_eval(line.strip())
        return str(text), int(count)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return line.strip(), 1
