"""A table or query to predict from, looked at before anything is spent. For tasks only."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from research import interval, jobs, sql, warehouse
from research.experiment import Experiment
from research.interval import Partition
from research.platform import Platform
from research.prediction.columns import fit
from research.prediction.layout import Prediction
from research.table import Table

EXPIRES = timedelta(days=14)
"""The frozen rows are for looking into a prediction, not for keeping."""


@dataclass(frozen=True)
class Found:
    """What BigQuery says of the rows.

    name: of the table or query. rows: None where only reading them would tell. bytes: what that
    reads. left_out: columns that the model does not know. statement: the SELECT of key and
    features.
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
) -> Found:
    """Look at the table or query. Raises SourceError; NoRowsError if the interval has no rows.

    model: what to call it. learned: the table that it learned from. run, days: see
    `interval.of_run`.
    """
    predict = experiment.predict
    source = warehouse.look(platform, "predict", predict.bigquery, predict.query)
    column, left_out = fit(source.name, model, learned, source.columns, predict.partition)
    partition = interval.of_run(column, run, days, "predict.partition")
    statement = sql.render(
        "predict_rows",
        source=source.sql,
        partition=partition,
        key=learned.key.name,
        features=learned.features,
    )
    job = source.dry_run(statement)
    rows = source.count(partition, source.partitions(partition))
    warehouse.create_dataset(platform)
    read = int(job.total_bytes_processed or 0)
    return Found(source.name, rows, read, left_out, partition, statement)


def snapshot_job(run: Prediction, statement: str) -> dict[str, Any]:
    """The query job that freezes the rows, all of them or none."""
    expires = datetime.now(UTC) + EXPIRES
    text = sql.render(
        "predict_snapshot",
        table=run.snapshot,
        rows=statement,
        expires=expires.isoformat(sep=" ", timespec="seconds"),
        **table_options(run, "What was asked"),
    )
    return jobs.query(run, run.platform, text)


def table_options(run: Prediction, what: str) -> dict[str, Any]:
    """OPTIONS of a table that the run makes, for the templates of SQL."""
    labels = jobs.labels(run, run.platform).items()
    pairs = (f"({sql.literal(name)}, {sql.literal(value)})" for name, value in labels)
    return {
        "description": f"{what} in {run.uri}",
        "labels": ", ".join(pairs),
        "encryption_key": run.platform.encryption_key,
    }
