"""Values fitted to the type parameters of the columns that they are written to."""

from __future__ import annotations

from typing import Any

from .duckdb_text import literal, quoted
from .schema import Field


def has_parameters(field: Field) -> bool:
    """Return whether a column, or a field in it, has type parameters."""
    return field.parameters is not None or any(map(has_parameters, field.fields))


def fitted_sql(field: Field, value: str, depth: int = 0) -> str:
    """The DuckDB expression of a value as the column stores it; fails if the value does not fit.

    `value`: an expression of the column's type. It is evaluated once.
    """
    if not has_parameters(field):
        return value
    name = f"v{depth}"
    if field.repeated:
        each = fitted_sql(field.element, name, depth + 1)
        return f"list_transform({value}, lambda {name}: {each})"
    if field.type == "STRUCT":
        parts = (
            f"{quoted(f.name)} := "
            + fitted_sql(f, f"struct_extract({name}, {literal(f.name)})", depth + 1)
            for f in field.fields
        )
        stored = f"CASE WHEN {name} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"
    else:
        assert field.parameters is not None
        problem = field.parameters.problem(name, field.type)
        message = f"{literal(f'Field {field.name}: ')} || {problem}"
        wrong = f"CAST(CAST(bq_error({message}) AS VARCHAR) AS {field.duckdb})"
        fits = f"({problem}) IS NULL"
        stored = f"CASE WHEN {fits} THEN {field.parameters.stored(name)} ELSE {wrong} END"
    return f"list_transform([{value}], lambda {name}: {stored})[1]"


def fitted_value(field: Field, value: Any) -> Any:
    """Return a value as the column stores it; raises BigQueryError if it does not fit.

    `value`: not NULL, and of no ARRAY or STRUCT.
    """
    if field.parameters is None:
        return value
    return field.parameters.fitted(value, field.name, field.type)
