"""Checks rows of a file that are to be appended to a table, before anything is written."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from trellis.new import bigquery, files, roles, signs
from trellis.new.described import Column, DataError, File, listed
from trellis.new.loading import full
from trellis.workflow.contracts import table
from trellis.workflow.spec.problems import did_you_mean
from trellis.workflow.sql import identifier

# Types of a file, and of a table that holds their values without loss.
_WIDER = (("INT64", "FLOAT64"), ("ARRAY<INT64>", "ARRAY<FLOAT64>"), ("DATE", "DATETIME"))
# A query has up to 10 MB: https://docs.cloud.google.com/bigquery/quotas#query_jobs
_MOST_BYTES, _MOST_KEYS = 4 << 20, 100_000
_SHOWN = 3


def existing(client: Any, address: str) -> Any:
    """The table to append to, as BigQuery describes it. Raises DataError if there is none.

    client: google.cloud.bigquery.Client. address: DATASET.TABLE or with a project.
    """
    from google.api_core.exceptions import BadRequest, Forbidden, NotFound

    try:
        known = client.get_table(full(client, address))
    except NotFound:
        raise DataError(
            f"There is no table {address} to append to; without --append, the upload makes it"
        ) from None
    except (Forbidden, BadRequest, ValueError) as error:
        raise DataError(f"{address} cannot be read: {getattr(error, 'message', error)}") from None
    if known.table_type != "TABLE":
        raise DataError(f"{address} is no table but a {known.table_type}: rows go into a table")
    return known


def types(known: Any) -> Mapping[str, str]:
    """The types of a table's columns, by name in lower case."""
    return {column.name.lower(): column.type for column in table.columns(known.schema)}


def fitted(file: File, address: str, known: Any) -> File:
    """The file's table with the names, the order and the types of the one that it is appended to.
    Raises DataError that names each column that differs.
    """
    import pyarrow

    own = {name.lower(): name for name in file.table.column_names}
    names = {field.name.lower(): field.name for field in known.schema}
    wanted = types(known)
    problems = [f"'{names[name]}' is in the table alone" for name in names if name not in own]
    problems += [f"'{own[name]}' is in the file alone" for name in own if name not in names]
    columns, fields = [], []
    for field in known.schema:
        name = field.name.lower()
        if name not in own:
            continue
        column = file.table.column(own[name])
        found = _fitted(column, wanted[name])
        if found is None:
            problems.append(
                f"'{own[name]}' is {files.type_of(column)} in the file, {wanted[name]} in the table"
            )
            continue
        if field.mode == "REQUIRED" and found.null_count:
            problems.append(
                f"'{own[name]}' is missing in {found.null_count:,} rows of the file, and the table "
                "takes none without it (REQUIRED)"
            )
        columns.append(found)
        fields.append(pyarrow.field(field.name, found.type, nullable=field.mode != "REQUIRED"))
    if problems:
        raise DataError(
            f"Rows of the file do not fit {address}, and nothing is written: {listed(problems)}"
        )
    return dataclasses.replace(
        file, table=pyarrow.Table.from_arrays(columns, schema=pyarrow.schema(fields))
    )


def _fitted(column: Any, wanted: str) -> Any:
    """The column in a type of BigQuery; None if that cannot hold its values."""
    import pyarrow

    found = files.type_of(column)
    if found == wanted:
        return column
    type_ = files.arrow_type(wanted)
    if type_ is not None and column.null_count == len(column):
        return pyarrow.chunked_array([pyarrow.nulls(len(column), type_)])
    if (found, wanted) not in _WIDER:
        return None
    try:
        return column.cast(type_)
    except pyarrow.ArrowInvalid:  # whole numbers beyond 2**53
        return None


def refuse_known_keys(client: Any, file: File, address: str, key: str | None) -> None:
    """Raise DataError if rows of the file have keys that the table has already, or have one twice.

    file: with the table's names and types. key: the column that identifies rows; None for the one
    that the file's names and values say, if it identifies the table's rows, too.
    """
    rows = files.describe(file, address)
    if key is not None and rows.column(key) is None:
        known = [each.name for each in rows.columns]
        raise DataError(f"{address} has no column '{key}' (--key); {did_you_mean(key, known)}")
    name = key or roles.key_of(rows.columns, rows)
    column = rows.column(name) if name else None
    if column is None:
        return
    if column.type not in signs.KEY_TYPES:
        raise DataError(f"{column.name} is {column.type}: a key is STRING or INT64 (--key)")
    if column.distinct < rows.rows:
        raise DataError(
            f"the key {column.name} is missing or repeats in {rows.rows - column.distinct:,} of "
            f"{rows.rows:,} rows of the file (--key): nothing is written"
        )
    values = file.table.column(column.name)
    count, some, unique = 0, set[str](), True
    for keys in _chunks(values):
        found = _found(client, address, column, keys)
        unique = unique and found["n"] == found["different"]
        count += found["there"]
        some |= set(found["found"] or ())
    if count and (unique or key):
        shown = ", ".join(map(repr, sorted(some)[:_SHOWN]))
        raise DataError(
            f"{count:,} rows of {address} have a key ({column.name}) of the file's {rows.rows:,}, "
            f"such as {shown}: nothing is written. Leave these rows out of the file, or name "
            "another column that identifies rows with --key"
        )


def _chunks(values: Any) -> Iterator[list[Any]]:
    """The values in parts that a query can have as a parameter."""
    keys: list[Any] = []
    size = 0
    for value in values.to_pylist():
        size += len(str(value).encode()) + 32  # as JSON
        if keys and (size > _MOST_BYTES or len(keys) == _MOST_KEYS):
            yield keys
            keys, size = [], 0
        keys.append(value)
    yield keys


def _found(client: Any, address: str, column: Column, keys: list[Any]) -> Any:
    """Rows of the table, its different keys, rows with one of these keys, and some of them."""
    from google.cloud.bigquery import ArrayQueryParameter

    name, table_ = identifier(column.name), identifier(full(client, address))
    is_there = f"{name} IN UNNEST(@keys)"
    some = f"SELECT DISTINCT CAST({name} AS STRING) FROM {table_} WHERE {is_there} LIMIT {_SHOWN}"
    return bigquery.ask(
        client,
        f"SELECT COUNT(*) AS n, COUNT(DISTINCT {name}) AS different, COUNTIF({is_there}) AS there, "
        f"ARRAY({some}) AS found FROM {table_}",
        address,
        [ArrayQueryParameter("keys", column.type, keys)],
    )
