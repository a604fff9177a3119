"""Partitioning by time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Partitioning:
    """Partitioning of a table by time.

    `column`: DATE, DATETIME or TIMESTAMP column; None: by ingestion time, with a further column in
    the relation, `_PARTITIONTIME` TIMESTAMP WITH TIME ZONE.
    `type`: DAY, HOUR, MONTH or YEAR.
    """

    column: str | None = None
    type: str = "DAY"
