"""Stores jobs: each one's REST resource and state."""

from __future__ import annotations

import json
from typing import Any

import duckdb

_KEY = "project = ? AND job = ?"


class JobStore:
    """Reads and writes `catalog.jobs` through the caller's cursor, within its transaction."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection):
        self._cursor = cursor

    def insert(self, resource: dict[str, Any], attempt: int = 1) -> None:
        """Insert a new job. The caller checks that its id is new."""
        reference = resource["jobReference"]
        self._cursor.execute(
            "INSERT INTO catalog.jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                reference["projectId"],
                reference["location"],
                reference["jobId"],
                resource["statistics"].get("parentJobId"),
                int(resource["statistics"]["creationTime"]),
                resource["status"]["state"],
                attempt,
                json.dumps(resource),
            ],
        )

    def update(self, resource: dict[str, Any], attempt: int = 1) -> None:
        """Store the job's new resource and state."""
        reference = resource["jobReference"]
        self._cursor.execute(
            f"UPDATE catalog.jobs SET state = ?, attempt = ?, resource = ? WHERE {_KEY}",
            [
                resource["status"]["state"],
                attempt,
                json.dumps(resource),
                reference["projectId"],
                reference["jobId"],
            ],
        )

    def find(self, project: str, job: str) -> dict[str, Any] | None:
        """The job's resource."""
        query = f"SELECT resource FROM catalog.jobs WHERE {_KEY}"
        row = self._cursor.execute(query, [project, job]).fetchone()
        return json.loads(row[0]) if row else None

    def delete(self, project: str, job: str) -> None:
        """Delete the job and its children."""
        self._cursor.execute(
            "DELETE FROM catalog.jobs WHERE project = ? AND (job = ? OR parent = ?)",
            [project, job, job],
        )

    def unfinished(self) -> list[tuple[dict[str, Any], int]]:
        """(resource, attempt) of jobs that are not DONE, oldest first."""
        rows = self._cursor.execute(
            "SELECT resource, attempt FROM catalog.jobs WHERE state <> 'DONE' ORDER BY created"
        ).fetchall()
        return [(json.loads(resource), attempt) for resource, attempt in rows]

    def list(
        self,
        project: str,
        parent: str | None,
        created: tuple[int | None, int | None],
        before: tuple[int, str] | None,
        limit: int,
    ) -> list[dict[str, Any]]:
        """Return at most `limit` jobs, newest first: children of `parent`, or jobs without a
        parent.

        `created`: earliest and latest time in milliseconds; `before`: (creation time, id) of the
        last job of the previous page.
        """
        where, values = ["project = ?", "parent IS NOT DISTINCT FROM ?"], [project, parent]
        for bound, operator in zip(created, (">=", "<="), strict=True):
            if bound is not None:
                where.append(f"created {operator} ?")
                values.append(bound)
        if before:
            where.append("(created, job) < (?, ?)")
            values += before
        rows = self._cursor.execute(
            f"SELECT resource FROM catalog.jobs WHERE {' AND '.join(where)} "
            f"ORDER BY created DESC, job DESC LIMIT {limit}",
            values,
        ).fetchall()
        return [json.loads(row[0]) for row in rows]
