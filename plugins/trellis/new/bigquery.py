"""A table in BigQuery, described: its metadata, and two queries that count."""

from collections.abc import Sequence
from typing import Any

from trellis.new.described import IMAGE_ADDRESS, SAMPLED, Column, DataError, Rows
from trellis.workflow.contracts import table
from trellis.workflow.labels.number import INFINITE
from trellis.workflow.sql import identifier

MOST_BYTES = 100 * 2**30
"""Bytes that counting may read: about 0.60 USD."""

FEW_VALUES = 20
"""Values of a column that are read, to recognize a split or an outcome by them."""

_WHOLE = ("INT64", "FLOAT64")
_NAMING = ("STRING", "INT64", "BOOL")
_COUNTED = ("INT64", "FLOAT64", "NUMERIC", "BIGNUMERIC", "BOOL", "STRING", *table.PARTITION_TYPES)


def describe(client: Any, address: str) -> Rows:
    """Columns, rows, and of each column how many values differ. Raises DataError.

    client: google.cloud.bigquery.Client. address: DATASET.TABLE or PROJECT.DATASET.TABLE.
    """
    from google.api_core.exceptions import BadRequest, Forbidden, NotFound

    try:
        known = client.get_table(address if address.count(".") == 2 else _full(client, address))
    except (NotFound, Forbidden, BadRequest, ValueError) as error:
        raise DataError(f"{address} cannot be read: {getattr(error, 'message', error)}") from None
    columns = table.columns(known.schema)
    counted = [column for column in columns if column.type in _COUNTED]
    parts = ["COUNT(*) AS n", "COUNT(DISTINCT TO_JSON_STRING(t)) AS differing"]
    for number, column in enumerate(counted):
        name = identifier(column.name)
        parts.append(f"COUNT(DISTINCT {name}) AS d{number}, COUNTIF({name} IS NULL) AS e{number}")
        if column.type == "STRING":
            parts.append(f"COUNTIF(NOT REGEXP_CONTAINS({name}, r'{IMAGE_ADDRESS}')) AS g{number}")
            parts.append(f"AVG(ARRAY_LENGTH(SPLIT({name}, ' '))) AS w{number}")
        if column.type in _WHOLE:
            fractions = f"COUNTIF({name} != TRUNC({name}))" if column.type == "FLOAT64" else "0"
            parts.append(f"{fractions} AS f{number}")
            parts.append(f"COUNTIF({INFINITE.format(name)}) AS i{number}")
            ends = (f"CAST({end}({name}) AS FLOAT64)" for end in ("MAX", "MIN"))
            parts.append(f"{' - '.join(ends)} AS s{number}")
    row = ask(client, f"SELECT {', '.join(parts)} FROM {identifier(address)} AS t", address)
    few = {n for n, c in enumerate(counted) if c.type in _NAMING and 0 < row[f"d{n}"] <= FEW_VALUES}
    of_images = {
        n for n, c in enumerate(counted) if c.type == "STRING" and row[f"d{n}"] and not row[f"g{n}"]
    }
    values = _values(client, address, {n: counted[n].name for n in sorted(few | of_images)})
    found = {
        column.name: Column(
            column.name,
            column.type,
            row[f"e{n}"],
            row[f"d{n}"],
            column.type == "FLOAT64" and row[f"d{n}"] > 0 and not row[f"f{n}"],
            column.type in _WHOLE and not row[f"f{n}"] and _counts(row, n),
            values=values[n] if n in few else (),
            addresses=values[n] if n in of_images else (),
            infinite=row[f"i{n}"] if column.type in _WHOLE else 0,
            words=(row[f"w{n}"] or 0.0) if column.type == "STRING" else 0.0,
        )
        for n, column in enumerate(counted)
    }
    partitioning = known.time_partitioning
    return Rows(
        address,
        row["n"],
        tuple(found.get(column.name) or Column(column.name, column.type) for column in columns),
        known.num_bytes or 0,
        partitioning.field if partitioning else None,
        row["differing"],
    )


def _counts(row: Any, number: int) -> bool:
    """Return whether the column's values are as many consecutive numbers as there are rows."""
    return bool(1 < row["n"] == row[f"d{number}"] == row[f"s{number}"] + 1)


def _values(client: Any, address: str, columns: dict[int, str]) -> dict[int, tuple[str, ...]]:
    """The values of columns as texts: all of few, and SAMPLED of more."""
    if not columns:
        return {}
    parts = []
    for number, column in columns.items():
        name = identifier(column)
        texts = f"SELECT DISTINCT CAST({name} AS STRING) FROM {identifier(address)}"
        parts.append(f"ARRAY({texts} WHERE {name} IS NOT NULL LIMIT {SAMPLED}) AS v{number}")
    row = ask(client, f"SELECT {', '.join(parts)}", address)
    return {number: tuple(sorted(row[f"v{number}"] or ())) for number in columns}


def classes(client: Any, address: str, label: str, whole: bool = False) -> dict[str, int]:
    """Count the rows of each value of the label, the rarest first; without NULL. whole: the values
    are whole numbers stored as FLOAT64.
    """
    name = f"CAST({identifier(label)} AS INT64)" if whole else identifier(label)
    statement = (
        f"SELECT ARRAY_AGG(STRUCT(value, n) ORDER BY n, value) AS found FROM (SELECT "
        f"CAST({name} AS STRING) AS value, COUNT(*) AS n FROM {identifier(address)} "
        f"WHERE {name} IS NOT NULL GROUP BY value)"
    )
    return {each["value"]: each["n"] for each in ask(client, statement, address)["found"] or ()}


def _full(client: Any, address: str) -> str:
    return f"{client.project}.{address}"


def ask(client: Any, statement: str, address: str, parameters: Sequence[Any] = ()) -> Any:
    """The only row of an answer. parameters: of google.cloud.bigquery. Raises DataError."""
    from google.api_core.exceptions import GoogleAPICallError
    from google.cloud.bigquery import QueryJobConfig

    try:
        given = {"query_parameters": list(parameters)}
        dry = client.query(statement, QueryJobConfig(dry_run=True, use_query_cache=False, **given))
        if dry.total_bytes_processed > MOST_BYTES:
            raise DataError(
                f"Counting the values of {address} would read {dry.total_bytes_processed:,} bytes; "
                "name a table or view with a part of its rows, and the whole one in the file then"
            )
        config = QueryJobConfig(maximum_bytes_billed=2 * MOST_BYTES, **given)
        (row,) = client.query(statement, config).result()
    except GoogleAPICallError as error:
        raise DataError(f"{address} cannot be read: {error.message}") from None
    return row
