"""snapshot, extract: BigQuery freezes a table's rows, and writes them to Parquet.

Both happen once per dataset, in whichever run comes first: their jobs are named by its
fingerprint. The snapshot never changes and never expires: every contender of every run on this
dataset used it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.pricing import cost, queries
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import job_messages
from trellis.workflow.stages.planned import planned
from trellis.workflow.stages.stage import Row, Stage, Usd

if TYPE_CHECKING:
    from trellis.workflow.stages.run_jobs import RunJobs


def task(experiment: Experiment, platform: Platform) -> Any:
    """The Airflow task that freezes the rows."""
    from trellis.bigquery.operators import BigQueryJobOperator

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
    from trellis.bigquery.operators import BigQueryJobOperator
    from trellis.workflow.lookups import left

    return BigQueryJobOperator(
        task_id="extract",
        configuration=planned(experiment, platform, extract_job, needs=left.snapshot_to_extract),
        product=planned(experiment, platform, extracted),
        unless=planned(experiment, platform, job_messages.dataset_mark),
        **_common(experiment, platform),
    )


def job(plan: Plan, platform: Platform) -> dict[str, Any]:
    """The query job that writes the snapshot, all of it or nothing."""
    return job_messages.query(
        plan.experiment,
        platform,
        plan.dataset.statement,
        destinationTable=job_messages.table_reference(job_messages.snapshot(plan, platform)),
        createDisposition="CREATE_IF_NEEDED",
        writeDisposition="WRITE_EMPTY",
        **queries.limit(plan.query_bytes),
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


def _page(experiment: Experiment, platform: Platform) -> Iterator[Row]:
    what = "freezes the run's rows in BigQuery; refuses rows that cannot be learned from"
    yield "snapshot, check", what


def _dry_run(plan: Plan, platform: Platform) -> Iterator[Row]:
    dataset = plan.dataset
    rows = "rows" if dataset.examples is None else f"{dataset.examples:,} rows"
    yield "snapshot", f"{rows}, {len(plan.table.features)} features of {dataset.source}"


def _at_most(experiment: Experiment, platform: Platform, source_bytes: int) -> Usd:
    return {"snapshot": cost.scan(source_bytes, platform.region)}


def _spent(jobs: "RunJobs") -> Usd:
    return {"snapshot": jobs.billed("snapshot", key(jobs.plan, jobs.platform))}


STAGE = Stage(
    name="snapshot",
    where="BigQuery",
    tasks=lambda dag: task(dag.experiment, dag.platform),
    page=_page,
    dry_run=_dry_run,
    at_most=_at_most,
    spent=_spent,
    advice={
        "snapshot": "BigQuery's message, in the console, names what it could not read. Fix the "
        "source and trigger a new run; if the fault was Google's, clear this task."
    },
)

EXTRACT = Stage(
    name="extract",
    where="BigQuery",
    writes=["rows-*.parquet"],
    tasks=lambda dag: extract_task(dag.experiment, dag.platform),
    page=lambda *_: [("extract", "writes the snapshot as Parquet files (BigQuery)")],
    advice={"extract": "The snapshot is safe. Clear this task to write its files again."},
)
