"""The translation of a GoogleSQL statement: DuckDB SQL, and further facts for the warehouse."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from local_gcp.bigquery.refs import DatasetRef, ModelRef, TableRef
from local_gcp.bigquery.schema import Field

from .partitioning import Partitioning


@dataclass(frozen=True)
class Read:
    """A table that a statement reads, with the columns, by which BigQuery bills."""

    ref: TableRef
    columns: tuple[str, ...]


@dataclass(frozen=True)
class MlCall:
    """One ML.X(MODEL m, input, options) in a FROM clause.

    `function`: "ML.PREDICT". `input_sql`: DuckDB query for the input rows, None without input.
    `options`: of the STRUCT argument, as plain Python values. Before the statement runs, the result
    must exist as `alias` (a DuckDB relation with exactly the catalog's `ml_fields`). Calls are
    listed in the order in which they must run: one's input may read another's alias.
    """

    function: str
    model: ModelRef
    input_sql: str | None
    input_fields: tuple[Field, ...] | None
    options: dict[str, Any]
    alias: str


@dataclass(frozen=True)
class CreateTable:
    """CREATE TABLE; with AS SELECT, `Translated.sql` gives the rows.

    `fields`: of the column list, else of the query. `clone`: the table of LIKE or COPY/CLONE.
    `options`: of OPTIONS(...), as plain Python values.
    """

    ref: TableRef
    fields: tuple[Field, ...]
    partitioning: Partitioning | None = None
    clustering: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateView:
    """CREATE VIEW; `query`: GoogleSQL; `fields`: its current columns."""

    ref: TableRef
    query: str
    fields: tuple[Field, ...]
    options: dict[str, Any] = field(default_factory=dict)
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateSchema:
    """CREATE SCHEMA."""

    ref: DatasetRef
    options: dict[str, Any] = field(default_factory=dict)
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateModel:
    """CREATE MODEL; `Translated.sql` gives the training rows."""

    ref: ModelRef
    options: dict[str, Any]
    query: str  # GoogleSQL of the training rows
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class Drop:
    """DROP TABLE, VIEW, SCHEMA or MODEL, depending on the statement's kind."""

    ref: TableRef | DatasetRef | ModelRef
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class AddColumn:
    """ALTER TABLE ADD COLUMN."""

    field: Field
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropColumn:
    """ALTER TABLE DROP COLUMN."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class RenameColumn:
    """ALTER TABLE RENAME COLUMN."""

    old: str
    new: str


@dataclass(frozen=True)
class RenameTable:
    """ALTER TABLE RENAME TO."""

    new: TableRef


@dataclass(frozen=True)
class SetOptions:
    """ALTER TABLE SET OPTIONS."""

    options: dict[str, Any]


@dataclass(frozen=True)
class AlterTable:
    """ALTER TABLE; the actions are applied in order, all or none."""

    ref: TableRef
    actions: tuple[AddColumn | DropColumn | RenameColumn | RenameTable | SetOptions, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class AlterModel:
    """ALTER MODEL SET OPTIONS."""

    ref: ModelRef
    options: dict[str, Any]
    if_exists: bool = False


@dataclass(frozen=True)
class ExportData:
    """EXPORT DATA; `Translated.sql` gives the rows. `options`: uri, format, overwrite, ..."""

    options: dict[str, Any]


Details = (
    CreateTable
    | CreateView
    | CreateSchema
    | CreateModel
    | Drop
    | AlterTable
    | AlterModel
    | ExportData
    | None
)


@dataclass(frozen=True)
class Translated:
    """One statement, ready for DuckDB.

    `kind`: BigQuery's statementType.
    `sql`: for SELECT, CREATE_TABLE_AS_SELECT, EXPORT_DATA and CREATE_MODEL a query; for INSERT,
    UPDATE, DELETE and TRUNCATE_TABLE a statement that returns the number of rows; for MERGE one
    that returns a row per changed row with `merge_action` INSERT, UPDATE or DELETE; else None.
    `fields`: the query's columns, in order; the SQL's columns have these types.
    `reads`: tables that the query reads, also through views. `target`: what DML or DDL changes.
    """

    kind: str
    sql: str | None = None
    fields: tuple[Field, ...] = ()
    reads: tuple[Read, ...] = ()
    target: TableRef | ModelRef | DatasetRef | None = None
    details: Details = None
    ml_calls: tuple[MlCall, ...] = ()
