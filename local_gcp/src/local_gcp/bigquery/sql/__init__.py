"""GoogleSQL on DuckDB: resolves, types and rewrites statements for DuckDB.

statements.py   a script's statements and their kinds
references.py   the datasets that a script names, before it is translated
translate.py    one statement to DuckDB
translated.py     its result
catalog.py        the interface to tables and models, which the warehouse implements
settings.py       project, default dataset, query parameters, time
script.py       DECLARE, SET, IF, ASSERT, ...: runs a script statement by statement
messages.py     DuckDB's errors at run time as BigQuery's messages
macros.py       macros and functions that the translated SQL calls (`register`)

Inside: parsing.py (text to sqlglot's tree), queries.py, selects.py, sources.py (FROM), names.py and
scopes.py (name resolution), expressions.py, elements.py (queries of an array's elements),
operators.py, casts.py, functions/ (one table of functions each), types.py. Queries and expressions
contain each other: both are translated through dispatch.py. Each node and function is translated by
its name and the types of its arguments; others are refused, so that no SQL reaches DuckDB that has
another meaning there.
"""

from . import script
from .catalog import Catalog, Partition, Table
from .dml import default_sql
from .macros import register
from .messages import of_duckdb
from .partitioning import Partitioning
from .references import datasets_named, schema_location
from .settings import CONNECTION_SETTINGS, Settings, Variable
from .statements import Statement, split
from .translate import translate
from .translated import MlCall, Read, Translated

__all__ = [
    "CONNECTION_SETTINGS",
    "Catalog",
    "MlCall",
    "Partition",
    "Partitioning",
    "Read",
    "Settings",
    "Statement",
    "Table",
    "Translated",
    "Variable",
    "datasets_named",
    "default_sql",
    "of_duckdb",
    "register",
    "schema_location",
    "script",
    "split",
    "translate",
]
