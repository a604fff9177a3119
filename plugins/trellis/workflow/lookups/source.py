"""A source whose rows BigQuery can SELECT, and what is known of them before anything is spent.

A dry run, which is free, finds syntax errors, unknown names and missing permissions, and returns a
query's schema, tables and bytes to read. Metadata has the time of each table's last change. Called
by tasks only.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from google.api_core import exceptions
from google.cloud.bigquery import QueryJobConfig

from trellis.bigquery.outcome import may_pass, message_of
from trellis.workflow.contracts import table
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.interval import Partition
from trellis.workflow.lookups import table_state
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.split import ColumnSplit


class Form(ABC):
    """A form that a source has in an experiment file: where its rows are, and their version.

    client: google.cloud.bigquery.Client. section: the part of the file that names it. given: that
    part (trellis.workflow.spec.source). Both raise SourceError for what the user must change.
    """

    @abstractmethod
    def find(
        self, client: Any, platform: Platform, section: str, given: Any, task: str
    ) -> "Source":
        """The rows. What BigQuery cannot SELECT from is loaded into the group's dataset."""

    def version(self, client: Any, platform: Platform, given: Any) -> list[dict[str, Any]]:
        """Identifies the content of all that the rows come from: of tables, the time of the last
        change and the rows of each. A dry run names them, for views too.
        """
        source = self.find(client, platform, "source", given, "")
        job = source.dry_run(f"SELECT * FROM {source.sql}")
        return table_state.versions(client, job, source.known)


@dataclass(frozen=True)
class Source:
    """Rows that BigQuery can SELECT, with their columns' metadata from BigQuery.

    section: the part of the file that names it. name: for messages. sql: what to SELECT from.
    columns: in its order. known: BigQuery's Table; None for a query. query: as the file has it.
    version: of its files; None: BigQuery dates its tables. examples: None if they have to be
    counted. classes: examples by class; None if only reading the rows would tell. split: that the
    source itself names.
    """

    client: Any
    section: str
    name: str
    sql: str
    columns: list[table.Column]
    known: Any = None
    query: str | None = None
    version: list[dict[str, Any]] | None = None
    examples: int | None = None
    classes: dict[str, int] | None = None
    split: ColumnSplit | None = None

    @property
    def identity(self) -> str:
        """What names the rows in a fingerprint, beside their version."""
        return self.name if self.version else self.sql

    def dry_run(self, statement: str) -> Any:
        """The job of a dry run of a statement on it. Raises SourceError if BigQuery refuses it."""
        return dry_run(self.client, f"{self.section}.query", statement, self.query)

    def partitions(self, partition: Partition | None) -> list[dict] | None:
        """Return the partitions that a run reads; see `table_state.partitions`. Raises
        NoRowsError.
        """
        return table_state.partitions(self.client, self.known, partition)

    def count(self, partition: Partition | None, parts: list[dict] | None) -> int | None:
        """Count the rows that a run reads; None if only reading them would tell.

        Raises NoRowsError if there are none in the run's interval, SourceError if there are none
        at all.
        """
        examples = table_state.count(self.client, self.name, self.known, self.sql, partition, parts)
        if examples == 0 and partition is None:
            raise SourceError(f"{self.name} has no rows.")
        return examples


def dry_run(client: Any, where: str, statement: str, written: str | None) -> Any:
    """The job of a dry run. Raises SourceError if BigQuery refuses it.

    where: the key of the file that has the query. written: the researcher's part of the statement,
    for messages.
    """
    try:
        job = client.query(statement, QueryJobConfig(dry_run=True, use_query_cache=False))
    except exceptions.GoogleAPICallError as error:
        if may_pass(error):
            raise
        what = "the source" if written is None else f"the query ({where})"
        own = statement if statement == written else None
        raise SourceError(_refusal(what, message_of(error), own)) from None
    if job.statement_type not in (None, "SELECT"):
        raise SourceError(
            f"{where} is a {job.statement_type}; a source is one SELECT, and changes nothing"
        )
    return job


def _refusal(what: str, message: str, query: str | None) -> str:
    """BigQuery's message, and the line of the researcher's own query that it points to."""
    text = f"BigQuery refuses {what}: {message}"
    place = re.search(r"\[(\d+):(\d+)\]", message)
    lines = query.splitlines() if query else []
    if place and 1 <= int(place[1]) <= len(lines):
        line, column = int(place[1]), int(place[2])
        text += f"\n  {line:>4} | {lines[line - 1]}\n       | {' ' * (column - 1)}^"
    return text
