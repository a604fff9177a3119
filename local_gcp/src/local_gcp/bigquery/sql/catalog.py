"""The interface through which a translation reads the catalog of tables and models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from local_gcp.bigquery.refs import DatasetRef, ModelRef, TableRef
from local_gcp.bigquery.schema import Field

from .partitioning import Partitioning
from .translated import MlCall

_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class Partition:
    """One partition: `id` as in a decorator (`20240103`) or `__NULL__`."""

    id: str
    rows: int
    bytes: int
    modified: datetime = _EPOCH


@dataclass(frozen=True)
class Table:
    """A table or a view.

    `relation`: quoted name of the table in DuckDB's FROM; not used for a view, whose `view_query`
    (GoogleSQL) is translated in its place.
    `rows`, `bytes`: logical size, for INFORMATION_SCHEMA.
    """

    ref: TableRef
    fields: tuple[Field, ...]
    relation: str = ""
    kind: str = "TABLE"
    view_query: str | None = None
    partitioning: Partitioning | None = None
    clustering: tuple[str, ...] = ()
    created: datetime = _EPOCH
    modified: datetime = _EPOCH
    rows: int = 0
    bytes: int = 0


class Catalog(Protocol):
    """The datasets, tables and models that exist."""

    def table(self, ref: TableRef) -> Table:
        """The table or view (without decorator); raises BigQueryError(notFound)."""

    def tables(self, dataset: DatasetRef) -> Iterable[Table]:
        """The tables of a dataset; raises BigQueryError(notFound) if it does not exist."""

    def partitions(self, ref: TableRef) -> Iterable[Partition]:
        """The partitions of a table; one with the id "" if it is not partitioned."""

    def datasets(self) -> Iterable[DatasetRef]:
        """All datasets."""

    def check_model(self, ref: ModelRef) -> None:
        """Raise BigQueryError(notFound) unless the model exists."""

    def ml_fields(self, call: MlCall) -> tuple[Field, ...]:
        """The columns that an ML.* function returns, known without running it.

        `call.input_fields`: the columns of its input rows; None without input.
        """
