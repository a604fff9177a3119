"""snapshot: freezes the rows to predict in BigQuery: the key and the model's features."""

from typing import Any

from trellis.bigquery.operators import BigQueryJobOperator
from trellis.workflow import sql
from trellis.workflow.contracts.prediction_plan import PredictionPlan
from trellis.workflow.lookups import plans
from trellis.workflow.pricing import queries
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.prediction.table_options import table_options


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task."""
    return BigQueryJobOperator(
        task_id="snapshot",
        configuration=planned(experiment, platform, job, load=plans.load_prediction),
        product=planned(experiment, platform, table, load=plans.load_prediction),
        project_id=platform.project,
        location=platform.location,
        gcp_conn_id=platform.connection,
        generation=experiment.generation,
        poll_interval=platform.poll_seconds,
    )


def job(plan: PredictionPlan, platform: Platform) -> dict[str, Any]:
    """The query job that freezes the rows, all of them or none."""
    assert plan.rows is not None
    statement = sql.render(
        "predict_snapshot",
        table=plan.run.snapshot,
        rows=plan.rows.statement,
        expires=plan.rows.expires.isoformat(sep=" ", timespec="seconds"),
        **table_options(plan, platform, "Rows to predict"),
    )
    limit = queries.limit(plan.cost.get("query_bytes"))
    return job_messages.query(plan.experiment, platform, statement, **limit)


def table(plan: PredictionPlan, platform: Platform) -> str:
    """PROJECT.DATASET.TABLE of the frozen rows."""
    return plan.run.snapshot
