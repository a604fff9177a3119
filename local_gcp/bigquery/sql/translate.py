"""One GoogleSQL statement to DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from ..errors import BigQueryError, not_played
from ..schema import Field
from . import queries
from .catalog import Catalog
from .context import Context, Job, Output
from .parsing import parse, start_of
from .scopes import Scope
from .settings import Settings, Variable
from .statements import SCRIPT_KINDS, Statement, split
from .translated import Translated


def translate(
    statement: Statement | str,
    catalog: Catalog,
    settings: Settings,
    variables: Mapping[str, Variable] | None = None,
) -> Translated:
    """One statement; `variables` are a script's, by lower-case name.

    BigQueryError with BigQuery's message for a wrong one; notImplemented with the construct's
    name for one that cannot be translated faithfully.
    """
    if isinstance(statement, str):
        found = split(statement)
        if len(found) != 1:
            raise BigQueryError("invalidQuery", "Syntax error: Unexpected end of script", "query")
        statement = found[0]
    if statement.kind in SCRIPT_KINDS:
        raise not_played(f"{statement.kind} outside of a script")
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
) -> Translated:
    """An expression of a script as a query of one row and one column."""
    statement = Statement(f"SELECT {text}", origin[0], origin[1] - len("SELECT "), "SELECT")
    return _translate(statement, catalog, settings, variables)


def _translate(
    statement: Statement,
    catalog: Catalog,
    settings: Settings,
    variables: Mapping[str, Variable],
) -> Translated:
    from . import ddl, dml

    job = Job(statement.text, settings, catalog, variables, (statement.line, statement.column))
    ctx = Context(job, Scope())
    if statement.kind in ddl.KINDS:
        return ddl.translate(ctx, statement)
    if statement.kind not in ("SELECT", "UNKNOWN", *dml.KINDS):
        raise not_played(f"{statement.kind.replace('_', ' ')} statements")
    tree = parse_into(job, statement.text)
    if isinstance(tree, exp.Query):
        output = queries.query(ctx, tree, names=True)
        return finish(job, "SELECT", output)
    if statement.kind in dml.KINDS:
        return dml.translate(ctx, statement.kind, tree)
    raise not_played(f"statement {statement.text.split()[0].upper()}")


def parse_into(job: Job, text: str) -> exp.Expression:
    """The text's tree; errors are placed where the text stands in its script."""
    line, column = job.origin
    padding = "\n" * (line - 1) + " " * (max(column, 1) - 1)
    tree = parse(padding + text)
    job.text, job.origin = padding + text, (1, 1)
    if column < 1:
        job.origin = (1, column)
    places = {start_of(n) for n in tree.find_all(exp.Placeholder)}
    job.positional = tuple(sorted(p for p in places if p is not None))
    return tree


def fields_of(output: Output) -> tuple[Field, ...]:
    """The columns of a query with their names in the result."""
    from .selects import shown_names

    shown = shown_names(None, output.names, None)
    return tuple(t.field(n) for n, t in zip(shown, output.types, strict=True))


def finish(job: Job, kind: str, output: Output, **more: object) -> Translated:
    """A statement around a query."""
    made = Translated(
        kind=kind,
        sql=output.sql,
        fields=fields_of(output),
        reads=job.read_list,
        ml_calls=tuple(job.ml_calls),
    )
    return replace(made, **more)
