"""Translates a GoogleSQL statement to DuckDB."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from local_gcp.bigquery.errors import BigQueryError, not_emulated

from . import (
    ddl,
    dml,
    expressions,  # noqa: F401 - registers itself with dispatch.py
    functions,  # noqa: F401 - likewise
    literals,  # noqa: F401 - likewise
    queries,
)
from .casts import data_type
from .catalog import Catalog
from .context import Context, Job, parse_into
from .dispatch import query
from .dispatch import translate as value_of
from .scopes import Scope
from .settings import Settings, Variable
from .statements import SCRIPT_KINDS, Statement, split
from .translated import Translated
from .types import Type, coerce

_STATEMENTS = frozenset(
    [
        *("ALTER", "ANALYZE", "ASSERT", "BEGIN", "BREAK", "CALL", "CASE", "CLONE", "COMMIT"),
        *("CONTINUE", "CREATE", "DECLARE", "DEFINE", "DELETE", "DESCRIBE", "DROP", "EXECUTE"),
        *("EXPLAIN", "EXPORT", "FOR", "FROM", "GRANT", "GRAPH", "IF", "INSERT", "ITERATE"),
        *("LEAVE", "LOAD", "LOOP", "MERGE", "RAISE", "RENAME", "REPEAT", "RETURN", "REVOKE"),
        *("ROLLBACK", "SELECT", "SET", "SHOW", "START", "TABLE", "TRUNCATE", "UNDROP", "UPDATE"),
        *("WHILE", "WITH"),
    ]
)
"""First words of GoogleSQL's statements; a text with another one is wrong in BigQuery too."""


def translate(
    statement: Statement | str,
    catalog: Catalog,
    settings: Settings,
    variables: Mapping[str, Variable] | None = None,
) -> Translated:
    """Translate a statement; `variables` are a script's, by lower-case name.

    Raises BigQueryError with BigQuery's message if it is wrong; notImplemented with the construct's
    name if it is not emulated exactly.
    """
    if isinstance(statement, str):
        found = split(statement)
        if len(found) != 1:
            raise BigQueryError("invalidQuery", "Syntax error: Unexpected end of script", "query")
        statement = found[0]
    if statement.kind in SCRIPT_KINDS:
        raise not_emulated(f"{statement.kind} outside of a script")
    try:
        return _translate(statement, catalog, settings, variables or {})
    except RecursionError:
        raise BigQueryError(
            "invalidQuery", "The query is too large: too deeply nested expressions.", "query"
        ) from None


def expression(
    text: str,
    origin: tuple[int, int],
    catalog: Catalog,
    settings: Settings,
    variables: Mapping[str, Variable],
    to: Type | None = None,
) -> Translated:
    """An expression of a script as a query of one row and one column, of type `to` if given."""
    job = Job(text, settings, catalog, variables, origin)
    # Parentheses on separate lines, in case the text ends with a comment.
    tree = parse_into(job, f"({text}\n)", before=1)
    ctx = Context(job, Scope(), no_aggregates="scripts", no_windows="scripts")
    value = value_of(ctx, tree)
    kind = to or value.type
    sql = coerce(value, kind)
    if sql is None:
        raise ctx.error(f"Cannot coerce expression of type {value.type} to type {kind}", tree)
    return Translated(
        "SELECT",
        f'SELECT {sql} AS "f0_"',
        (kind.field("f0_"),),
        job.read_list,
        ml_calls=tuple(job.ml_calls),
    )


def type_of(text: str, origin: tuple[int, int], catalog: Catalog) -> Type:
    """A type as DECLARE writes it."""
    job = Job(text, Settings(""), catalog, {}, origin)
    head = "CAST(NULL AS "
    tree = parse_into(job, f"{head}{text})", before=len(head))
    return data_type(Context(job, Scope()), tree.args["to"])


def _translate(
    statement: Statement,
    catalog: Catalog,
    settings: Settings,
    variables: Mapping[str, Variable],
) -> Translated:
    job = Job(statement.text, settings, catalog, variables, (statement.line, statement.column))
    ctx = Context(job, Scope())
    if statement.kind in ddl.KINDS:
        return ddl.translate(ctx, statement)
    if statement.kind not in ("SELECT", "UNKNOWN", *dml.KINDS):
        raise not_emulated(f"{statement.kind.replace('_', ' ')} statements")
    tree = parse_into(job, statement.text)
    if isinstance(tree, exp.Query):
        output = query(ctx, tree, names=True)
        return queries.finish(job, "SELECT", output)
    if statement.kind in dml.KINDS:
        return dml.translate(ctx, statement.kind, tree)
    first = statement.text.split()[0]
    if first.upper() in _STATEMENTS:
        raise not_emulated(f"the statement {first.upper()}")
    raise ctx.error(f'Syntax error: Unexpected identifier "{first}"', tree)
