"""publish: the run's table of predictions, made from the batch prediction's tables.

Vertex AI names its tables by time, and writes rows with and without a prediction to two tables,
predictions as JSON text. The run's table has a row for each instance: key, label or value,
prediction, error.
"""

from typing import Any

from trellis.bigquery.operators import BigQueryJobOperator
from trellis.workflow import sql
from trellis.workflow.contracts.prediction_plan import PredictionPlan
from trellis.workflow.lookups import bigquery_source, plans
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.planned import planned, returned
from trellis.workflow.stages.prediction.table_options import table_options


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task."""
    predicted = returned("predict", "output")
    return BigQueryJobOperator(
        task_id="publish",
        configuration=planned(experiment, platform, job, predicted, load=plans.load_prediction),
        product=planned(experiment, platform, output, load=plans.load_prediction),
        project_id=platform.project,
        location=platform.location,
        gcp_conn_id=platform.connection,
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
    )


def job(plan: PredictionPlan, platform: Platform, predicted: str) -> dict[str, Any]:
    """The query job. predicted: the table of the batch prediction."""
    assert plan.rows is not None
    errors = errors_of(predicted)
    statement = sql.render(
        "predict_publish",
        output=plan.output,
        regression=plan.rows.regression,
        predictions=predicted,
        errors=errors if bigquery_source.is_there(platform, errors) else None,
        **table_options(plan, platform, "Predictions"),
    )
    return {"query": {"query": statement, "useLegacySql": False}}


def output(plan: PredictionPlan, platform: Platform) -> str:
    """PROJECT.DATASET.TABLE of the predictions."""
    return plan.output


def errors_of(predictions: str) -> str:
    """The table of failed instances for a table of predictions, by the time in its name.

    https://cloud.google.com/vertex-ai/docs/tabular-data/classification-regression/get-batch-predictions
    """
    dataset, _, name = predictions.rpartition(".")
    return f"{dataset}.errors_{name.removeprefix('predictions_')}"
