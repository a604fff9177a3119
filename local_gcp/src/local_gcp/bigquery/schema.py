"""Column types in BigQuery, REST, DuckDB and Arrow.

| BigQuery | DuckDB                   | Arrow               |
|----------|--------------------------|---------------------|
| INT64    | BIGINT                   | int64               |
| FLOAT64  | DOUBLE                   | float64             |
| NUMERIC  | DECIMAL(38, 9)           | decimal128(38, 9)   |
| BOOL     | BOOLEAN                  | bool                |
| STRING   | VARCHAR                  | string              |
| BYTES    | BLOB                     | binary              |
| DATE     | DATE                     | date32              |
| TIME     | TIME                     | time64[us]          |
| DATETIME | TIMESTAMP                | timestamp[us]       |
| TIMESTAMP| TIMESTAMP WITH TIME ZONE | timestamp[us, UTC]  |
| JSON     | JSON                     | string              |
| ARRAY    | LIST                     | list                |
| STRUCT   | STRUCT                   | struct              |

An ARRAY is a field of mode REPEATED; it is never NULL (BigQuery stores NULL as an empty one).
Source: https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import duckdb
import pyarrow as pa

from .duckdb_text import quoted as quoted
from .errors import invalid, not_emulated
from .type_parameters import TypeParameters

# REST returns the legacy names; GoogleSQL and requests may use either.
_LEGACY = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN", "STRUCT": "RECORD"}
_ALIASES = {
    **{legacy: name for name, legacy in _LEGACY.items()},
    **dict.fromkeys(["INT", "SMALLINT", "BIGINT", "TINYINT", "BYTEINT"], "INT64"),
    "DECIMAL": "NUMERIC",
    "BIGDECIMAL": "BIGNUMERIC",
}
_NOT_EMULATED = {"GEOGRAPHY", "RANGE", "INTERVAL", "BIGNUMERIC", "PROTO", "ENUM", "FOREIGN"}

_DUCKDB = {
    "INT64": "BIGINT",
    "FLOAT64": "DOUBLE",
    "NUMERIC": "DECIMAL(38,9)",
    "BOOL": "BOOLEAN",
    "STRING": "VARCHAR",
    "BYTES": "BLOB",
    "DATE": "DATE",
    "TIME": "TIME",
    "DATETIME": "TIMESTAMP",
    "TIMESTAMP": "TIMESTAMP WITH TIME ZONE",
    "JSON": "JSON",
}
_ARROW = {
    "INT64": pa.int64(),
    "FLOAT64": pa.float64(),
    "NUMERIC": pa.decimal128(38, 9),
    "BOOL": pa.bool_(),
    "STRING": pa.string(),
    "BYTES": pa.binary(),
    "DATE": pa.date32(),
    "TIME": pa.time64("us"),
    "DATETIME": pa.timestamp("us"),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "JSON": pa.string(),
}

# Characters of column names beside letters, digits, marks, dashes and connectors of any script.
_PUNCTUATION = re.compile(r"[ &%=+:'<>#|]")
_NAME_KINDS = ("L", "N", "M", "Pc", "Pd")


@dataclass(frozen=True)
class Field:
    """One column, or one field of a STRUCT.

    `type`: GoogleSQL's name (INT64, ..., STRUCT); that of the elements if `mode` is REPEATED.
    `fields`: of a STRUCT. `mode`: NULLABLE, REQUIRED or REPEATED.
    `default`: GoogleSQL expression for rows without a value of the column.
    `parameters`: what its values have to fit; of a table's columns alone.
    """

    name: str
    type: str
    mode: str = "NULLABLE"
    fields: tuple[Field, ...] = ()
    description: str | None = None
    default: str | None = None
    parameters: TypeParameters | None = None

    @classmethod
    def from_api(cls, resource: dict) -> Field:
        """Read a REST TableFieldSchema; raises BigQueryError(invalid or notImplemented)."""
        name = resource.get("name") or ""
        if not name:
            raise invalid("Field name is missing in the schema.")
        kind = type_name(resource.get("type", ""), name)
        mode = (resource.get("mode") or "NULLABLE").upper()
        if mode not in ("NULLABLE", "REQUIRED", "REPEATED"):
            raise invalid(f"Field {name} has unknown mode {mode}.")
        fields = tuple(cls.from_api(f) for f in resource.get("fields", ()))
        if (kind == "STRUCT") != bool(fields):
            raise invalid(
                f"Field {name} is type RECORD but has no schema."
                if not fields
                else f"Field {name} is type {kind} but has nested fields."
            )
        return cls(
            name,
            kind,
            mode,
            fields,
            resource.get("description"),
            resource.get("defaultValueExpression"),
            TypeParameters.from_api(resource, kind),
        )

    @property
    def api(self) -> dict:
        """REST TableFieldSchema."""
        resource: dict = {
            "name": self.name,
            "type": _LEGACY.get(self.type, self.type),
            "mode": self.mode,
        }
        if self.fields:
            resource["fields"] = [f.api for f in self.fields]
        if self.description is not None:
            resource["description"] = self.description
        if self.default is not None:
            resource["defaultValueExpression"] = self.default
        return resource | (self.parameters.api if self.parameters else {})

    @property
    def repeated(self) -> bool:
        """True if it is an ARRAY."""
        return self.mode == "REPEATED"

    @property
    def element(self) -> Field:
        """The ARRAY's elements as a field of their own."""
        return replace(self, mode="NULLABLE")

    @property
    def rounding(self) -> str | None:
        """How a NUMERIC is rounded, as REST has it; None is BigQuery's own way."""
        return self.parameters.rounding if self.parameters else None

    @property
    def data_type(self) -> str:
        """The type of its values: `ARRAY<STRUCT<a INT64, b STRING>>`."""
        return self._type_text(parameters=False)

    @property
    def parameterized_type(self) -> str:
        """The type as in INFORMATION_SCHEMA and DDL: `ARRAY<STRUCT<a INT64, b STRING(10)>>`."""
        return self._type_text(parameters=True)

    def _type_text(self, parameters: bool) -> str:
        if self.repeated:
            return f"ARRAY<{self.element._type_text(parameters)}>"
        if self.type == "STRUCT":
            listed = (f"{f.name} {f._type_text(parameters)}" for f in self.fields)
            return f"STRUCT<{', '.join(listed)}>"
        return self.parameters.of(self.type) if parameters and self.parameters else self.type

    @property
    def duckdb(self) -> str:
        """DuckDB's type."""
        if self.repeated:
            return self.element.duckdb + "[]"
        if self.type == "STRUCT":
            return f"STRUCT({', '.join(f'{quoted(f.name)} {f.duckdb}' for f in self.fields)})"
        return _DUCKDB[self.type]

    @property
    def arrow(self) -> pa.DataType:
        """Arrow's type."""
        if self.repeated:
            return pa.list_(pa.field("item", self.element.arrow))
        if self.type == "STRUCT":
            return pa.struct([f.arrow_field for f in self.fields])
        return _ARROW[self.type]

    @property
    def arrow_field(self) -> pa.Field:
        """Arrow's field; an ARRAY or REQUIRED one is not nullable."""
        return pa.field(self.name, self.arrow, nullable=self.mode == "NULLABLE")


def type_name(text: str, field: str = "") -> str:
    """GoogleSQL's name of a type, from any of its names; errors name `field`."""
    name = text.upper()
    name = _ALIASES.get(name, name)
    if name in _NOT_EMULATED:
        raise not_emulated(f"columns of type {name}" + (f" ({field})" if field else ""))
    if name != "STRUCT" and name not in _DUCKDB:
        raise invalid(
            f"Invalid value for type: {text} is not a valid value"
            if text
            else f"Field {field} has no type."
        )
    return name


def fields_from_api(schema: dict) -> list[Field]:
    """Read a REST TableSchema; raises BigQueryError for duplicate names."""
    fields = [Field.from_api(f) for f in schema.get("fields", ())]
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            raise invalid(f"Duplicate field name {field.name} in the schema.")
        seen.add(field.name.lower())
    return fields


def check_names(fields: Iterable[Field]) -> None:
    """Raises BigQueryError for a name with other characters than flexible column names have.

    https://docs.cloud.google.com/bigquery/docs/schemas#flexible-column-names
    """
    for field in fields:
        others = _PUNCTUATION.sub("", field.name)
        kinds = {unicodedata.category(character) for character in others}
        if not 1 <= len(field.name) <= 300 or not all(k.startswith(_NAME_KINDS) for k in kinds):
            raise invalid(
                f'Invalid field name "{field.name}". Fields must contain the allowed characters, '
                "and be at most 300 characters long."
            )


def fields_to_api(fields: Iterable[Field]) -> dict:
    """REST TableSchema."""
    return {"fields": [f.api for f in fields]}


def arrow_schema(fields: Iterable[Field]) -> pa.Schema:
    """Arrow's schema of a table with these columns."""
    return pa.schema([f.arrow_field for f in fields])


# From DuckDB -----------------------------------------------------------------------------------

_INTEGERS = (
    "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger",
    "ubigint", "uhugeint",
)  # fmt: skip
_FROM_DUCKDB = {
    **dict.fromkeys(_INTEGERS, "INT64"),
    "float": "FLOAT64",
    "double": "FLOAT64",
    "decimal": "NUMERIC",
    "boolean": "BOOL",
    "varchar": "STRING",
    "enum": "STRING",
    "uuid": "STRING",
    "blob": "BYTES",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "DATETIME",
    "timestamp_s": "DATETIME",
    "timestamp_ms": "DATETIME",
    "timestamp_ns": "DATETIME",
    "timestamp with time zone": "TIMESTAMP",
    "null": "INT64",  # GoogleSQL's type of a bare NULL
    '"null"': "INT64",
}


def field_from_duckdb(name: str, type_: str | duckdb.sqltypes.DuckDBPyType) -> Field:
    """Convert a DuckDB column: `type_` as in DESCRIBE or in `relation.types`."""
    if isinstance(type_, str):
        type_ = duckdb.sqltype(type_)
    if type_.id in ("list", "array"):
        element = field_from_duckdb(name, type_.children[0][1])
        if element.repeated:
            raise not_emulated(f"arrays of arrays ({name}); BigQuery has none either")
        return replace(element, mode="REPEATED")
    if type_.id == "struct":
        fields = tuple(field_from_duckdb(n, t) for n, t in type_.children)
        return Field(name, "STRUCT", fields=fields)
    if str(type_) == "JSON":
        return Field(name, "JSON")
    if type_.id not in _FROM_DUCKDB:
        raise not_emulated(f"DuckDB's type {type_} ({name})")
    return Field(name, _FROM_DUCKDB[type_.id])


# From Arrow ------------------------------------------------------------------------------------


def field_from_arrow(field: pa.Field) -> Field:
    """Convert an Arrow column (Parquet, Avro, ...); raises BigQueryError for other types.

    Timestamps without a zone are DATETIME, decimals that fit NUMERIC are NUMERIC.
    """
    kind = field.type
    mode = "NULLABLE" if field.nullable else "REQUIRED"
    if pa.types.is_dictionary(kind):
        return field_from_arrow(field.with_type(kind.value_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        element = field_from_arrow(kind.value_field.with_name(field.name))
        if element.repeated:
            raise invalid(f"Field {field.name} is an array of arrays; BigQuery has none.")
        return replace(element, mode="REPEATED")
    if pa.types.is_struct(kind):
        return Field(field.name, "STRUCT", mode, tuple(field_from_arrow(f) for f in kind))
    if pa.types.is_timestamp(kind):
        return Field(field.name, "TIMESTAMP" if kind.tz else "DATETIME", mode)
    for accepts, name in _FROM_ARROW:
        if accepts(kind):
            return Field(field.name, name, mode)
    raise invalid(f"Field {field.name} has type {kind}, for which BigQuery has no type.")


_FROM_ARROW: list[tuple[Callable[[pa.DataType], bool], str]] = [
    (pa.types.is_integer, "INT64"),
    (pa.types.is_floating, "FLOAT64"),
    (pa.types.is_decimal, "NUMERIC"),
    (pa.types.is_boolean, "BOOL"),
    (lambda t: pa.types.is_string(t) or pa.types.is_large_string(t), "STRING"),
    (lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t), "BYTES"),
    (pa.types.is_fixed_size_binary, "BYTES"),
    (pa.types.is_date, "DATE"),
    (pa.types.is_time, "TIME"),
    (pa.types.is_null, "STRING"),
]
