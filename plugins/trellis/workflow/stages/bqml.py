"""bqml: BigQuery ML models that learn from the snapshot's train and validation rows.

One BigQuery script for each: it trains, predicts exactly the test rows, and writes the predictions,
the service's own evaluation and what matters to the model into the run's folder.
"""

from typing import Any

from airflow.sdk import TaskGroup

from bigquery.operators import BigQueryJobOperator
from research import bqml, jobs, sql
from research.experiment import Experiment
from research.plan import Plan
from research.platform import Platform
from vertex.identity import label_value

GROUP = "bqml"


def tasks(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow tasks, one for each type in the file; skipped when the run does without."""
    with TaskGroup(GROUP, prefix_group_id=True) as group:
        for name in experiment.baselines.bqml:
            BigQueryJobOperator(
                task_id=name,
                project_id=platform.project,
                location=platform.location,
                gcp_conn_id=platform.connection,
                configuration=f"{{{{ ti.xcom_pull(task_ids='plan')['bqml'].get('{name}') }}}}",
                generation=experiment.generation,
                poll_interval=platform.poll_seconds,
            )
    return group


def task_id(name: str) -> str:
    """The id of the task that makes the baseline of a type."""
    return f"{GROUP}.{name}"


def job(plan: Plan, platform: Platform, name: str) -> dict[str, Any]:
    """The script's job."""
    return jobs.query(plan, platform, script(plan, platform, name))


def script(plan: Plan, platform: Platform, name: str) -> str:
    """The script that makes the baseline of a type."""
    assert plan.table is not None
    kind = bqml.TYPES[name]
    return sql.render(
        "bqml",
        model=model(plan, platform, name),
        type=name,
        snapshot=jobs.snapshot(plan, platform),
        features=plan.table.of_baselines(),
        folder=plan.run.baseline(f"bqml-{name}"),
        regression=kind.regression,
        importance=kind.importance,
    )


def model(plan: Plan, platform: Platform, name: str) -> str:
    """PROJECT.DATASET.MODEL of a run's model: no two runs share one."""
    run = label_value(plan.run.folder)
    return platform.own_table(f"{plan.experiment.name}_{name}_{run}".replace("-", "_"))
