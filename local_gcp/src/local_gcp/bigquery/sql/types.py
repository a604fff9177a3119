"""GoogleSQL's types, its coercions, and values as DuckDB literals.

Rules: https://cloud.google.com/bigquery/docs/reference/standard-sql/conversion_rules
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from local_gcp.bigquery.schema import Field, quoted


@dataclass(frozen=True)
class Type:
    """`name`: INT64, ..., ARRAY (with `element`), STRUCT (with `fields`)."""

    name: str
    element: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()

    def __str__(self) -> str:
        if self.element:
            return f"ARRAY<{self.element}>"
        if self.name == "STRUCT":
            return f"STRUCT<{', '.join(f'{n} {t}'.lstrip() for n, t in self.fields)}>"
        return self.name

    @property
    def duckdb(self) -> str:
        """DuckDB's type."""
        return self.field("").duckdb

    def field(self, name: str) -> Field:
        """A column of this type; for an ARRAY, a REPEATED column."""
        if self.element:
            element = self.element.field(name)
            return Field(name, element.type, "REPEATED", element.fields)
        fields = tuple(t.field(struct_name(n, i)) for i, (n, t) in enumerate(self.fields))
        return Field(name, self.name, fields=fields)

    @classmethod
    def of(cls, field: Field) -> Type:
        """The type of a column."""
        if field.repeated:
            return array_of(cls.of(field.element))
        return cls(field.type, fields=tuple((f.name, cls.of(f)) for f in field.fields))


INT64 = Type("INT64")
FLOAT64 = Type("FLOAT64")
NUMERIC = Type("NUMERIC")
BOOL = Type("BOOL")
STRING = Type("STRING")
BYTES = Type("BYTES")
DATE = Type("DATE")
TIME = Type("TIME")
DATETIME = Type("DATETIME")
TIMESTAMP = Type("TIMESTAMP")
JSON = Type("JSON")
NUMBERS = (INT64, NUMERIC, FLOAT64)  # in the order of their coercion


def array_of(element: Type) -> Type:
    """ARRAY<element>."""
    return Type("ARRAY", element)


@dataclass(frozen=True)
class Value:
    """A translated expression.

    `literal`: a literal or query parameter, which coerces more freely. `null`: a bare NULL.
    `items`: of an ARRAY or STRUCT literal, which coerce one by one, or of a whole row.
    `text`: the Python value of a literal, for functions that need it (a format, a date part).
    """

    sql: str
    type: Type
    literal: bool = False
    null: bool = False
    items: tuple[Value, ...] | None = None
    text: Any = None


_COERCIONS = {
    ("INT64", "NUMERIC"),
    ("INT64", "FLOAT64"),
    ("NUMERIC", "FLOAT64"),
    ("DATE", "DATETIME"),
}
_LITERAL_COERCIONS = {
    ("STRING", "DATE"),
    ("STRING", "TIME"),
    ("STRING", "DATETIME"),
    ("STRING", "TIMESTAMP"),
    ("FLOAT64", "NUMERIC"),
}


def coerce(value: Value, to: Type) -> str | None:
    """The value's SQL as type `to`; None if GoogleSQL has no implicit conversion."""
    if value.null:
        return f"CAST(NULL AS {to.duckdb})"
    if value.type == to:
        return value.sql
    if to.element:
        return _coerce_array(value, to)
    if to.name == "STRUCT":
        return _coerce_struct(value, to)
    pair = (value.type.name, to.name)
    if pair in _COERCIONS or (value.literal and pair in _LITERAL_COERCIONS):
        return f"CAST({value.sql} AS {to.duckdb})"
    return None


def _coerce_array(value: Value, to: Type) -> str | None:
    if value.items is not None and value.type.element:
        items = [coerce(item, to.element) for item in value.items]
        if None in items:
            return None
        return f"CAST([{', '.join(items)}] AS {to.duckdb})"
    same_shape = value.type.element and to.element.name == "STRUCT"
    if same_shape and _same_shape(value.type.element, to.element):
        element = _renamed("e", value.type.element, to.element)
        return f"list_transform({value.sql}, lambda e: {element})"
    return None


def _coerce_struct(value: Value, to: Type) -> str | None:
    if value.type.name != "STRUCT" or len(value.type.fields) != len(to.fields):
        return None
    if value.items is not None:
        items = [coerce(item, t) for item, (_, t) in zip(value.items, to.fields, strict=True)]
        if None in items:
            return None
        return pack(list(zip([n for n, _ in to.fields], items, strict=True)))
    if _same_shape(value.type, to):
        return _renamed(value.sql, value.type, to)
    return None


def _same_shape(a: Type, b: Type) -> bool:
    """Return whether two types differ only in field names, which coercion ignores."""
    if a.element and b.element:
        return _same_shape(a.element, b.element)
    if a.name != b.name or len(a.fields) != len(b.fields):
        return False
    return all(_same_shape(s, t) for (_, s), (_, t) in zip(a.fields, b.fields, strict=True))


def _renamed(sql: str, a: Type, b: Type) -> str:
    """SQL that renames the fields of a STRUCT, by position."""
    if a == b:
        return sql
    if a.element:
        return f"list_transform({sql}, lambda e: {_renamed('e', a.element, b.element)})"
    fields = [
        (target, _renamed(f"({sql})[{literal(struct_name(source, i))}]", s, t))
        for i, ((source, s), (target, t)) in enumerate(zip(a.fields, b.fields, strict=True))
    ]
    return f"CASE WHEN {sql} IS NULL THEN NULL ELSE {pack(fields)} END"


def struct_name(name: str, index: int) -> str:
    """A field's name in DuckDB; BigQuery names unnamed fields `_field_1`, ... in results."""
    return name or f"_field_{index + 1}"


def pack(fields: Sequence[tuple[str, str]]) -> str:
    """A DuckDB struct from (name, SQL) pairs."""
    named = (f"{quoted(struct_name(name, i))} := {sql}" for i, (name, sql) in enumerate(fields))
    return f"struct_pack({', '.join(named)})"


def supertype(values: Sequence[Value]) -> Type | None:
    """The type that all values coerce to; INT64 for bare NULLs; None if there is none."""
    typed = [v for v in values if not v.null]
    if not typed:
        return INT64
    fixed = [v for v in typed if not v.literal] or typed
    names = {v.type.name for v in typed}
    candidates = [v.type for v in fixed]
    if names <= {t.name for t in NUMBERS}:
        candidates = [t for t in NUMBERS if t in candidates] + [NUMERIC, FLOAT64]
        if FLOAT64 in [v.type for v in typed]:
            candidates = [FLOAT64]
    elif names == {"DATE", "DATETIME"}:
        candidates = [Type("DATETIME")]
    for candidate in [*candidates, *(v.type for v in typed)]:
        if all(coerce(v, candidate) is not None for v in typed):
            return candidate
    return None


def literal(value: Any) -> str:
    """A DuckDB string literal."""
    text = str(value).replace("'", "''")
    if "\0" in text:
        # DuckDB's quoted text cannot contain NUL, and a chain of `||` would nest deeply.
        return "concat(" + ", chr(0), ".join(f"'{part}'" for part in text.split("\0")) + ")"
    return f"'{text}'"


def constant(value: Any, kind: Type) -> Value:
    """A Python value (as Arrow gives it) as a literal of a type."""
    if value is None:
        return Value(f"CAST(NULL AS {kind.duckdb})", kind, literal=True)
    if kind.element:
        items = tuple(constant(item, kind.element) for item in value)
        sql = f"CAST([{', '.join(item.sql for item in items)}] AS {kind.duckdb})"
        return Value(sql, kind, literal=True, items=items, text=value)
    if kind.name == "STRUCT":
        items = tuple(
            constant(value[struct_name(name, i)], t) for i, (name, t) in enumerate(kind.fields)
        )
        pairs = [(name, item.sql) for (name, _), item in zip(kind.fields, items, strict=True)]
        return Value(pack(pairs), kind, literal=True, items=items)
    finite = kind != FLOAT64 or math.isfinite(value)  # NaN must not count as a number
    return Value(_scalar(value, kind), kind, literal=True, text=value if finite else None)


def _scalar(value: Any, kind: Type) -> str:
    if kind == STRING:
        return literal(value)
    if kind == BYTES:
        return "from_hex('" + bytes(value).hex() + "')"
    if kind == FLOAT64:
        text = repr(float(value)) if math.isfinite(value) else str(float(value))
        return f"CAST('{text}' AS DOUBLE)"
    if kind == BOOL:
        return "true" if value else "false"
    if isinstance(value, datetime | date | time):
        value = value.isoformat()
    elif isinstance(value, Decimal):
        value = f"{value:f}"
    return f"CAST({literal(value)} AS {kind.duckdb})"
