"""Loads rows into a BigQuery table, as a lab would have them there."""

from google.api_core.exceptions import NotFound
from google.cloud import bigquery


def load(
    name: str, fields: list[bigquery.SchemaField], rows: list[dict], day: str | None = None
) -> None:
    """Create the table PROJECT.DATASET.TABLE with these rows, unless it exists; says what it did.

    rows: JSON values by column. day: the DATE column by which the table is partitioned.
    """
    client = bigquery.Client(location="US")
    project, dataset, _ = name.split(".")
    try:
        print(f"{name} already exists, {client.get_table(name).num_rows} rows")
        return
    except NotFound:
        client.create_dataset(f"{project}.{dataset}", exists_ok=True)
    config = bigquery.LoadJobConfig(
        schema=fields,
        time_partitioning=bigquery.TimePartitioning(field=day) if day else None,
        write_disposition=bigquery.WriteDisposition.WRITE_EMPTY,
    )
    # One load job: the table exists with all its rows, or not at all.
    client.load_table_from_json(rows, name, job_config=config).result()
    print(f"{len(rows)} rows are in {name}")
