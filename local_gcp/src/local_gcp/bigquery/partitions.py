"""Time partitions: the partition of a row, and the decorators that name one (`t$20240103`)."""

from __future__ import annotations

import datetime
from typing import Any

from .catalog import PARTITION_TIME, TableRecord
from .database import literal, quoted
from .errors import BigQueryError, invalid, not_emulated
from .schema import Field

_FORMATS = {"DAY": "%Y%m%d", "HOUR": "%Y%m%d%H", "MONTH": "%Y%m", "YEAR": "%Y"}
NULL_PARTITION = "__NULL__"


def checked_partitioning(resource: dict[str, Any], fields: list[Field]) -> dict[str, Any]:
    """REST TimePartitioning as it is stored; raises BigQueryError if it is invalid."""
    unit = (resource.get("type") or "DAY").upper()
    if unit not in _FORMATS:
        raise invalid(f"Unknown partitioning type {unit}; expected one of {', '.join(_FORMATS)}.")
    column = resource.get("field")
    if column:
        found = next((f for f in fields if f.name.lower() == column.lower()), None)
        if found is None:
            raise invalid(
                f"The field specified for partitioning cannot be found in the schema: {column}"
            )
        if found.type not in ("DATE", "DATETIME", "TIMESTAMP") or found.repeated:
            raise invalid(
                f"The field specified for time partitioning can only be of type TIMESTAMP, DATE "
                f"or DATETIME. The type found is: {found.type}."
            )
        if found.type == "DATE" and unit == "HOUR":
            raise invalid("Cannot use HOUR partitioning with DATE field type")
    kept = {"type": unit, "field": found.name if column else None}
    kept["expirationMs"] = resource.get("expirationMs")
    kept["requirePartitionFilter"] = resource.get("requirePartitionFilter")
    return {name: value for name, value in kept.items() if value is not None}


def partition_column(record: TableRecord) -> str:
    """The DuckDB column by which the table is partitioned, quoted."""
    assert record.partitioning
    return quoted(record.partitioning.get("field") or PARTITION_TIME)


def partition_id_sql(record: TableRecord) -> str:
    """DuckDB expression for the id of a row's partition."""
    assert record.partitioning
    unit = _FORMATS[record.partitioning["type"]]
    column = partition_column(record)
    return f"coalesce(strftime({column}, '{unit}'), '{NULL_PARTITION}')"


def condition(record: TableRecord, partition: str) -> str:
    """DuckDB condition for the rows of one partition."""
    check_decorator(record, partition)
    column = partition_column(record)
    if partition == NULL_PARTITION:
        return f"{column} IS NULL"
    begin, end = bounds(record, partition)
    return f"({column} >= {literal(begin)} AND {column} < {literal(end)})"


def bounds(record: TableRecord, partition: str) -> tuple[str, str]:
    """Start of the partition and of the next one, as text that DuckDB casts."""
    assert record.partitioning
    unit = record.partitioning["type"]
    begin = datetime.datetime.strptime(partition, _FORMATS[unit])
    if unit == "HOUR":
        end = begin + datetime.timedelta(hours=1)
    elif unit == "DAY":
        end = begin + datetime.timedelta(days=1)
    elif unit == "MONTH":
        end = (begin + datetime.timedelta(days=31)).replace(day=1)
    else:
        end = begin.replace(year=begin.year + 1)
    return _text(record, begin), _text(record, end)


def check_decorator(record: TableRecord, partition: str) -> None:
    """Raise BigQueryError if `partition` cannot name a partition of this table."""
    if record.partitioning is None:
        raise invalid(f"Cannot use a partition decorator on {record.ref}: it is not partitioned.")
    unit = record.partitioning["type"]
    if partition == "__UNPARTITIONED__":
        raise not_emulated("the partition __UNPARTITIONED__: streamed rows have one at once")
    if partition == NULL_PARTITION:
        return
    try:
        parsed = datetime.datetime.strptime(partition, _FORMATS[unit])
    except ValueError:
        parsed = None
    if parsed is None or parsed.strftime(_FORMATS[unit]) != partition:
        raise BigQueryError(
            "invalid",
            f"Invalid time partitioning decorator ${partition} for {record.ref}, which is "
            f"partitioned by {unit}.",
        )


def current(record: TableRecord) -> str:
    """Id of the current partition, for new rows."""
    assert record.partitioning
    now = datetime.datetime.now(datetime.UTC)
    return now.strftime(_FORMATS[record.partitioning["type"]])


def _text(record: TableRecord, moment: datetime.datetime) -> str:
    zone = "+00" if _has_zone(record) else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{zone}"


def _has_zone(record: TableRecord) -> bool:
    assert record.partitioning
    column = record.partitioning.get("field")
    return not column or any(f.name == column and f.type == "TIMESTAMP" for f in record.fields)
