"""publish: the run's table of predictions, made from the batch prediction's tables.

Vertex AI names its tables by time, and writes rows with and without a prediction to two tables,
predictions as JSON text. Without any failed row, or any other, one of the two may be missing. An
answer of our server may also be an error. The run's table has a row for each instance: key, label
value or risk, prediction, error; the curve of survival is in the prediction. Of a model that hands
examples back it has `abstained`; of one with a coverage `prediction_set`, or `interval_low` and
`interval_high`.
"""

from typing import Any

from airflow.sdk.exceptions import AirflowFailException

from trellis.bigquery.operators import BigQueryJobOperator
from trellis.workflow import sql
from trellis.workflow.contracts.prediction_plan import PredictionPlan
from trellis.workflow.lookups import own_dataset, plans
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
    written = {"predictions": predicted, "errors": errors_of(predicted)}
    there = {kind: own_dataset.is_there(platform, name) for kind, name in written.items()}
    if not any(there.values()):
        raise AirflowFailException(
            f"The batch prediction left neither {' nor '.join(written.values())}: they were "
            "deleted, or have expired. Clear `predict` to predict again."
        )
    statement = sql.render(
        "predict_publish",
        output=plan.output,
        answer=plan.rows.answer,
        abstained=plan.rows.abstained,
        conformal=plan.rows.conformal,
        **{kind: name if there[kind] else None for kind, name in written.items()},
        **table_options(plan, platform, "Predictions"),
    )
    return {"query": {"query": statement, "useLegacySql": False}}


def output(plan: PredictionPlan, platform: Platform) -> str:
    """PROJECT.DATASET.TABLE of the predictions."""
    return plan.output


def errors_of(predictions: str) -> str:
    """The table of failed rows that a custom container's job writes beside its predictions.

    As saved runs show it (statmike/vertex-ai-mlops, "Prediction - Batch"): all columns of the input
    and `prediction_error`, a text. AutoML's has another name and form.
    """
    return f"{predictions}_errors"
