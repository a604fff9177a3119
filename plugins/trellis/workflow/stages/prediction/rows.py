"""Inspects a table or query to predict from, before anything is spent. Called by tasks only."""

from dataclasses import dataclass
from typing import Any

from trellis.workflow import sql
from trellis.workflow.contracts import interval
from trellis.workflow.contracts.interval import Partition
from trellis.workflow.contracts.table import Table
from trellis.workflow.lookups import bigquery_source, own_dataset
from trellis.workflow.pricing import queries
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages.prediction.columns import fit


@dataclass(frozen=True)
class Found:
    """Facts about the rows from BigQuery's metadata.

    name: of the table or query. rows: None if only reading them would tell. bytes: what a query on
    them may be billed for (pricing.queries). left_out: columns that the model does not use.
    statement: the SELECT of key and features.
    """

    name: str
    rows: int | None
    bytes: int
    left_out: list[str]
    partition: Partition | None
    statement: str


def inspect(
    experiment: Experiment,
    platform: Platform,
    model: str,
    learned: Table,
    run: tuple[Any, Any],
    days: tuple[Any, Any],
    by_service: bool = False,
) -> Found:
    """Inspect the table or query. Raises SourceError; NoRowsError if the interval has no rows.

    model: its name for messages. learned: the table that it learned from. run, days: see
    `interval.of_run`. by_service: whether a service of Google's predicts, and no server of
    ours, which reads texts.
    """
    predict = experiment.row_prediction
    source = bigquery_source.find(platform, "predict", predict, experiment.task)
    column, left_out = fit(source.name, model, learned, source.columns, predict.partition)
    partition = interval.of_run(column, run, days, "predict.partition")
    statement = sql.render(
        "predict_rows",
        source=source.sql,
        partition=partition,
        key=learned.key.name,
        features=learned.features,
        by_service=by_service,
    )
    job = source.dry_run(statement)
    rows = source.count(partition, source.partitions(partition))
    own_dataset.create(platform)
    read = int(job.total_bytes_processed or 0)
    read = queries.planned(read, len(job.referenced_tables), rows)
    return Found(source.name, rows, read, left_out, partition, statement)
