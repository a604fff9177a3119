"""A file's table loaded into BigQuery."""

import io
from typing import Any

from trellis.new.described import DataError, File


def load(client: Any, file: File, address: str, location: str) -> int:
    """Load the table into BigQuery; the number of its rows. Raises DataError if it exists.

    client: google.cloud.bigquery.Client. address: DATASET.TABLE or with a project.
    """
    from google.api_core.exceptions import Conflict, GoogleAPICallError
    from google.cloud import bigquery
    from pyarrow import parquet

    full = address if address.count(".") == 2 else f"{client.project}.{address}"
    dataset = bigquery.Dataset(full.rpartition(".")[0])
    dataset.location = location
    options = bigquery.ParquetOptions()
    options.enable_list_inference = True
    content = io.BytesIO()
    parquet.write_table(file.table, content)
    content.seek(0)
    config = bigquery.LoadJobConfig(
        source_format=bigquery.SourceFormat.PARQUET,
        write_disposition=bigquery.WriteDisposition.WRITE_EMPTY,
        parquet_options=options,
        # Names as they are: without it BigQuery replaces what is not ASCII.
        # https://docs.cloud.google.com/bigquery/docs/loading-data-cloud-storage-parquet
        column_name_character_map="STRICT",
    )
    try:
        client.create_dataset(dataset, exists_ok=True)
        # One load job: the table exists with all its rows, or not at all.
        job = client.load_table_from_file(content, full, location=location, job_config=config)
        return int(job.result().output_rows)
    except Conflict:
        raise DataError(
            f"{address} has rows already, and stays as it is: name another table. To append, "
            "upload the rows to a table of their own, and in BigQuery run "
            f"`INSERT INTO {address} SELECT * FROM` that table"
        ) from None
    except GoogleAPICallError as error:
        raise DataError(f"{address} cannot be loaded: {error.message}") from None
