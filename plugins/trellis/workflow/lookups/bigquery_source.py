"""Inspect a table or query in BigQuery before anything is spent. Called by tasks only.

A dry run, which is free, finds syntax errors, unknown names and missing permissions, and returns a
query's schema, tables and bytes to read. Metadata has the time of each table's last change.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airflow.providers.google.cloud.hooks.bigquery import BigQueryHook
from google.api_core import exceptions
from google.cloud.bigquery import (
    Dataset,
    EncryptionConfiguration,
    QueryJobConfig,
)

from trellis.bigquery.outcome import may_pass
from trellis.workflow import sql
from trellis.workflow.contracts import interval, table
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.interval import Partition
from trellis.workflow.lookups import bucket_files, manifest, storage, table_state
from trellis.workflow.pricing import queries
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform, PlatformError
from trellis.workflow.spec.prediction import QueryPredict, TablePredict
from trellis.workflow.spec.source import FilesSource, ImageSource, QuerySource, TableSource
from trellis.workflow.spec.split import ColumnSplit, recorded
from trellis_contracts.dataset import IMAGE_RULE

# Raise when the same source and settings would give another dataset (a new split rule or snapshot
# statement), so that older datasets are not reused.
DATASET_VERSION = 1

_PAGE = 10_000

# The end of a statement and comments after it, which cannot be embedded in another statement.
_END = re.compile(r";\s*(?:(?:--|#)[^\n]*\s*)*\Z")


@dataclass(frozen=True)
class Inspection:
    """Facts about a source, without reading it.

    name: for messages. snapshot_sql: the statement that freezes it. bytes: what that reads.
    billed: what a query on the source or its frozen rows may be billed for (pricing.queries).
    examples: rows of this run, None if only reading them would tell. classes: of a manifest, None
    likewise. experiment: with the split that a manifest's lines name.
    """

    name: str
    table: table.Table
    partition: Partition | None
    fingerprint: str
    snapshot_sql: str
    bytes: int
    billed: int
    examples: int | None
    classes: dict[str, int] | None
    experiment: Experiment


def inspect(
    experiment: Experiment, platform: Platform, run: tuple[Any, Any], days: tuple[Any, Any]
) -> Inspection:
    """Inspect a table or query. Raises SourceError for what the user must change.

    run, days: see `interval.of_run`.
    """
    classes = None
    if isinstance(experiment.source, ImageSource):
        experiment, source, classes = _of_manifest(platform, experiment)
    else:
        source = find(platform, "source", experiment.source)
    described = table.resolve(experiment, source.name, source.columns)
    partition = interval.of_run(described.partition, run, days)
    statement = snapshot_sql(experiment, described, source.sql, partition)
    job = source.dry_run(statement)
    parts = source.partitions(partition)
    examples = source.examples or source.count(partition, parts)
    read = int(job.total_bytes_processed or 0)
    versions = parts or source.version or table_state.versions(source.client, job, source.known)
    return Inspection(
        source.name,
        described,
        partition,
        fingerprint(experiment, source.identity, described, partition, versions),
        statement,
        read,
        queries.planned(read, len(job.referenced_tables), examples),
        examples,
        classes,
        experiment,
    )


def _of_manifest(
    platform: Platform, experiment: Experiment
) -> tuple[Experiment, "Source", dict[str, int] | None]:
    """The lines of a manifest as a query, and the experiment with the split that they name."""
    given, client = experiment.image_source, _client(platform)
    found = manifest.version(platform, given)
    create_dataset(platform)
    address = found["manifest"]
    statement = manifest.rows(experiment, manifest.load(client, platform, given, found))
    facts = manifest.facts(client, experiment, statement)
    manifest.check(address, facts, experiment)
    if manifest.names_splits(facts):
        split = ColumnSplit(column=manifest.ML_USE)
        own = given.model_copy(update={"split": split})
        experiment = experiment.model_copy(update={"source": own})
    columns = table.columns(_dry_run(client, "source", statement, None).schema)
    classes = manifest.classes(facts, experiment.task)
    name, rows = f"{address} (source.images)", f"(\n{statement}\n)"
    return (
        experiment,
        Source(client, "source", name, rows, columns, None, None, [found], facts["examples"]),
        classes,
    )


@dataclass(frozen=True)
class Source:
    """An existing table or query, with its columns' metadata from BigQuery.

    section: the part of the file that names it. name: for messages. sql: what to SELECT from.
    columns: in its order. known: BigQuery's Table; None for a query. version: of its files; None:
    BigQuery dates its tables. examples: None if it has to be counted.
    """

    client: Any
    section: str
    name: str
    sql: str
    columns: list[table.Column]
    known: Any
    query: str | None
    version: Any = None
    examples: int | None = None

    @property
    def identity(self) -> str:
        """What names the rows in a fingerprint, beside their version."""
        return self.name if self.version else self.sql

    def dry_run(self, statement: str) -> Any:
        """The job of a dry run of a statement on it. Raises SourceError if BigQuery refuses it."""
        return _dry_run(self.client, self.section, statement, self.query)

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


def find(
    platform: Platform,
    section: str,
    given: TableSource | QuerySource | FilesSource | TablePredict | QueryPredict,
) -> Source:
    """Inspect the table or query that a section of the file names, or load the files. Raises
    SourceError.
    """
    client = _client(platform)
    if isinstance(given, QuerySource | QueryPredict):
        text = _END.sub("", given.query.strip())
        fields = _dry_run(client, section, text, text).schema
        name, columns = f"The query ({section}.query)", table.columns(fields)
        return Source(client, section, name, f"(\n{text}\n)", columns, None, given.query)
    if isinstance(given, FilesSource):
        files = bucket_files.find(storage.client(platform), platform.uri(given.files))
        create_dataset(platform)
        known = bucket_files.load(client, platform, files, given.types)
        columns, rows = table.columns(known.schema), sql.identifier(str(known.reference))
        return Source(client, section, files.address, rows, columns, known, None, files.version)
    name, where = platform.table(given.bigquery), f"{section}.bigquery"
    known, fields = _table(client, name, where)
    if known.location and known.location.lower() != platform.location.lower():
        raise SourceError(
            f"{name} ({where}) is in {known.location}, and this group works in "
            f"{platform.location} (platform.yaml: location): copy it there"
        )
    columns = table.columns(fields)
    return Source(client, section, name, sql.identifier(name), columns, known, None)


def changed(
    platform: Platform, given: ImageSource | TableSource | QuerySource | FilesSource
) -> list[dict[str, Any]]:
    """The time of the last change, and the rows, of each table that a table or query reads; the
    generation of a manifest, or of each file.

    A dry run names the tables, for views too. Raises SourceError.
    """
    if isinstance(given, ImageSource):
        return [manifest.version(platform, given)]
    if isinstance(given, FilesSource):
        address = platform.uri(given.files)
        return bucket_files.find(storage.client(platform), address).version
    source = find(platform, "source", given)
    job = source.dry_run(f"SELECT * FROM {source.sql}")
    return table_state.versions(source.client, job, source.known)


def snapshot_sql(
    experiment: Experiment, described: table.Table, source: str, partition: Partition | None
) -> str:
    """The statement that freezes the rows of a run."""
    return sql.render(
        "snapshot",
        source=source,
        partition=partition,
        key=described.key.name,
        label=described.label.name,
        label_type=described.label_type,
        features=described.features,
        kept=described.kept,
        split=experiment.source.split,
        split_by=described.split_by.name if described.split_by else None,
        weight=described.weight.name if described.weight else None,
        rejected=described.rejected.name if described.rejected else None,
    )


def fingerprint(
    experiment: Experiment,
    source: str,
    described: table.Table,
    partition: Partition | None,
    versions: Any,
) -> str:
    """Name of the dataset: 16 hexadecimal digits of SHA-256. Equal fingerprints, equal datasets.

    `versions` identifies the state of the data. A query that is not a function of its tables
    (CURRENT_DATE(), RAND()) is frozen with the result of its first run.
    """
    wanted, images = experiment.source, described.images
    content = {
        "dataset_version": DATASET_VERSION,
        "source": source,
        "versions": versions,
        "partition": partition.to_json() if partition else None,
        "task": experiment.task,
        "table": _identity(described),
        "split": recorded(wanted.split),
        "vocabulary": wanted.vocabulary,
        "shards": wanted.shards,
        **({"image_rule": IMAGE_RULE, "max_rejected": wanted.most_rejected} if images else {}),
        # Absent, the classes are in their natural order, as in older datasets.
        **({} if experiment.positive is None else {"positive": experiment.positive}),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _identity(described: table.Table) -> dict[str, Any]:
    """The table as part of a fingerprint. Roles that no column has are left out: fingerprints of
    tables without them are frozen.
    """
    optional = ("split_by", "weight", "kept", "rejected")
    content = described.to_json()
    return {name: part for name, part in content.items() if part or name not in optional}


def create_dataset(platform: Platform, client: Any = None) -> None:
    """Get or create the group's dataset of snapshots and models. It costs nothing.

    client: google.cloud.bigquery.Client; None for that of Airflow's connection. Raises
    PlatformError if it cannot be created, or is in another location.
    """
    client = client or _client(platform)
    name = f"{platform.project}.{platform.dataset}"
    try:
        try:
            # A caller may have the permission to use an existing dataset, but not to create one.
            found = client.get_dataset(name)
        except exceptions.NotFound:
            wanted = Dataset(name)
            wanted.location = platform.location
            if platform.encryption_key:
                # Also of what others write there: AutoML's predictions, BigQuery's own tables.
                wanted.default_encryption_configuration = EncryptionConfiguration(
                    platform.encryption_key
                )
            found = client.create_dataset(wanted, exists_ok=True)
    except exceptions.Forbidden as error:
        if may_pass(error):
            raise
        raise PlatformError(
            f"This project may not use or create the dataset {name} (platform.yaml: dataset): "
            f"{_message(error)}"
        ) from None
    if found.location and found.location.lower() != platform.location.lower():
        raise PlatformError(
            f"The dataset {name} is in {found.location}, not in {platform.location} "
            "(platform.yaml: dataset, location): name another, or its location"
        )


def rows_of(platform: Platform, name: str) -> int:
    """Rows of a table."""
    client = _client(platform)
    return table_state.rows_of(client, client.get_table(name))


def errors_of(platform: Platform, predictions: str, most: int) -> tuple[int, list[tuple[str, str]]]:
    """Count the rows with an error in a table of predictions; return the first few with (key,
    error).
    """
    statement = sql.render("predict_errors", table=predictions, most=most)
    (row,) = table_state.answer(_client(platform), statement)
    return row["failed"], [(found["key"], found["error"]) for found in row["first"]]


def images_of(
    platform: Platform, snapshot: str, columns: table.Table
) -> Iterator[tuple[str, str, str]]:
    """(split, address, label) of each image of a snapshot that may be an example, by key, page by
    page. columns: with one feature, an image.
    """
    (image,) = columns.features
    rejected = columns.rejected.name if columns.rejected else None
    statement = sql.render(
        "snapshot_images", snapshot=snapshot, image=image.column, rejected=rejected
    )
    for row in _client(platform).query(statement).result(page_size=_PAGE):
        yield row["split"], row["image"], row["label"]


def is_there(platform: Platform, name: str) -> bool:
    """Return whether the table exists."""
    try:
        _client(platform).get_table(name)
    except exceptions.NotFound:
        return False
    return True


def _client(platform: Platform) -> Any:
    hook = BigQueryHook(gcp_conn_id=platform.connection, use_legacy_sql=False)
    return hook.get_client(project_id=platform.project, location=platform.location)


def _table(client: Any, name: str, where: str) -> tuple[Any, Any]:
    try:
        known = client.get_table(name)
    except exceptions.NotFound as error:
        raise SourceError(f"There is no table {name} ({where}): {_message(error)}") from None
    except exceptions.Forbidden as error:
        if may_pass(error):
            raise
        raise SourceError(f"This project may not see {name} ({where}): {_message(error)}") from None
    except (exceptions.BadRequest, ValueError) as error:
        raise SourceError(f"{name} is no table ({where}): {_message(error)}") from None
    return known, known.schema


def _dry_run(client: Any, section: str, statement: str, written: str | None) -> Any:
    """The job of a dry run. `written`: the researcher's part of the statement, for messages."""
    try:
        job = client.query(statement, QueryJobConfig(dry_run=True, use_query_cache=False))
    except exceptions.GoogleAPICallError as error:
        if may_pass(error):
            raise
        what = "the source" if written is None else f"the query ({section}.query)"
        own = statement if statement == written else None
        raise SourceError(_refusal(what, _message(error), own)) from None
    if job.statement_type not in (None, "SELECT"):
        raise SourceError(
            f"{section}.query is a {job.statement_type}; a source is one SELECT, and changes "
            "nothing"
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


def _message(error: Any) -> str:
    """BigQuery's message, without the URL of the request."""
    errors = getattr(error, "errors", None) or []
    return next((e["message"] for e in errors if e.get("message")), None) or str(error)
