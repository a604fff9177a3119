"""What a translation asks about tables and models; the warehouse answers."""

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

    `relation`: what stands for a table in DuckDB's FROM (quoted); for a view it is not used: its
    `view_query` (GoogleSQL) is translated in its place.
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
    """What exists."""

    def table(self, ref: TableRef) -> Table:
        """The table or view (without decorator); BigQueryError(notFound)."""

    def tables(self, dataset: DatasetRef) -> Iterable[Table]:
        """All of a dataset; BigQueryError(notFound) when there is no such dataset."""

    def partitions(self, ref: TableRef) -> Iterable[Partition]:
        """The partitions of a partitioned table; one with the id "" of another table."""

    def datasets(self) -> Iterable[DatasetRef]:
        """All datasets."""

    def check_model(self, ref: ModelRef) -> None:
        """BigQueryError(notFound) unless the model exists."""

    def ml_fields(self, call: MlCall) -> tuple[Field, ...]:
        """The columns that an ML.* function answers, known without running it.

        `call.input_fields` are the columns of its input rows (None when it takes none).
        """
