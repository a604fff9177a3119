"""Queries: WITH, set operations, their ORDER BY and LIMIT, and subqueries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from local_gcp.bigquery.schema import Field

from . import grouping, ordering, selects
from .context import Context, Job, Output
from .dispatch import handles_queries, modified, query
from .scopes import Column, Relation, Scope
from .translated import Translated
from .types import Value, coerce, supertype


@handles_queries
def _query(ctx: Context, node: exp.Expression, names: bool, keep_order: bool) -> Output:
    ctx = ctx.inside(grouped=None, no_aggregates="", no_windows="", windows={})
    prefix = ""
    with_ = node.args.get("with_")
    if with_ is not None:
        ctx, prefix = _with(ctx, with_)
    if isinstance(node, exp.Subquery):
        output = _parenthesised(ctx, node, names)
    elif isinstance(node, exp.SetOperation):
        output = _set_operation(ctx, node, names)
    elif isinstance(node, exp.Select):
        output = selects.select(ctx, node, names, keep_order)
    else:
        raise ctx.not_emulated(f"{type(node).__name__} as a query", node)
    return replace(output, sql=prefix + output.sql)


def _with(ctx: Context, node: exp.With) -> tuple[Context, str]:
    """The context with the queries of a WITH clause, and the clause's SQL."""
    known = dict(ctx.ctes)
    parts = []
    for cte in node.expressions:
        name = cte.alias
        inner = ctx.inside(ctes=known)
        if node.recursive and _refers(cte.this, name):
            alias, output = _recursive(inner, cte)
        else:
            alias, output = ctx.job.alias(), query(inner, cte.this)
        columns = ", ".join(f"c{i + 1}" for i in range(len(output.types)))
        parts.append(f"{alias}({columns}) AS ({output.sql})")
        known = {**known, name.lower(): (alias, output)}
    word = "WITH RECURSIVE" if node.recursive else "WITH"
    return ctx.inside(ctes=known), f"{word} {', '.join(parts)} "


def _refers(node: exp.Expression, name: str) -> bool:
    return any(
        t.name.lower() == name.lower() and not t.args.get("db") for t in node.find_all(exp.Table)
    )


def _recursive(ctx: Context, cte: exp.CTE) -> tuple[str, Output]:
    union = cte.this
    if not isinstance(union, exp.Union) or union.args.get("distinct"):
        raise ctx.error(
            f"Recursive query {cte.alias} must be a UNION ALL of a base and a recursive term", cte
        )
    alias = ctx.job.alias()
    base = query(ctx, union.this)
    inside = ctx.inside(ctes={**ctx.ctes, cte.alias.lower(): (alias, base)})
    step = query(inside, union.expression)
    if len(step.types) != len(base.types):
        raise ctx.error("Queries in UNION ALL have mismatched column count", cte)
    columns = []
    for i, (have, want) in enumerate(zip(step.types, base.types, strict=True)):
        sql = coerce(Value(f"q.c{i + 1}", have), want)
        if sql is None:
            raise ctx.error(f"Recursive query {cte.alias}: column {i + 1} changes its type", cte)
        columns.append(f"{sql} AS c{i + 1}")
    recursive = f"SELECT {', '.join(columns)} FROM ({step.sql}) AS q"
    return alias, replace(base, sql=f"{base.sql} UNION ALL {recursive}")


def _parenthesised(ctx: Context, node: exp.Subquery, names: bool) -> Output:
    if not modified(node):
        return query(ctx, node.this, names)
    return _wrapped(ctx, node, query(ctx, node.this), names)


_WORDS = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


def _set_operation(ctx: Context, node: exp.SetOperation, names: bool) -> Output:
    operands = _operands(node)
    outputs = [query(ctx, operand) for operand in operands]
    distinct = bool(node.args.get("distinct"))
    if node.args.get("by_name") or node.args.get("side") or node.args.get("kind"):
        raise ctx.not_emulated("set operations BY NAME", node)
    word = _WORDS[type(node)] + (" DISTINCT" if distinct else " ALL")
    if not distinct and not isinstance(node, exp.Union):
        raise ctx.error(f"{word} is not supported", node)
    counts = [len(o.types) for o in outputs]
    if len(set(counts)) > 1:
        raise ctx.error(
            f"Queries in {word} have mismatched column count; query 1 has {counts[0]} columns, "
            f"query {next(i for i, c in enumerate(counts) if c != counts[0]) + 1} has "
            f"{next(c for c in counts if c != counts[0])} columns",
            node,
        )
    types = []
    for index in range(counts[0]):
        kind = supertype(
            [branch_value(o, index, n) for o, n in zip(outputs, operands, strict=True)]
        )
        if kind is None:
            listed = ", ".join(str(o.types[index]) for o in outputs)
            raise ctx.error(f"Column {index + 1} in {word} has incompatible types: {listed}", node)
        types.append(kind)
    branches = [_as_types(o, n, types) for o, n in zip(outputs, operands, strict=True)]
    joined = f" {word.replace(' DISTINCT', '')} ".join(branches)
    output = Output(joined, outputs[0].names, tuple(types))
    if not names and not modified(node):
        return output
    return _wrapped(ctx, node, output, names)


def _operands(node: exp.SetOperation) -> list[exp.Expression]:
    """The queries of a chain of the same operation, left to right."""
    operands: list[exp.Expression] = []
    current: exp.Expression = node
    while isinstance(current, type(node)) and (
        current is node
        or (
            bool(current.args.get("distinct")) == bool(node.args.get("distinct"))
            and not modified(current)
        )
    ):
        operands.append(current.expression)
        current = current.this
    return [current, *reversed(operands)]


def branch_value(output: Output, index: int, node: exp.Expression) -> Value:
    """A column of a branch; a literal keeps the coercions of literals."""
    select = node.unnest() if isinstance(node, exp.Subquery) else node
    items = select.expressions if isinstance(select, exp.Select) else []
    literal = null = False
    if len(items) == len(output.types):
        bare = items[index].unalias()
        literal, null = isinstance(bare, exp.Literal), isinstance(bare, exp.Null)
    return Value(f"q.c{index + 1}", output.types[index], literal=literal, null=null)


def _as_types(output: Output, node: exp.Expression, types: Sequence) -> str:
    values = [branch_value(output, i, node) for i in range(len(types))]
    columns = ", ".join(
        f"{coerce(v, t)} AS c{i + 1}" for i, (v, t) in enumerate(zip(values, types, strict=True))
    )
    return f"SELECT {columns} FROM ({output.sql}) AS q"


def _wrapped(ctx: Context, node: exp.Expression, output: Output, names: bool) -> Output:
    """ORDER BY, LIMIT and OFFSET around a query, and the names of its columns."""
    alias = ctx.job.alias()
    columns = tuple(
        Column(n or "", t, f"{alias}.c{i + 1}")
        for i, (n, t) in enumerate(zip(output.names, output.types, strict=True))
    )
    scope = Scope([Relation(None, columns)], parent=ctx.scope)
    inner = ctx.inside(scope=scope, no_aggregates="ORDER BY after a set operation")
    listed = selects.listed(ctx, columns, output, names)
    tail = ""
    order = node.args.get("order")
    if order is not None:
        keys = []
        for item in order.expressions:
            place = grouping.ordinal(inner, item.this, len(columns), "ORDER BY")
            value = columns[place].value if place is not None else ordering.ordered(inner, item)
            keys.append(ordering.key(value, item))
        tail = f" ORDER BY {', '.join(keys)}"
    tail += ordering.limit(inner, node)
    return replace(output, sql=f"SELECT {listed} FROM ({output.sql}) AS {alias}{tail}")


def fields_of(output: Output) -> tuple[Field, ...]:
    """The columns of a query, with their names in the result."""
    shown = selects.shown_names(output.names)
    return tuple(t.field(n) for n, t in zip(shown, output.types, strict=True))


def finish(job: Job, kind: str, output: Output, **more: Any) -> Translated:
    """A statement around a query."""
    translated = Translated(
        kind=kind,
        sql=output.sql,
        fields=fields_of(output),
        reads=job.read_list,
        ml_calls=tuple(job.ml_calls),
    )
    return replace(translated, **more)
