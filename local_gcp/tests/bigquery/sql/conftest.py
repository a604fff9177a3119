"""A small warehouse in memory: real DuckDB, and the catalogue that a translation asks."""

from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pytest

from local_gcp.bigquery import sql
from local_gcp.bigquery.errors import BigQueryError, not_found
from local_gcp.bigquery.refs import DatasetRef, TableRef
from local_gcp.bigquery.schema import Field, field_from_duckdb, quoted
from local_gcp.bigquery.sql.translated import CreateTable, CreateView, Drop

NOW = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


class Warehouse:
    """Executes translated statements; everything lies in the dataset p.d unless named."""

    def __init__(self):
        self.connection = duckdb.connect(
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            }
        )
        for name, value in sql.CONNECTION_SETTINGS.items():
            self.connection.execute(f"SET {name} = {value}")
        sql.register(self.connection)
        self.stored: dict[TableRef, sql.Table] = {}
        self.ml_columns: tuple[Field, ...] = ()
        self.executed: list[sql.Translated] = []
        self.results: list[list[tuple]] = []

    # What a translation asks (sql.Catalog) ---------------------------------------------------

    def table(self, ref):
        if ref not in self.stored:
            raise not_found("Table", ref, "US")
        return self.stored[ref]

    def tables(self, dataset):
        return [t for ref, t in self.stored.items() if ref.dataset_ref == dataset]

    def partitions(self, ref):
        return [sql.Partition("20240103", 2, 16, NOW)]

    def datasets(self):
        return sorted({ref.dataset_ref for ref in self.stored})

    def check_model(self, ref):
        if ref.model != "model":
            raise not_found("Model", ref, "US")

    def ml_fields(self, call):
        return self.ml_columns

    # Making and running -------------------------------------------------------------------------

    def create(self, name: str, *columns: Field, rows: str = "", **more) -> TableRef:
        """A table; `rows` is what follows VALUES in DuckDB."""
        ref = TableRef.parse(name, "p", "d")
        relation = quoted(f"{ref.dataset}.{ref.table}")
        defined = ", ".join(
            f"{quoted(c.name)} {c.duckdb}" + (" NOT NULL" if c.mode == "REQUIRED" else "")
            for c in columns
        )
        partitioning = more.get("partitioning")
        if partitioning is not None and partitioning.column is None:
            defined += ', "_PARTITIONTIME" TIMESTAMPTZ'
        self.connection.execute(f"CREATE TABLE {relation} ({defined})")
        if rows:
            self.connection.execute(f"INSERT INTO {relation} VALUES {rows}")
        self.stored[ref] = sql.Table(ref, tuple(columns), relation, **more)
        return ref

    def view(self, name: str, query: str) -> None:
        ref = TableRef.parse(name, "p", "d")
        self.stored[ref] = sql.Table(ref, (), kind="VIEW", view_query=query)

    def translate(self, text: str, *parameters: dict, variables=None) -> sql.Translated:
        settings = sql.Settings("p", DatasetRef("p", "d"), parameters, NOW)
        (statement,) = sql.split(text)
        return sql.translate(statement, self, settings, variables)

    def arrow(self, translated: sql.Translated) -> pa.Table:
        """A query's result, checked to have the types that the translation promised."""
        try:
            relation = self.connection.sql(translated.sql)
            found = [
                field_from_duckdb(n, t)
                for n, t in zip(relation.columns, relation.types, strict=True)
            ]
            assert [(f.name, f.duckdb) for f in found] == [
                (f.name, f.duckdb) for f in translated.fields
            ]
            return relation.to_arrow_table()
        except duckdb.Error as error:
            raise sql.of_duckdb(error) from error

    def rows(self, text: str, *parameters: dict, variables=None) -> list[tuple]:
        """The rows of a query."""
        table = self.arrow(self.translate(text, *parameters, variables=variables))
        return [tuple(row.values()) for row in table.to_pylist()]

    def change(self, text: str, *parameters: dict):
        """Run a DML statement and return DuckDB's answer."""
        try:
            return self.connection.execute(self.translate(text, *parameters).sql).fetchall()
        except duckdb.Error as error:
            raise sql.of_duckdb(error) from error

    def value(self, expression: str, *parameters: dict):
        """The one value of an expression."""
        ((value,),) = self.rows(f"SELECT {expression}", *parameters)
        return value

    def type(self, expression: str) -> str:
        """The type of an expression, as GoogleSQL writes it."""
        (field,) = self.translate(f"SELECT {expression}").fields
        return field.data_type

    def error(self, text: str, *parameters: dict) -> BigQueryError:
        """The error that a statement ends with."""
        with pytest.raises(BigQueryError) as caught:
            self._attempt(text, *parameters)
        return caught.value

    def _attempt(self, text: str, *parameters: dict) -> None:
        translated = self.translate(text, *parameters)
        if translated.kind == "SELECT":
            self.arrow(translated)
        elif translated.sql:
            self.change(text, *parameters)

    # What a script asks (sql.script.Executor) ---------------------------------------------------

    def execute(self, translated: sql.Translated) -> None:
        self.executed.append(translated)
        details = translated.details
        if isinstance(details, CreateTable):
            self.create(f"{details.ref.dataset}.{details.ref.table}", *details.fields)
            if translated.sql:
                relation = self.stored[details.ref].relation
                self.connection.execute(f"INSERT INTO {relation} {translated.sql}")
        elif isinstance(details, Drop | CreateView):
            raise NotImplementedError
        elif translated.kind == "SELECT":
            self.results.append([tuple(r.values()) for r in self.arrow(translated).to_pylist()])
        else:
            self.connection.execute(translated.sql)

    def evaluate(self, translated: sql.Translated) -> pa.Table:
        return self.arrow(translated)

    def script(self, text: str) -> list[list[tuple]]:
        """Run a script; the results of its SELECTs."""
        self.results = []
        sql.script.run(text, self, self, sql.Settings("p", DatasetRef("p", "d"), (), NOW))
        return self.results


@pytest.fixture(scope="module")
def shared() -> Warehouse:
    """One for all tests of a module that only read."""
    return Warehouse()


@pytest.fixture
def warehouse() -> Warehouse:
    """A fresh one."""
    return Warehouse()
