"""publish: the run's table of predictions, made from the batch prediction's tables, or of a model
of BigQuery ML's by ML.PREDICT.

AutoML's tables have columns of another form: its answers become JSON text of ours.

Vertex AI names its tables by time, and writes rows with and without a prediction to two tables,
predictions as JSON text. Without any failed row, or any other, one of the two may be missing. An
answer of our server may also be an error. The run's table has a row for each instance: key, label
value or risk, prediction, error; the curve of survival is in the prediction. Of a model that hands
examples back it has `abstained`; of one with a coverage `prediction_set`, or `interval_low` and
`interval_high`. Where answers are files, the table is of what their stage has written. Of images,
whose answers stay files, it has the lines of these, to which `truth` joins labels that come later.
"""

from collections.abc import Mapping
from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from trellis.bigquery.operators import BigQueryJobOperator
from trellis.vertex.registry import AUTOML
from trellis.workflow import sql
from trellis.workflow.contracts.prediction_plan import PredictionPlan
from trellis.workflow.lookups import left, own_dataset, plans
from trellis.workflow.lookups.manifest import ONE_FIELD
from trellis.workflow.pricing import queries
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.prediction import ImagePredict
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.planned import planned, returned
from trellis.workflow.stages.prediction import files
from trellis.workflow.stages.prediction.table_options import table_options


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task."""
    predicted = returned("predict", "output", required=False)
    writing = files.stage(experiment)
    of_rows = writing.job if writing else job
    making = job_of_images if isinstance(experiment.prediction, ImagePredict) else of_rows
    return BigQueryJobOperator(
        task_id="publish",
        # `predict` is skipped where a query predicts.
        trigger_rule="none_failed_min_one_success",
        configuration=planned(experiment, platform, making, predicted, load=plans.load_prediction),
        product=planned(experiment, platform, output, load=plans.load_prediction),
        project_id=platform.project,
        location=platform.location,
        gcp_conn_id=platform.connection,
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
    )


def job(plan: PredictionPlan, platform: Platform, predicted: str | None) -> dict[str, Any]:
    """The query job. predicted: the table of the batch prediction; None if there was none."""
    rows = plan.rows
    assert rows is not None
    tables: dict[str, str | None] = {"predictions": None, "errors": None}
    if rows.bqml is not None:
        left.rows_to_predict(plan, platform)
    elif predicted is None:
        raise left.NothingLeftError("predict", "predictions")
    else:
        tables = written(platform, predicted, plan.service)
    statement = sql.render(
        "predict_publish",
        output=plan.output,
        answer=rows.answer,
        abstained=rows.abstained,
        conformal=rows.conformal,
        bqml=rows.bqml,
        automl=plan.service == AUTOML,
        snapshot=plan.run.snapshot,
        **tables,
        **table_options(plan, platform, "Predictions"),
    )
    limit = (
        queries.limit(plan.cost.get("query_bytes"), queries.BASELINE)
        if rows.bqml
        else own_dataset.read_limit(platform, *filter(None, tables.values()))
    )
    return job_messages.query(plan.experiment, platform, statement, **limit)


def job_of_images(
    plan: PredictionPlan, platform: Platform, predicted: str | None
) -> dict[str, Any]:
    """The job that loads the lines of the batch prediction's files, which costs nothing. predicted:
    the folder of these.
    """
    if predicted is None:
        raise left.NothingLeftError("predict", "predictions")
    # AutoML names them otherwise. Beside them are files of errors (lines.of_file).
    names = "predictions_*" if plan.service == AUTOML else "prediction.results-*"
    form = {"sourceFormat": "CSV", "fieldDelimiter": ONE_FIELD, "quote": ""}
    return load(plan, platform, f"{predicted.rstrip('/')}/{names}", {"line": "STRING"}, **form)


def load(
    plan: PredictionPlan, platform: Platform, files: str, types: Mapping[str, str], **form: str
) -> dict[str, Any]:
    """The job that makes the run's table of files: gs://..., * stands for any characters. types:
    BigQuery's, by column. form: fields of a JobConfigurationLoad, of the files.
    """
    project, dataset, table = str(plan.table).split(".")
    key = platform.encryption_key
    return {
        "load": {
            "sourceUris": [files],
            **form,
            "schema": {"fields": [{"name": name, "type": of} for name, of in types.items()]},
            "destinationTable": {"projectId": project, "datasetId": dataset, "tableId": table},
            "destinationTableProperties": {
                "description": f"Predictions in {plan.run.uri}",
                "labels": job_messages.labels(plan.experiment, platform),
            },
            "createDisposition": "CREATE_IF_NEEDED",
            "writeDisposition": "WRITE_EMPTY",
            **({"destinationEncryptionConfiguration": {"kmsKeyName": key}} if key else {}),
        }
    }


def written(platform: Platform, predicted: str, service: str | None) -> dict[str, str | None]:
    """The tables of a batch prediction: of its "predictions" and its "errors", None if not there.

    predicted: that of its predictions. service: as of the plan. Raises AirflowFailException if
    neither is there.
    """
    names = {"predictions": predicted, "errors": errors_of(predicted, service)}
    there = {kind: own_dataset.is_there(platform, name) for kind, name in names.items()}
    if not any(there.values()):
        raise AirflowFailException(
            f"The batch prediction left neither {' nor '.join(names.values())}: they were "
            "deleted, or have expired. Clear `predict` to predict again."
        )
    return {kind: name if there[kind] else None for kind, name in names.items()}


def output(plan: PredictionPlan, platform: Platform) -> str:
    """PROJECT.DATASET.TABLE of the predictions."""
    return str(plan.table)


def errors_of(predictions: str, service: str | None) -> str:
    """The table of failed rows that a job writes beside its predictions.

    Of a custom container, as saved runs show it (statmike/vertex-ai-mlops, "Prediction - Batch"):
    all columns of the input and `prediction_error`, a text. Of AutoML errors_TIME beside
    predictions_TIME, with errors_TARGET, a code and a message:
    https://cloud.google.com/vertex-ai/docs/tabular-data/classification-regression/get-batch-predictions
    """
    if service is None:
        return f"{predictions}_errors"
    dataset, _, table = predictions.rpartition(".")
    return f"{dataset}.errors_{table.removeprefix('predictions_')}"
