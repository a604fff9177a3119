"""Column definitions of CREATE TABLE and ALTER TABLE.

https://cloud.google.com/bigquery/docs/reference/standard-sql/data-definition-language#column_name_and_column_schema
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from local_gcp.bigquery.schema import Field
from local_gcp.bigquery.type_parameters import TypeParameters

from . import casts, options
from .context import Context


def column(ctx: Context, node: exp.Expression) -> Field:
    """A column as a statement defines it."""
    if not isinstance(node, exp.ColumnDef) or node.kind is None:
        raise ctx.not_emulated(f"{node.sql('bigquery')} in CREATE TABLE", node)
    bare = node.kind.copy()
    numbers = _taken(ctx, bare)
    field = casts.data_type(ctx, bare).field(node.name)
    return _with_options(ctx, _with_parameters(ctx, field, numbers, node), node)


Numbers = dict[tuple[int, ...], list[int]]
"""Parameters by the place of their type: () is the column's, (1,) that of a STRUCT's second field.
The elements of an ARRAY have its place."""


def _taken(ctx: Context, node: exp.DataType, place: tuple[int, ...] = ()) -> Numbers:
    """The parameters of a type and of those in it, which are taken out of the tree."""
    if node.this in (exp.DataType.Type.ARRAY, exp.DataType.Type.STRUCT):
        found: Numbers = {}
        struct = node.this == exp.DataType.Type.STRUCT
        for i, part in enumerate(node.expressions):
            kind = part.kind if isinstance(part, exp.ColumnDef) else part
            if isinstance(kind, exp.DataType):
                found |= _taken(ctx, kind, (*place, i) if struct else place)
        return found
    given = [part for part in node.expressions if isinstance(part, exp.DataTypeParam)]
    if not given or len(given) != len(node.expressions):
        return {}
    if not all(isinstance(part.this, exp.Literal) and part.this.is_int for part in given):
        raise ctx.error("Type parameters must be integer literals", node)
    node.set("expressions", [])
    return {place: [int(part.name) for part in given]}


def _with_parameters(
    ctx: Context, field: Field, numbers: Numbers, node: exp.Expression, place: tuple[int, ...] = ()
) -> Field:
    fields = tuple(
        _with_parameters(ctx, part, numbers, node, (*place, i))
        for i, part in enumerate(field.fields)
    )
    field = replace(field, fields=fields)
    given = numbers.get(place)
    if given is None:
        return field
    if field.type in ("STRING", "BYTES") and len(given) == 1:
        parameters = TypeParameters(given[0])
    elif field.type == "NUMERIC" and len(given) <= 2:
        parameters = TypeParameters(None, given[0], (given[1] or None) if len(given) == 2 else None)
    else:
        raise ctx.error(f"{field.type} does not support type parameters", node)
    return replace(field, parameters=parameters.checked(field.name, field.type))


def _with_options(ctx: Context, field: Field, node: exp.ColumnDef) -> Field:
    for constraint in node.args.get("constraints") or []:
        kind = constraint.args.get("kind")
        if isinstance(kind, exp.NotNullColumnConstraint):
            if field.repeated:
                raise ctx.error("NOT NULL constraint cannot be applied to ARRAY", node)
            field = replace(field, mode="REQUIRED")
        elif isinstance(kind, exp.Properties):
            given = options.of_properties(ctx, kind.expressions)
            description, rounding = given.pop("description", None), given.pop("rounding_mode", None)
            if given:
                raise ctx.not_emulated(f"column option {next(iter(given))}", node)
            field = replace(field, description=description)
            if rounding is not None:
                parameters = replace(field.parameters or TypeParameters(), rounding=rounding)
                field = replace(field, parameters=parameters.checked(field.name, field.type))
        elif isinstance(kind, exp.DefaultColumnConstraint):
            field = replace(field, default=kind.this.sql("bigquery"))
        else:
            raise ctx.not_emulated(f"column constraint {constraint.sql('bigquery')}", node)
    return field
