"""REST's form of values."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa

from .schema import Field


def rest_rows(
    fields: Iterable[Field], rows: pa.RecordBatch | pa.Table, timestamps: str = "FLOAT64"
) -> list[dict]:
    """REST `rows`: [{"f": [{"v": ...}, ...]}, ...].

    `timestamps`: FLOAT64 (seconds, REST's default), INT64 (microseconds; formatOptions
    useInt64Timestamp) or ISO8601_STRING (formatOptions.timestampOutputFormat).
    """
    columns = []
    for field, column in zip(fields, rows.columns, strict=True):
        cell = cell_writer(field, timestamps)
        columns.append([{"v": cell(value)} for value in column.to_pylist()])
    if not columns:
        return [{"f": []} for _ in range(rows.num_rows)]
    return [{"f": list(cells)} for cells in zip(*columns, strict=True)]


def cell_writer(field: Field, timestamps: str = "FLOAT64") -> Callable[[object], object]:
    """The function from a Python value (as Arrow and DuckDB give it) to the `v` of REST."""
    if field.repeated:
        element = cell_writer(field.element, timestamps)
        return lambda values: [{"v": element(v)} for v in values or ()]
    if field.type == "STRUCT":
        writers = [(f.name, cell_writer(f, timestamps)) for f in field.fields]

        def struct(value):
            if value is None:
                return None
            return {"f": [{"v": write(value[name])} for name, write in writers]}

        return struct
    write = _TIMESTAMPS[timestamps] if field.type == "TIMESTAMP" else _WRITERS[field.type]
    return lambda value: None if value is None else write(value)


def float_text(value: float) -> str:
    """A FLOAT64 as REST writes it: shortest digits that round-trip, Java's exponents."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    digits = Decimal(repr(float(value))).normalize()
    sign, numbers, _ = digits.as_tuple()
    text = "".join(map(str, numbers))
    return f"{'-' * sign}{text[0]}.{text[1:] or '0'}E{digits.adjusted()}"


def decimal_text(value: Decimal) -> str:
    """A NUMERIC as REST writes it: no exponent, no trailing zeros."""
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(value: datetime) -> int:
    """A TIMESTAMP as microseconds since 1970 UTC."""
    since = value - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _iso(value: datetime) -> str:
    return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


_TIMESTAMPS: dict[str, Callable] = {
    "FLOAT64": lambda value: float_text(microseconds(value) / 1e6),
    "INT64": lambda value: str(microseconds(value)),
    "ISO8601_STRING": _iso,
}
_WRITERS: dict[str, Callable] = {
    "INT64": lambda value: str(int(value)),
    "FLOAT64": float_text,
    "NUMERIC": lambda value: decimal_text(Decimal(value)),
    "BOOL": lambda value: "true" if value else "false",
    "STRING": str,
    "BYTES": lambda value: base64.b64encode(value).decode("ascii"),
    "DATE": lambda value: value.isoformat(),
    "TIME": lambda value: value.isoformat(),
    "DATETIME": lambda value: value.isoformat(),
    "JSON": str,
}
