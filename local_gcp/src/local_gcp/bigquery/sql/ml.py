"""ML.* functions in FROM, which are evaluated before the statement runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from local_gcp.bigquery.refs import ModelRef
from local_gcp.bigquery.schema import quoted

from .context import Context, Output
from .dispatch import query
from .names import table_text
from .options import plain
from .parsing import ModelArgument, TableArgument
from .scopes import Column, Relation, Scope
from .translated import MlCall
from .types import Type


def model_ref(ctx: Context, node: exp.Table) -> ModelRef:
    """The model that a name in the query refers to."""
    dataset = ctx.job.settings.dataset
    text = table_text(node)
    if "." not in text and dataset is not None:
        return ModelRef(dataset.project, dataset.dataset, text)
    return ModelRef.parse(text, ctx.job.settings.project)


def call(ctx: Context, node: exp.Table, alias: str | None) -> tuple[str, Relation]:
    """`ML.X(MODEL m [, TABLE t | (query)] [, STRUCT(...)])` as an item of FROM."""
    function = f"ML.{node.this.name.upper()}"
    arguments = list(node.this.expressions)
    if not arguments or not isinstance(arguments[0], ModelArgument):
        raise ctx.error(f"{function} takes a MODEL as its first argument", node)
    model = model_ref(ctx, arguments.pop(0).this)
    rows, options = None, {}
    if arguments and isinstance(arguments[0], TableArgument | exp.Subquery | exp.Query):
        rows = _rows(ctx, arguments.pop(0))
    if arguments and (isinstance(arguments[0], exp.Array) or _is_generated(arguments[0])):
        options["thresholds"] = _thresholds(ctx, arguments.pop(0))  # of ML.ROC_CURVE
    if arguments:
        options |= _options(ctx, function, arguments.pop(0))
    if arguments:
        raise ctx.error(f"Too many arguments in {function}", node)
    ctx.job.catalog.check_model(model)
    call_ = MlCall(
        function=function,
        model=model,
        input_sql=None if rows is None else _named(rows),
        input_fields=None
        if rows is None
        else tuple(t.field(n or "") for n, t in zip(rows.names, rows.types, strict=True)),
        options=options,
        alias=f"bq_ml_{ctx.job.alias()}",
    )
    fields = ctx.job.catalog.ml_fields(call_)
    ctx.job.ml_calls.append(call_)
    name = ctx.job.alias()
    columns = tuple(Column(f.name, Type.of(f), f"{name}.{quoted(f.name)}") for f in fields)
    return f"{quoted(call_.alias)} AS {name}", Relation(alias, columns)


def _rows(ctx: Context, node: exp.Expression) -> Output:
    outer = replace(ctx, scope=ctx.scope.parent or Scope())
    if isinstance(node, TableArgument):
        node = exp.select("*").from_(node.this)
    elif isinstance(node, exp.Subquery):
        node = node.this
    return query(outer, node)


def _named(rows: Output) -> str:
    """The input, with the column names that the model expects."""
    named = ", ".join(f"c{i + 1} AS {quoted(n or f'f{i}_')}" for i, n in enumerate(rows.names))
    return f"SELECT {named} FROM ({rows.sql}) AS q"


def _is_generated(node: exp.Expression) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "GENERATE_ARRAY"


def _thresholds(ctx: Context, node: exp.Expression) -> list[float]:
    """An array of numbers, or GENERATE_ARRAY(start, end[, step])."""
    if isinstance(node, exp.Array):
        return [float(value) for value in plain(ctx, node)]
    if len(node.expressions) not in (2, 3):
        raise ctx.error("GENERATE_ARRAY takes two or three numbers", node)
    start, end, step = ([float(plain(ctx, n)) for n in node.expressions] + [1.0])[:3]
    if step == 0:
        raise ctx.error("Sequence step cannot be 0.", node)
    count = int((end - start) / step + 1e-9) + 1
    return [start + i * step for i in range(max(0, count))]


def _options(ctx: Context, function: str, node: exp.Expression) -> dict[str, Any]:
    if not isinstance(node, exp.Anonymous) or node.name.upper() != "STRUCT":
        raise ctx.error(f"{function}'s settings must be a STRUCT of literals", node)
    found = {}
    for argument in node.expressions:
        if not isinstance(argument, exp.Alias):
            raise ctx.error(f"Each of {function}'s settings needs a name", argument)
        found[argument.alias.lower()] = plain(ctx, argument.this)
    return found
