"""Names of datasets, tables and models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from .errors import BigQueryError, invalid

_PROJECT = re.compile(r"(?:[a-z0-9.-]+:)?[a-z0-9_-]+", re.IGNORECASE)  # "example.com:project" too
_DATASET = re.compile(r"\w{1,1024}", re.ASCII)
# Letters, marks, numbers, connectors, dashes and spaces of any script:
# https://cloud.google.com/bigquery/docs/tables#table_naming
_TABLE = re.compile(r"[\w \-]{1,1024}(?:\$\w+)?")
_PARTITION = re.compile(r"\d{4}|\d{6}|\d{8}|\d{10}|__NULL__|__UNPARTITIONED__")


@dataclass(frozen=True, order=True)
class DatasetRef:
    """PROJECT:DATASET."""

    project: str
    dataset: str

    @classmethod
    def parse(cls, text: str, project: str) -> Self:
        """Parse `p.d`, `p:d` or `d` (in `project`); raises BigQueryError(invalid) for others."""
        found, _, dataset = text.replace(":", ".").rpartition(".")
        return cls(found or project, _checked("dataset ID", _DATASET, dataset))

    @classmethod
    def from_api(cls, resource: dict) -> Self:
        """Read a REST DatasetReference."""
        return cls(*_named(resource, "projectId", "datasetId"))

    @property
    def api(self) -> dict:
        """REST DatasetReference."""
        return {"projectId": self.project, "datasetId": self.dataset}

    def __str__(self) -> str:
        return f"{self.project}:{self.dataset}"


@dataclass(frozen=True, order=True)
class _ChildRef:
    """PROJECT:DATASET.NAME; the subclass names the field of NAME."""

    project: str
    dataset: str

    @classmethod
    def parse(cls, text: str, project: str, dataset: str | None = None) -> Self:
        """Parse `p.d.x`, `p:d.x`, `d.x`, or `x` if there is a default dataset.

        Raises BigQueryError(invalid) with BigQuery's message for anything else.
        """
        head, _, name = text.rpartition(".")
        split = max(head.rfind("."), head.rfind(":"))  # a project may be "example.com:project"
        found, inner = head[: max(split, 0)], head[split + 1 :] or dataset
        if not inner:
            kind = cls.kind
            raise invalid(
                f'{kind} "{text}" must be qualified with a dataset (e.g. dataset.{kind.lower()}).'
            )
        return cls(
            _checked("project ID", _PROJECT, found or project),
            _checked("dataset ID", _DATASET, inner),
            _checked(f"{cls.kind.lower()} ID", _TABLE, name),
        )

    @property
    def dataset_ref(self) -> DatasetRef:
        """The dataset that contains it."""
        return DatasetRef(self.project, self.dataset)


@dataclass(frozen=True, order=True)
class TableRef(_ChildRef):
    """A table, or one of its partitions if `table` ends in a decorator (`t$20240103`)."""

    table: str
    kind = "Table"

    @classmethod
    def from_api(cls, resource: dict) -> Self:
        """Read a REST TableReference."""
        return cls(*_named(resource, "projectId", "datasetId", "tableId"))

    @property
    def api(self) -> dict:
        """REST TableReference."""
        return {"projectId": self.project, "datasetId": self.dataset, "tableId": self.table}

    @property
    def partition(self) -> str | None:
        """The part after the `$`: '20240103', '2024010315', '202401', '2024', ... or None.

        Raises BigQueryError(invalid) for a decorator that names no partition.
        """
        _, dollar, decorator = self.table.partition("$")
        if not dollar:
            return None
        if not _PARTITION.fullmatch(decorator):
            raise invalid(
                f"Invalid table partition decorator: ${decorator}. "
                "It should be YYYY, YYYYMM, YYYYMMDD, YYYYMMDDHH, __NULL__ or __UNPARTITIONED__."
            )
        return decorator

    @property
    def whole(self) -> TableRef:
        """The table without a decorator."""
        return TableRef(self.project, self.dataset, self.table.partition("$")[0])

    def __str__(self) -> str:
        return f"{self.project}:{self.dataset}.{self.table}"


@dataclass(frozen=True, order=True)
class ModelRef(_ChildRef):
    """A BigQuery ML model."""

    model: str
    kind = "Model"

    @classmethod
    def from_api(cls, resource: dict) -> Self:
        """Read a REST ModelReference."""
        return cls(*_named(resource, "projectId", "datasetId", "modelId"))

    @property
    def api(self) -> dict:
        """REST ModelReference."""
        return {"projectId": self.project, "datasetId": self.dataset, "modelId": self.model}

    def __str__(self) -> str:
        return f"{self.project}:{self.dataset}.{self.model}"


def _named(resource: dict, *names: str) -> list[str]:
    """The fields of a REST reference; raises BigQueryError(invalid) for one that is missing."""
    for name in names:
        if not resource.get(name):
            raise invalid(f"Required parameter is missing: {name}")
    return [resource[name] for name in names]


def _checked(what: str, pattern: re.Pattern[str], value: str) -> str:
    if not pattern.fullmatch(value):
        raise BigQueryError("invalid", f'Invalid {what} "{value}".')
    return value
