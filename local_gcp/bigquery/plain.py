"""A stand-in with the interface of `sql`, for SELECTs, while the translation is not complete."""

from __future__ import annotations

import dataclasses
import types

import sqlglot
from sqlglot import exp

from .errors import invalid_query
from .refs import TableRef
from .schema import field_from_duckdb
from .sql.translated import Read, Translated


@dataclasses.dataclass
class Statement:
    text: str
    kind: str
    line: int = 1
    column: int = 1


def split(text):
    try:
        trees = [tree for tree in sqlglot.parse(text, read="bigquery") if tree]
    except sqlglot.errors.ParseError as error:
        e = error.errors[0]
        raise invalid_query(f"Syntax error: {e['description']}", (e["line"], e["col"])) from None
    return [
        Statement(t.sql("bigquery"), "SELECT" if isinstance(t, exp.Query) else "SCRIPT")
        for t in trees
    ]


def translate(statement, catalog, settings, variables):
    if statement.kind != "SELECT":
        raise invalid_query("only SELECT so far")
    tree = sqlglot.parse_one(statement.text, read="bigquery")
    ctes = {c.alias for c in tree.find_all(exp.CTE)}
    reads = []
    for table in list(tree.find_all(exp.Table)):
        name = ".".join(part.name for part in table.parts)
        if name in ctes or isinstance(table.this, exp.Func):
            continue
        ref = TableRef.parse(name, settings.project, settings.dataset and settings.dataset.dataset)
        found = catalog.table(ref)
        reads.append(Read(ref, tuple(f.name for f in found.fields)))
        alias = table.alias or ref.table
        new = exp.to_table("data.x")
        new.this.set("this", found.relation.split(".", 1)[1][1:-1])
        new.this.set("quoted", True)
        table.replace(exp.alias_(new, alias, table=True))
    sql = tree.sql("duckdb")
    rows = catalog._catalog.cursor.execute(f"DESCRIBE {sql}").fetchall()
    fields = tuple(field_from_duckdb(r[0], r[1]) for r in rows)
    values = ", ".join(f'CAST("{f.name}" AS {f.duckdb}) AS "{f.name}"' for f in fields)
    return Translated("SELECT", f"SELECT {values} FROM ({sql})", fields, tuple(reads))


script = types.SimpleNamespace(run=None)
