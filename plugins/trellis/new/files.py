"""A CSV or Parquet file on this machine: described as BigQuery will have it, and loaded."""

import io
import re
from pathlib import Path
from typing import Any

from trellis.new.described import Column, DataError, Rows

SUFFIXES = (".csv", ".csv.gz", ".parquet")
"""Of files that are read."""

_TYPES = {
    "int64": "INT64",
    "double": "FLOAT64",
    "bool": "BOOL",
    "string": "STRING",
    "date32[day]": "DATE",
    "timestamp[us]": "DATETIME",
    "timestamp[us, tz=UTC]": "TIMESTAMP",
    "list<item: int64>": "ARRAY<INT64>",
    "list<item: double>": "ARRAY<FLOAT64>",
}


def is_table(path: Path) -> bool:
    """Whether the file's name is that of a table."""
    return path.name.endswith(SUFFIXES)


def read(path: Path) -> Any:
    """The file as a pyarrow.Table whose columns have BigQuery's names and types.

    A name that BigQuery does not take is changed: `sepal length (cm)` to `sepal_length_cm`. CSV
    files are UTF-8 with a header; values like NA are NULL. Raises DataError.
    """
    import pyarrow
    from pyarrow import csv, parquet

    try:
        if path.name.endswith(".parquet"):
            table = parquet.read_table(path)
        else:
            # Values that are quoted are text, whatever they say.
            nulls = csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
            table = csv.read_csv(path, convert_options=nulls)
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise DataError(f"{path}: {error}") from None
    if not table.num_rows:
        raise DataError(f"{path} has no rows below its header")
    names: list[str] = []
    for name in table.column_names:
        names.append(_name(name, names))
    columns = [_plain(column, pyarrow) for column in table.columns]
    return pyarrow.table(dict(zip(names, columns, strict=True)))


def describe(table: Any, address: str) -> Rows:
    """The description of a table that `read` read. address: what it is called in BigQuery."""
    from pyarrow import compute

    columns = []
    for name in table.column_names:
        column = table.column(name)
        type_ = _TYPES.get(str(column.type), "JSON")
        counted = not type_.startswith("ARRAY") and type_ != "JSON"
        distinct = compute.count_distinct(column).as_py() if counted else 0
        columns.append(Column(name, type_, column.null_count, distinct))
    flat = not any(column.type.startswith("ARRAY") for column in columns)
    differing = table.group_by(table.column_names).aggregate([]).num_rows if flat else None
    return Rows(address, table.num_rows, tuple(columns), table.nbytes, distinct=differing)


def classes(table: Any, label: str) -> dict[str, int]:
    """How many rows each value of the label has, the rarest first; without NULL."""
    counts = table.column(label).drop_null().value_counts().to_pylist()
    found = sorted((each["counts"], _text(each["values"])) for each in counts)
    return {value: count for count, value in found}


def load(client: Any, table: Any, address: str, location: str) -> int:
    """Load a table that `read` read into BigQuery; the number of its rows. Raises DataError if it
    exists. client: google.cloud.bigquery.Client. address: DATASET.TABLE or with a project.
    """
    from google.api_core.exceptions import Conflict, GoogleAPICallError
    from google.cloud import bigquery
    from pyarrow import parquet

    full = address if address.count(".") == 2 else f"{client.project}.{address}"
    dataset = bigquery.Dataset(full.rpartition(".")[0])
    dataset.location = location
    options = bigquery.ParquetOptions()
    options.enable_list_inference = True
    unreadable = [c.name for c in describe(table, address).columns if c.type == "JSON"]
    if unreadable:
        raise DataError(
            f"{', '.join(unreadable)}: values that are no numbers, text, dates or "
            "lists of numbers; leave these columns out of the file"
        )
    file = io.BytesIO()
    parquet.write_table(table, file)
    file.seek(0)
    config = bigquery.LoadJobConfig(
        source_format=bigquery.SourceFormat.PARQUET,
        write_disposition=bigquery.WriteDisposition.WRITE_EMPTY,
        parquet_options=options,
    )
    try:
        client.create_dataset(dataset, exists_ok=True)
        # One load job: the table exists with all its rows, or not at all.
        job = client.load_table_from_file(file, full, location=location, job_config=config)
        return int(job.result().output_rows)
    except Conflict as error:
        raise DataError(f"{address} has rows already: {error.message}") from None
    except GoogleAPICallError as error:
        raise DataError(f"{address} cannot be loaded: {error.message}") from None


def _plain(column: Any, pyarrow: Any) -> Any:
    """The column as one of the types that BigQuery and Trellis have."""
    types = pyarrow.types
    type_ = column.type
    if types.is_dictionary(type_):
        column = column.cast(type_.value_type)
        type_ = column.type
    if types.is_null(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return column.cast(pyarrow.string())
    if types.is_integer(type_):
        return column.cast(pyarrow.int64())
    if types.is_floating(type_) or types.is_decimal(type_):
        return column.cast(pyarrow.float64())
    if types.is_timestamp(type_):
        zone = "UTC" if type_.tz else None
        return column.cast(pyarrow.timestamp("us", zone), safe=False)
    if types.is_list(type_) or types.is_large_list(type_):
        numbers = (types.is_integer, pyarrow.int64()), (types.is_floating, pyarrow.float64())
        for fits, wanted in numbers:
            if fits(type_.value_type):
                return column.cast(pyarrow.list_(pyarrow.field("item", wanted)))
    return column


def _name(name: str, taken: list[str]) -> str:
    """https://docs.cloud.google.com/bigquery/docs/schemas#column_names"""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "column"
    plain = f"c_{plain}" if plain[0].isdigit() else plain
    lower, found, number = {each.lower() for each in taken}, plain, 2
    while found.lower() in lower:
        found, number = f"{plain}_{number}", number + 1
    return found


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
