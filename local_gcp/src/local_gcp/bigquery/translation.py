"""Translates GoogleSQL to DuckDB with the tables of a catalog."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from . import sql
from .catalog import Catalog
from .errors import invalid_query
from .ml import Models
from .refs import DatasetRef, TableRef
from .schema import Field
from .sizes import Sizes
from .sql import Settings, Translated, Variable
from .sql_catalog import SqlCatalog


class Translation:
    """Translates statements, each with a given catalog."""

    def __init__(self, sizes: Sizes, models: Models, project: str):
        self._sizes, self._models, self._project = sizes, models, project

    def catalog(self, catalog: Catalog) -> SqlCatalog:
        """The catalog for the translation."""
        return SqlCatalog(catalog, self._sizes, self._models, self._project)

    def statement(
        self,
        catalog: Catalog,
        statement: sql.Statement,
        settings: Settings,
        variables: Mapping[str, Variable] | None = None,
    ) -> Translated:
        """Translate a statement of `sql.split`; raises BigQueryError if wrong or not emulated."""
        return sql.translate(statement, self.catalog(catalog), settings, variables)

    def query(self, catalog: Catalog, text: str, dataset: DatasetRef | None = None) -> Translated:
        """Translate a text that must be one SELECT."""
        settings = Settings(self._project, dataset)
        translated = sql.translate(text, self.catalog(catalog), settings)
        if translated.kind != "SELECT":
            raise invalid_query("Expected a SELECT statement")
        return translated

    def view_fields(self, catalog: Catalog, text: str) -> list[Field]:
        """The columns of a view's query."""
        return list(self.query(catalog, text).fields)

    def table_query(
        self,
        cursor: duckdb.DuckDBPyConnection,
        ref: TableRef,
        columns: list[str] | None = None,
        where: str | None = None,
    ) -> str:
        """DuckDB query for the rows of a table or view. `where`: GoogleSQL condition."""
        chosen = ", ".join(f"`{name}`" for name in columns) if columns is not None else "*"
        text = f"SELECT {chosen} FROM `{ref.project}`.`{ref.dataset}`.`{ref.whole.table}`"
        translated = self.query(Catalog(cursor), f"{text} WHERE {where}" if where else text)
        assert translated.sql
        return translated.sql
