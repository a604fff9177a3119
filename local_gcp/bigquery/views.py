"""GoogleSQL of one query, ready for DuckDB: for views, table reads and checks."""

from __future__ import annotations

from typing import Any

import duckdb

from .catalog import Catalog
from .errors import BigQueryError
from .refs import DatasetRef, TableRef
from .schema import Field
from .sizes import Sizes
from .sql.settings import Settings
from .sql.translated import Translated
from .sql_catalog import SqlCatalog


class Views:
    """Translates single queries in a cursor's transaction."""

    def __init__(self, sizes: Sizes, project: str):
        self._sizes, self._project = sizes, project

    def translate(
        self, cursor: duckdb.DuckDBPyConnection, query: str, dataset: DatasetRef | None = None
    ) -> Translated:
        """One SELECT; BigQueryError for anything else."""
        from .translator import translate_plain

        catalog = SqlCatalog(Catalog(cursor), self._sizes, self._project)
        translated = translate_plain(query, catalog, Settings(self._project, dataset), cursor)
        if translated.kind != "SELECT":
            raise BigQueryError("invalidQuery", "A view's query must be a SELECT.", "query")
        return translated

    def fields(self, cursor: duckdb.DuckDBPyConnection, query: str, ref: TableRef) -> list[Field]:
        """The columns that a view's query answers."""
        return list(self.translate(cursor, query).fields)

    def table_query(
        self,
        cursor: duckdb.DuckDBPyConnection,
        ref: TableRef,
        columns: list[str] | None = None,
        where: str | None = None,
    ) -> str:
        """DuckDB query for the rows of a table (or one partition of it) or view.

        `where`: GoogleSQL condition.
        """
        chosen = ", ".join(f"`{name}`" for name in columns) if columns is not None else "*"
        query = f"SELECT {chosen} FROM `{ref.project}`.`{ref.dataset}`.`{ref.whole.table}`"
        if where:
            query += f" WHERE {where}"
        translated = self.translate(cursor, query)
        assert translated.sql
        return translated.sql
