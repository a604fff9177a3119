"""The rows of one group (a patient, a site) in everything that runs have made of a table."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from google.api_core.exceptions import NotFound
from google.cloud import bigquery

from trellis.retention.inventory import (
    LOADED,
    MANIFEST,
    SNAPSHOT,
    Item,
    Services,
    dataset_folders,
    folder_of,
    of_baselines,
    of_run,
    table_of,
    tables_of,
)
from trellis.retention.named import named
from trellis.retention.needs import ModelVersion
from trellis.workflow import sql
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.record import RunRecord
from trellis.workflow.pricing import queries
from trellis_contracts.start import Start

_SIMPLE = ("STRING", "INTEGER", "INT64")
"""Types that a key or a group has."""


@dataclass(frozen=True)
class Found:
    """What has rows of a group. datasets: rows by fingerprint. predictions: rows by table. files:
    prefixes in the group's bucket (named.py). loaded: tables of a source's files, which expire,
    that hold such rows. runs: those that learned from such a dataset. began: of these, by folder,
    those that did so by the weights that a training began with, and the training that left these.
    versions: models that came from the runs.
    """

    keys: frozenset[str]
    datasets: dict[str, int]
    predictions: dict[str, int]
    files: tuple[str, ...]
    loaded: tuple[str, ...]
    runs: tuple[RunRecord, ...]
    began: dict[str, str]
    versions: tuple[ModelVersion, ...]

    @property
    def kept(self) -> frozenset[str]:
        """Folders of the runs whose version stays until it is deleted."""
        return frozenset(version.run for version in self.versions)


def find(
    services: Services, group: str, runs: Sequence[RunRecord], versions: Collection[ModelVersion]
) -> Found:
    """Look for the rows in every snapshot, and table and file of predictions; the queries are
    billed.

    group: a value of the column that `split.by` names, or of the key; of a manifest of images, of
    what its lines name after the label, or an image's key.
    """
    grouped = set(_grouped(services))
    datasets: dict[str, int] = {}
    keys: set[str] = set()
    others: list[Any] = []
    loads: list[Any] = []
    place = f"{services.group.project}.{services.group.dataset}"
    for listed in services.bigquery.list_tables(place):
        if listed.table_type != "TABLE":
            continue
        table = services.bigquery.get_table(listed.reference)
        columns = {field.name for field in table.schema}
        if listed.table_id.startswith(LOADED):
            loads.append(table)
            continue
        if "key" not in columns:
            continue
        if not listed.table_id.startswith(SNAPSHOT):
            others.append(table)
            continue
        fingerprint = listed.table_id.removeprefix(SNAPSHOT)
        # Of another rule, split_by is no group: a day, or a class.
        by_group = "split_by" in columns and fingerprint in grouped
        condition = "key = @value" + (" OR split_by = @value" if by_group else "")
        found = _keys(services, str(table.reference), condition, group)
        if found:
            datasets[fingerprint] = len(found)
            keys.update(found)
    keys.add(group)
    predictions = {
        str(table.reference): count
        for table in others
        if (count := _count(services, str(table.reference), keys))
    }
    loaded = tuple(str(table.reference) for table in loads if _holds(services, table, keys))
    trained = [run for run in runs if run.dataset in datasets]
    began = _began(services, trained)
    learned = tuple(run for run in runs if run.dataset in datasets or run.uri in began)
    folders = {run.uri for run in learned}
    made = tuple(version for version in versions if version.run in folders)
    files = tuple(named(services, keys))
    return Found(frozenset(keys), datasets, predictions, files, loaded, learned, began, made)


def removable(services: Services, found: Found) -> Iterator[Item]:
    """What can be removed now: rows of predictions, loaded files, datasets, and runs without a
    model in the registry.
    """
    why = "has rows of the group"
    for table in found.loaded:
        yield from table_of(services, table, f"{why}; the next run loads the source again")
    for table, count in found.predictions.items():
        yield Item(
            f"{count} rows of BigQuery table {table}", why, _deletion(services, table, found.keys)
        )
    for folder in found.files:
        yield from folder_of(services, folder, why)
    for _, fingerprint, folder in dataset_folders(services):
        if fingerprint in found.datasets:
            yield from folder_of(services, folder, why)
    for fingerprint in found.datasets:
        yield from tables_of(services, fingerprint, why)
    for run in found.runs:
        if run.uri not in found.kept:
            yield from of_run(services, run, "learned from rows of the group")


def staying(services: Services, found: Found) -> Iterator[Item]:
    """What runs that stay for their version have in BigQuery ML, and of AutoML."""
    for run in found.runs:
        if run.uri in found.kept:
            yield from of_baselines(services, run, run.uri)


def _began(services: Services, trained: Sequence[RunRecord]) -> dict[str, str]:
    """Runs of which a training began with the weights of one of the runs `trained`, or with those
    of such a run again, by folder: the training that left the weights.
    """
    bucket = services.group.bucket
    starts: dict[str, str] = {}
    for experiment in {run.experiment for run in trained}:
        pattern = layout.Run(bucket, experiment, "*").start.removeprefix(f"gs://{bucket}/")
        for blob in services.storage.list_blobs(bucket, match_glob=pattern):
            start = Start.from_document(json.loads(blob.download_as_bytes()))
            starts[f"gs://{bucket}/{blob.name.rpartition('/')[0]}/"] = start.training
    learned = {run.uri for run in trained}
    began: dict[str, str] = {}
    while further := {
        run: training
        for run, training in starts.items()
        if run not in learned and training.startswith(tuple(learned))
    }:
        began |= further
        learned |= further.keys()
    return began


def _grouped(services: Services) -> Iterator[str]:
    """Fingerprints of the datasets that keep groups together, by their columns.json."""
    bucket = services.storage.bucket(services.group.bucket)
    for _, fingerprint, folder in dataset_folders(services):
        try:
            columns = json.loads(bucket.blob(f"{folder}source/columns.json").download_as_bytes())
        except NotFound:
            continue
        if columns["split"].get("by"):
            yield fingerprint


def _keys(services: Services, table: str, condition: str, value: str) -> list[str]:
    statement = f"SELECT DISTINCT key FROM {sql.identifier(table)} WHERE {condition}"
    one = bigquery.ScalarQueryParameter("value", "STRING", value)
    return [row["key"] for row in _ask(services, table, statement, one)]


def _count(services: Services, table: str, keys: Collection[str]) -> int:
    name = sql.identifier(table)
    statement = f"SELECT COUNT(*) AS found FROM {name} WHERE CAST(key AS STRING) IN UNNEST(@keys)"
    (row,) = _ask(services, table, statement, _several(keys))
    return int(row["found"])


def _holds(services: Services, table: Any, keys: Collection[str]) -> bool:
    """Return whether a table of a source's files has a field with a key, or a line of a manifest
    that names one.
    """
    if table.table_id.startswith(MANIFEST):
        test = "EXISTS (SELECT 1 FROM UNNEST(@keys) AS key WHERE STRPOS(line, key) > 0)"
    else:
        simple = [f for f in table.schema if f.mode != "REPEATED" and f.field_type in _SIMPLE]
        test = " OR ".join(
            f"CAST({sql.identifier(field.name)} AS STRING) IN UNNEST(@keys)" for field in simple
        )
    name = sql.identifier(str(table.reference))
    statement = f"SELECT COUNT(*) AS found FROM {name} WHERE {test or 'FALSE'}"
    (row,) = _ask(services, str(table.reference), statement, _several(keys))
    return bool(row["found"])


def _deletion(services: Services, table: str, keys: Collection[str]) -> Any:
    statement = f"DELETE FROM {sql.identifier(table)} WHERE CAST(key AS STRING) IN UNNEST(@keys)"
    return lambda: _ask(services, table, statement, _several(keys), _DELETION)


_DELETION = 2
"""Reads of a table by a DELETE: of the columns that it tests, and of all columns.
https://cloud.google.com/bigquery/docs/reference/standard-sql/dml-syntax#on-demand_query_size_calculation"""


def _ask(services: Services, table: str, statement: str, value: Any, reads: int = 1) -> Any:
    """The rows of a query on one table, which may be billed for so many reads of it."""
    size = services.bigquery.get_table(table).num_bytes or 0
    limit = queries.limit(queries.planned(size, 1, 0), reads)["maximumBytesBilled"]
    config = bigquery.QueryJobConfig(query_parameters=[value], maximum_bytes_billed=int(limit))
    return services.bigquery.query_and_wait(statement, job_config=config)


def _several(keys: Collection[str]) -> bigquery.ArrayQueryParameter:
    return bigquery.ArrayQueryParameter("keys", "STRING", sorted(keys))
