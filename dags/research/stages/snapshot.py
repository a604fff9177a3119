"""snapshot, extract: a table's rows frozen in BigQuery, and written to Parquet by BigQuery.

Both are done once for a dataset, whichever run comes first: their jobs are named by its
fingerprint. The snapshot is never changed and never expires: it is what every contender of every
run on this dataset saw.
"""

from typing import Any

from bigquery.operators import BigQueryJobOperator
from research import jobs, layout
from research.experiment import Experiment
from research.plan import Plan
from research.platform import Platform


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task that freezes the rows."""
    return _operator(
        "snapshot",
        platform,
        product="{{ ti.xcom_pull(task_ids='plan')['snapshot_table'] }}",
        unless="{{ ti.xcom_pull(task_ids='plan')['snapshot_table'] }}",
    )


def extract_task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task that writes them to Parquet; skipped when the dataset is there."""
    return _operator(
        "extract",
        platform,
        product="{{ ti.xcom_pull(task_ids='plan')['extracted'] }}",
        unless="{{ ti.xcom_pull(task_ids='plan')['commit_mark'] }}",
    )


def job(plan: Plan, platform: Platform, statement: str) -> dict[str, Any]:
    """The query job that writes the snapshot, all of it or nothing."""
    return jobs.query(
        plan,
        platform,
        statement,
        destinationTable=jobs.table_reference(jobs.snapshot(plan, platform)),
        createDisposition="CREATE_IF_NEEDED",
        writeDisposition="WRITE_EMPTY",
    )


def extract_job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The extract job: BigQuery writes as many files as it likes."""
    return {
        "extract": {
            "sourceTable": jobs.table_reference(jobs.snapshot(plan, platform)),
            "destinationUris": [layout.dataset_rows(plan.dataset)],
            "destinationFormat": "PARQUET",
            "compression": "SNAPPY",
        },
        "labels": jobs.labels(plan, platform),
    }


def extracted(plan: Plan) -> str:
    """The first of the files, as BigQuery numbers them: where it is, an extract has been."""
    return layout.dataset_rows(plan.dataset).replace("*", "000000000000")


def _operator(name: str, platform: Platform, **arguments: Any) -> Any:
    return BigQueryJobOperator(
        task_id=name,
        project_id=platform.project,
        location=platform.location,
        gcp_conn_id=platform.connection,
        configuration=f"{{{{ ti.xcom_pull(task_ids='plan')['{name}'] }}}}",
        # Not the fingerprint alone: rendered by itself, one of digits only would become a number.
        key="dataset-{{ ti.xcom_pull(task_ids='plan')['dataset']['fingerprint'] }}",
        poll_interval=platform.poll_seconds,
        **arguments,
    )
