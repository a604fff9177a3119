"""snapshot, extract: BigQuery freezes a table's rows, and writes them to Parquet.

Both happen once per dataset, in whichever run comes first: their jobs are named by its
fingerprint. The snapshot never changes and never expires: every contender of every run on this
dataset used it.
"""

from typing import Any

from trellis.bigquery.operators import BigQueryJobOperator
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.lookups import left
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.planned import planned


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task that freezes the rows."""
    table = planned(experiment, platform, job_messages.snapshot)
    return BigQueryJobOperator(
        task_id="snapshot",
        configuration=planned(experiment, platform, job),
        product=table,
        unless=table,
        **_common(experiment, platform),
    )


def extract_task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task that writes them to Parquet; skipped if the dataset exists."""
    return BigQueryJobOperator(
        task_id="extract",
        configuration=planned(experiment, platform, extract_job, needs=left.snapshot_to_extract),
        product=planned(experiment, platform, extracted),
        unless=planned(experiment, platform, job_messages.dataset_mark),
        **_common(experiment, platform),
    )


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The query job that writes the snapshot, all of it or nothing."""
    assert plan.dataset.statement is not None
    return job_messages.query(
        plan.experiment,
        platform,
        plan.dataset.statement,
        destinationTable=job_messages.table_reference(job_messages.snapshot(plan, platform)),
        createDisposition="CREATE_IF_NEEDED",
        writeDisposition="WRITE_EMPTY",
    )


def extract_job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The extract job; BigQuery chooses the number of files."""
    return {
        "extract": {
            "sourceTable": job_messages.table_reference(job_messages.snapshot(plan, platform)),
            "destinationUris": [layout.dataset_rows(plan.dataset.uri)],
            "destinationFormat": "PARQUET",
            "compression": "SNAPPY",
        },
        "labels": job_messages.labels(plan.experiment, platform),
    }


def extracted(plan: Plan, platform: Platform) -> str:
    """The first of the files in BigQuery's numbering: if it exists, an extract was done."""
    return layout.dataset_rows(plan.dataset.uri).replace("*", "000000000000")


def key(plan: Plan, platform: Platform) -> str:
    """The key of both jobs: the dataset's, so that other runs on the same rows find them."""
    return f"dataset-{plan.dataset.fingerprint}"


def _common(experiment: Experiment, platform: Platform) -> dict[str, Any]:
    return {
        "project_id": platform.project,
        "location": platform.location,
        "gcp_conn_id": platform.connection,
        "key": planned(experiment, platform, key),
        "poll_interval": platform.poll_seconds,
    }
