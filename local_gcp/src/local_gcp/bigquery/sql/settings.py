"""Settings of a query: project, default dataset, parameters, time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from local_gcp.bigquery.refs import DatasetRef
from local_gcp.bigquery.schema import Field

# DuckDB settings that translated SQL relies on (`SET name = value` on each connection).
CONNECTION_SETTINGS: Mapping[str, str] = {
    "TimeZone": "'UTC'",
    "preserve_insertion_order": "true",
}


@dataclass(frozen=True)
class Settings:
    """Settings of one query job.

    `dataset`: the job's default dataset. `parameters`: REST `queryParameters`, all named or all
    positional. `now`: the value of CURRENT_TIMESTAMP etc.
    """

    project: str
    dataset: DatasetRef | None = None
    parameters: tuple[dict, ...] = ()
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def at_this_moment(self) -> Settings:
        """A copy with the current time, as each statement of a script needs."""
        return replace(self, now=datetime.now(UTC))


@dataclass(frozen=True)
class Variable:
    """A script variable: its type, and its value in Python as from DuckDB and Arrow."""

    type: Field
    value: Any
