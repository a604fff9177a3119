"""The DAG EXPERIMENT-predict: the champion predicts a table's rows, or a folder's images."""

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable

from bigquery.operators import BigQueryJobOperator
from research.alerts import on_failure_with
from research.attempts import arguments
from research.checks import MANUAL
from research.experiment import Experiment
from research.platform import Platform
from research.prediction import plan, result
from research.prediction.page import ADVICE, page
from research.prediction.params import run_params
from research.prediction.publish import PublishOperator
from vertex.operators import BatchPredictionJobOperator

# A schedule needs a first day. `catchup` is off, so an old one makes no run but the latest.
_FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)

_PLANNED = "ti.xcom_pull(task_ids='plan')"


def dag_id(experiment: Experiment) -> str:
    return f"{experiment.name}-predict"


def build(experiment: Experiment, platform: Platform) -> DAG:
    """plan -> snapshot (of a table) -> predict -> publish (of a table) -> result"""
    schedule = experiment.predict.schedule
    with DAG(
        dag_id=dag_id(experiment),
        description=f"The champion of {experiment.name} predicts",
        doc_md=page(experiment, platform),
        schedule=None
        if schedule == MANUAL
        else CronDataIntervalTimetable(schedule, timezone="UTC"),
        start_date=_FIRST_DAY,
        catchup=False,
        # A schedule that is faster than its runs waits, instead of paying for two at once.
        max_active_runs=1,
        params=run_params(experiment),
        tags=["research", "prediction"],
        # So that a template can hand on a whole job, not its text.
        render_template_as_native_obj=True,
        default_args={
            "owner": experiment.owner,
            **arguments(platform, on_failure_with(ADVICE)),
        },
    ) as dag:
        planned = plan.task(experiment, platform)
        predicted = _predict(experiment, platform)
        resulted = result.task(experiment, platform)
        if experiment.predict.kind == "image":
            planned >> predicted >> resulted
        else:
            publish = _publish(experiment, platform)
            planned >> _snapshot(experiment, platform) >> predicted >> publish >> resulted
    return dag


def _snapshot(experiment: Experiment, platform: Platform) -> Any:
    return BigQueryJobOperator(
        task_id="snapshot",
        configuration=f"{{{{ {_PLANNED}['snapshot'] }}}}",
        product=f"{{{{ {_PLANNED}['snapshot_table'] }}}}",
        **_in_bigquery(experiment, platform),
    )


def _predict(experiment: Experiment, platform: Platform) -> Any:
    return BatchPredictionJobOperator(
        task_id="predict",
        batch_prediction_job=f"{{{{ {_PLANNED}['prediction'] }}}}",
        limit=experiment.predict.timeout.total_seconds(),
        # A few that the model refuses must not cost the others; `result` counts them.
        partly=True,
        region=platform.region,
        **_common(experiment, platform),
    )


def _publish(experiment: Experiment, platform: Platform) -> Any:
    return PublishOperator(
        task_id="publish",
        predicted="{{ ti.xcom_pull(task_ids='predict') }}",
        published=f"{{{{ {_PLANNED}['publish'] }}}}",
        product=f"{{{{ {_PLANNED}['output'] }}}}",
        **_in_bigquery(experiment, platform),
    )


def _in_bigquery(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    return {**_common(experiment, platform), "location": platform.location}


def _common(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    return {
        "project_id": platform.project,
        "gcp_conn_id": platform.connection,
        "generation": experiment.generation,
        "poll_interval": platform.poll_seconds,
    }
