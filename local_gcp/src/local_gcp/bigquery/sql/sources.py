"""FROM: tables, views, wildcard tables, subqueries, UNNEST, ML functions, joins."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.refs import TableRef
from local_gcp.bigquery.schema import quoted

from . import information_schema, ml
from .catalog import Table
from .context import Context, Output
from .dispatch import query, translate, translate_as
from .names import table_text
from .parsing import parse
from .scopes import Column, Relation, Scope
from .types import BOOL, DATE, INT64, TIMESTAMP, Type, coerce, literal, struct_name, supertype


@dataclass
class From:
    """A FROM clause: its SQL for DuckDB and the scope with its relations."""

    sql: str
    scope: Scope


def translate_from(ctx: Context, node: exp.Select) -> From:
    """FROM with its joins; `ctx.scope` is the outer scope, which may be empty."""
    scope = Scope(parent=ctx.scope)
    source = node.args.get("from_")
    if source is None:
        return From("", scope)
    inner = ctx.inside(scope=scope, grouped=None, no_aggregates="FROM clause", windows={})
    sql = _add(inner, source.this)
    for join in [*(source.this.args.get("joins") or []), *(node.args.get("joins") or [])]:
        sql = _join(inner, sql, join)
    if node.args.get("laterals"):
        raise ctx.not_emulated("LATERAL", node)
    return From(f" FROM {sql}", scope)


def _add(ctx: Context, node: exp.Expression) -> str:
    """Add an item to the scope; returns its SQL."""
    sql, relation = item(ctx, node)
    name = relation.name
    if name and ctx.scope.relation(name) is not None:
        raise ctx.error(f"Duplicate table alias {name} in the same FROM clause", node)
    ctx.scope.relations.append(relation)
    return sql


def _join(ctx: Context, left_sql: str, join: exp.Join) -> str:
    side, kind = (join.side or "").upper(), (join.kind or "").upper()
    if join.args.get("method") or kind not in ("", "INNER", "OUTER", "CROSS"):
        raise ctx.not_emulated(f"{join.args.get('method') or kind} JOIN", join)
    before = list(ctx.scope.relations)
    target, nested = join.this, list(join.this.args.get("joins") or [])
    right_sql = _add(ctx, target)
    for inner in nested:
        raise ctx.not_emulated("joins in parentheses", inner)
    lateral = "LATERAL " if isinstance(target, exp.Unnest) else ""
    using, on = join.args.get("using"), join.args.get("on")
    if using:
        condition = _using(ctx, before, ctx.scope.relations[-1], using, side)
    elif on is not None:
        condition = translate_as(ctx, on, BOOL, "JOIN ON clause")
    elif side and not lateral:
        raise ctx.error(f"{side} JOIN must have an immediately following ON or USING clause", join)
    else:
        condition = "true" if side else None
    if condition is None:
        if kind == "INNER":
            raise ctx.error(
                "INNER JOIN must have an immediately following ON or USING clause", join
            )
        return f"{left_sql} CROSS JOIN {lateral}{right_sql}"
    return f"{left_sql} {side} JOIN {lateral}{right_sql} ON {condition}".replace("  ", " ")


def _using(
    ctx: Context,
    before: list[Relation],
    right: Relation,
    names: list[exp.Expression],
    side: str,
) -> str:
    """The condition of USING, which merges its columns in the scope."""
    conditions = []
    left_scope = Scope(before, merged=list(ctx.scope.merged))
    for identifier in names:
        name = identifier.name
        lefts = left_scope.columns(name)
        rights = [c for c in right.columns if c.name.lower() == name.lower()]
        if len(lefts) != 1 or len(rights) != 1:
            which = "left" if len(lefts) != 1 else "right"
            problem = "is ambiguous" if len(lefts) > 1 or len(rights) > 1 else "not found"
            raise ctx.error(
                f"Column {name} in USING clause {problem} on {which} side of join", identifier
            )
        left, other = lefts[0], rights[0]
        for column in (left, other):
            if column.table:
                ctx.job.read(column.table, column.name)
        kind = supertype([left.value, other.value])
        if kind is None:
            raise ctx.error(
                f"Column {name} in USING has incompatible types on either side of the join",
                identifier,
            )
        a, b = coerce(left.value, kind), coerce(other.value, kind)
        conditions.append(f"{a} = {b}")
        merged = {"RIGHT": b, "FULL": f"coalesce({a}, {b})"}.get(side, a)
        ctx.scope.merged = [c for c in ctx.scope.merged if c.name.lower() != name.lower()]
        ctx.scope.merged.append(Column(left.name, kind, merged))
    return " AND ".join(conditions)


def item(ctx: Context, node: exp.Expression) -> tuple[str, Relation]:
    """An item of FROM: its SQL with a generated alias, and its columns."""
    for pivot in node.args.get("pivots") or ():
        raise ctx.not_emulated("UNPIVOT" if pivot.args.get("unpivot") else "PIVOT", pivot)
    if isinstance(node, exp.Unnest):
        return _unnest(ctx, node)
    if isinstance(node, exp.Subquery):
        return _subquery(ctx, node)
    if isinstance(node, exp.Table):
        return _table(ctx, node)
    raise ctx.not_emulated(f"{type(node).__name__} in FROM", node)


def _alias(node: exp.Expression) -> str | None:
    alias = node.args.get("alias")
    if isinstance(alias, exp.TableAlias):
        if alias.this is not None:
            return alias.this.name
        if alias.columns:
            return alias.columns[0].name
    return None


def of_output(ctx: Context, output: Output, name: str | None) -> tuple[str, Relation]:
    """A translated query as an item of FROM."""
    alias = ctx.job.alias()
    columns = tuple(
        Column(column or "", kind, f"{alias}.c{i + 1}")
        for i, (column, kind) in enumerate(zip(output.names, output.types, strict=True))
    )
    return f"({output.sql}) AS {alias}", _value_relation(output, columns, name)


def _value_relation(output: Output, columns: tuple[Column, ...], name: str | None) -> Relation:
    if not output.value_table:
        return Relation(name, columns)
    return _of_values(name, columns[0])


def _of_values(name: str | None, value: Column) -> Relation:
    """Rows that are values: the fields of a STRUCT are columns, others are one column."""
    if value.type.name != "STRUCT":
        return Relation(name, (replace(value, name=name or ""),), value=value)
    fields = tuple(
        Column(field, kind, f"struct_extract({value.sql}, {literal(struct_name(field, i))})")
        for i, (field, kind) in enumerate(value.type.fields)
    )
    return Relation(name, fields, value=value)


def _subquery(ctx: Context, node: exp.Subquery) -> tuple[str, Relation]:
    if node.args.get("sample"):
        raise ctx.not_emulated("TABLESAMPLE of a subquery", node)
    if not isinstance(node.this, exp.Query):
        raise ctx.not_emulated("joins in parentheses", node)
    # A subquery in FROM can use the outer scope, but not other items of FROM.
    outer = ctx.inside(scope=ctx.scope.parent or Scope())
    return of_output(ctx, query(outer, node.this), _alias(node))


def _unnest(ctx: Context, node: exp.Unnest) -> tuple[str, Relation]:
    alias = ctx.job.alias()
    array, relation = elements(ctx, node, f"{alias}.v", f"{alias}.o")
    return f"unnest({array}) WITH ORDINALITY AS {alias}(v, o)", relation


def elements(ctx: Context, node: exp.Unnest, value: str, place: str) -> tuple[str, Relation]:
    """An UNNEST's array, and its elements as rows. value, place: the SQL of an element and of its
    place, from 1 on.
    """
    if len(node.expressions) != 1:
        raise ctx.not_emulated("UNNEST of several arrays", node)
    array = translate(ctx, node.expressions[0])
    if array.type.element is None:
        raise ctx.error(
            f"Values referenced in UNNEST must be arrays. UNNEST contains expression of type "
            f"{array.type}",
            node.expressions[0],
        )
    name = _alias(node)
    relation = _of_values(name, Column(name or "", array.type.element, value))
    offset = node.args.get("offset")
    if offset:
        label = offset.name if isinstance(offset, exp.Expression) else "offset"
        column = Column(label, INT64, f"({place} - 1)")
        relation = replace(relation, columns=(*relation.columns, column))
    return array.sql, relation


def ref_of(ctx: Context, node: exp.Table) -> TableRef:
    """The table that a name in the query refers to."""
    settings = ctx.job.settings
    dataset = settings.dataset
    text = table_text(node)
    if "." not in text and ":" not in text:
        if dataset is None:
            raise ctx.error(
                f'Table "{text}" must be qualified with a dataset (e.g. dataset.table)', node
            )
        return TableRef(dataset.project, dataset.dataset, text)
    try:
        return TableRef.parse(text, settings.project)
    except BigQueryError as error:
        raise ctx.error(error.message.rstrip("."), node) from None


def _table(ctx: Context, node: exp.Table) -> tuple[str, Relation]:
    if node.args.get("version"):
        raise ctx.not_emulated("FOR SYSTEM_TIME AS OF", node)
    if isinstance(node.this, exp.Anonymous):
        return _table_function(ctx, node)
    sample = node.args.get("sample")
    name = table_text(node)
    if not node.args.get("db") and name.lower() in ctx.ctes:
        if sample:
            raise ctx.not_emulated("TABLESAMPLE of a WITH query", node)
        return _cte(ctx, node, name)
    if not node.args.get("catalog") and node.args.get("db") is not None:
        array = _array_of_neighbour(ctx, node)
        if array is not None:
            return array
    if "INFORMATION_SCHEMA." in name.upper():
        output = information_schema.view(ctx, node, name)
        return of_output(ctx, output, _alias(node) or name.rpartition(".")[2])
    if name.rpartition(".")[2] in information_schema.META_TABLES:
        output = information_schema.meta_table(ctx, node, name)
        return of_output(ctx, output, _alias(node) or name.rpartition(".")[2])
    if name.endswith("*"):
        raise ctx.not_emulated("a wildcard table", node)
    ref = ref_of(ctx, node)
    if "$" in ref.table:
        raise ctx.error(f'Table "{name}" cannot include decorator', node)
    return stored(ctx, ref, _alias(node) or ref.table, _sample(ctx, sample), node)


def _array_of_neighbour(ctx: Context, node: exp.Table) -> tuple[str, Relation] | None:
    """UNNEST(t.items) for `FROM t, t.items`."""
    scope: Scope | None = ctx.scope
    while scope is not None and scope.relation(node.db) is None:
        scope = scope.parent
    if scope is None:
        return None
    column = exp.Column(this=node.this.copy(), table=node.args["db"].copy())
    alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name))
    return _unnest(ctx, exp.Unnest(expressions=[column], alias=alias))


def _cte(ctx: Context, node: exp.Table, name: str) -> tuple[str, Relation]:
    known, output = ctx.ctes[name.lower()]
    alias = ctx.job.alias()
    columns = tuple(
        Column(column or "", kind, f"{alias}.c{i + 1}")
        for i, (column, kind) in enumerate(zip(output.names, output.types, strict=True))
    )
    return f"{known} AS {alias}", _value_relation(output, columns, _alias(node) or name)


def _sample(ctx: Context, sample: exp.TableSample | None) -> str:
    """TABLESAMPLE SYSTEM (n PERCENT), by rows: local tables are too small for blocks."""
    if sample is None:
        return ""
    percent = sample.args.get("percent")
    if percent is None or (sample.args.get("method") or exp.var("")).name.upper() != "SYSTEM":
        raise ctx.not_emulated("TABLESAMPLE other than SYSTEM (n PERCENT)", sample)
    value = translate(ctx, percent)
    if not isinstance(value.text, int | float) or not 0 <= value.text <= 100:
        raise ctx.error("TABLESAMPLE's percentage must be a literal between 0 and 100", sample)
    return f" TABLESAMPLE BERNOULLI ({float(value.text)} PERCENT)"


def stored(
    ctx: Context, ref: TableRef, name: str, sample: str = "", node: exp.Expression | None = None
) -> tuple[str, Relation]:
    """A table of the catalog, or a view's query, as an item of FROM."""
    table = ctx.job.catalog.table(ref)
    if table.kind == "VIEW":
        if sample:
            raise ctx.not_emulated("TABLESAMPLE of a view", node)
        return of_output(ctx, _view(ctx, table), name)
    ctx.job.read(ref)
    alias = ctx.job.alias()
    return f"{table.relation} AS {alias}{sample}", relation_of(table, alias, name)


def relation_of(table: Table, alias: str, name: str | None) -> Relation:
    """A stored table's columns under an alias."""
    columns = tuple(
        Column(f.name, Type.of(f), f"{alias}.{quoted(f.name)}", table.ref) for f in table.fields
    )
    hidden: tuple[Column, ...] = ()
    if table.partitioning is not None and table.partitioning.column is None:
        time = f'{alias}."_PARTITIONTIME"'
        hidden = (
            Column("_PARTITIONTIME", TIMESTAMP, time),
            Column("_PARTITIONDATE", DATE, f"CAST({time} AS DATE)"),
        )
    return Relation(name, columns, hidden)


def _view(ctx: Context, table: Table) -> Output:
    job = ctx.job
    if table.ref in job.views:
        raise ctx.error(f"View {table.ref} refers to itself", None)
    inside = replace(
        job,
        text=table.view_query or "",
        origin=(1, 1),
        variables={},
        views=(*job.views, table.ref),
        settings=replace(job.settings, project=table.ref.project, dataset=None, parameters=()),
    )
    output = query(Context(inside, Scope()), parse(table.view_query or ""))
    return output


def _table_function(ctx: Context, node: exp.Table) -> tuple[str, Relation]:
    if node.db.upper() != "ML":
        name = ".".join([*(p.name for p in node.parts[:-1]), node.this.name])
        raise ctx.not_emulated(f"table function {name}", node)
    return ml.call(ctx, node, _alias(node))
