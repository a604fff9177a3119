"""Stand-in until sql.translate is there."""
from __future__ import annotations
import re
import sqlglot
from sqlglot import exp
from .errors import invalid_query
from .refs import TableRef
from .schema import field_from_duckdb
from .sql.translated import Read, Translated


def translate_plain(text, catalog, settings, cursor):
    try:
        tree = sqlglot.parse_one(text, read="bigquery")
    except sqlglot.errors.ParseError as error:
        e = error.errors[0]
        raise invalid_query(f"Syntax error: {e['description']}", (e["line"], e["col"]))
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
    if not isinstance(tree, exp.Query):
        raise invalid_query("only SELECT so far")
    fields = tuple(field_from_duckdb(r[0], r[1]) for r in cursor.execute(f"DESCRIBE {sql}").fetchall())
    values = ", ".join(f'CAST("{f.name}" AS {f.duckdb}) AS "{f.name}"' for f in fields)
    return Translated("SELECT", f"SELECT {values} FROM ({sql})", fields, tuple(reads))
