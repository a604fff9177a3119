"""Inspects the rows of a source in BigQuery before anything is spent. Called by tasks only."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from trellis.workflow import labels, sql
from trellis.workflow.contracts import interval, table
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.contracts.interval import Partition
from trellis.workflow.lookups import own_dataset, table_state
from trellis.workflow.lookups.forms import FORMS
from trellis.workflow.lookups.source import Source
from trellis.workflow.pricing import queries
from trellis.workflow.spec import sharding
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.split import GroupSplit, StratifiedSplit, recorded
from trellis_contracts.dataset_features import IMAGE, IMAGE_RULE
from trellis_contracts.tasks import ONE_CLASS, TASKS

# Raise when the same source and settings would give another dataset (a new split rule or snapshot
# statement), so that older datasets are not reused.
DATASET_VERSION = 1

_PAGE = 10_000


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
    """Inspect a source. Raises SourceError for what the user must change.

    run, days: see `interval.of_run`.
    """
    source = find(platform, "source", experiment.source, experiment.task)
    if source.split is not None and experiment.folds is not None:
        raise SourceError(
            f"{source.name} names the split of its lines itself, and `train.folds` divides them: "
            "leave one of the two out"
        )
    if source.split is not None:
        own = experiment.source.model_copy(update={"split": source.split})
        experiment = experiment.model_copy(update={"source": own})
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
        source.classes,
        experiment,
    )


def find(platform: Platform, section: str, given: Any, task: str) -> Source:
    """The rows that a section of the file names: `source`, or `predict`. Raises SourceError."""
    return FORMS[type(given)].find(own_dataset.client(platform), platform, section, given, task)


def changed(platform: Platform, given: Any) -> list[dict[str, Any]]:
    """Identifies the present content of the source in an experiment file. Raises SourceError."""
    return FORMS[type(given)].version(own_dataset.client(platform), platform, given)


def snapshot_sql(
    experiment: Experiment, described: table.Table, source: str, partition: Partition | None
) -> str:
    """The statement that freezes the rows of a run."""
    types = TASKS[experiment.task].rows
    return sql.render(
        "snapshot",
        source=source,
        partition=partition,
        key=described.key.name,
        label=described.label.name,
        label_type=described.label_type,
        beside=[(one.name, types[one.column], one.column) for one in described.beside],
        features=described.features,
        kept=described.kept,
        split=experiment.source.split,
        split_by=described.split_by.name if described.split_by else None,
        weight=described.weight.name if described.weight else None,
        rejected=described.rejected.name if described.rejected else None,
        folds=experiment.folds,
        stratum=_stratum(experiment),
    )


def _stratum(experiment: Experiment) -> str:
    """SQL: the value of a row of which each fold gets the same share."""
    if isinstance(experiment.source.split, StratifiedSplit):
        return "split_by"
    return "label" if experiment.task in ONE_CLASS else "''"


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
        # A number is a number here, as in the names of older datasets.
        "shards": wanted.shards if isinstance(wanted.shards, int) else sharding.flag(experiment),
        **({"image_rule": IMAGE_RULE, "max_rejected": wanted.most_rejected} if images else {}),
        # Records of rows once had image/image where they now have image, as a manifest's had.
        **({"image": "image"} if _named_as_a_manifests(described) else {}),
        # Of older datasets only the test split's records have their group.
        **({"grouped": ["validation", "test"]} if isinstance(wanted.split, GroupSplit) else {}),
        **({"folds": experiment.folds.to_document()} if experiment.folds else {}),
        # Absent, the classes are in their natural order, as in older datasets.
        **({} if experiment.positive is None else {"positive": experiment.positive}),
        **labels.of(experiment.task).identity(wanted),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _named_as_a_manifests(described: table.Table) -> bool:
    """Whether rows of no manifest have an image column with the name that a manifest's has."""
    return described.rejected is None and any(one.column == IMAGE for one in described.images)


def _identity(described: table.Table) -> dict[str, Any]:
    """The table as part of a fingerprint. Roles that no column has are left out: fingerprints of
    tables without them are frozen.
    """
    optional = ("split_by", "weight", "kept", "rejected", "beside")
    content = described.to_document()
    return {name: part for name, part in content.items() if part or name not in optional}


def rows_of(platform: Platform, name: str) -> int:
    """Rows of a table."""
    client = own_dataset.client(platform)
    return table_state.rows_of(client, client.get_table(name))


def errors_of(platform: Platform, predictions: str, most: int) -> tuple[int, list[tuple[str, str]]]:
    """Count the rows with an error in a table of predictions; return the first few with (key,
    error).
    """
    statement = sql.render("predict_errors", table=predictions, most=most)
    # The statement names the table twice.
    limit = own_dataset.bounded(platform, predictions, predictions)
    (row,) = table_state.answer(own_dataset.client(platform), statement, limit)
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
    limit = own_dataset.bounded(platform, snapshot)
    client = own_dataset.client(platform)
    for row in client.query(statement, job_config=limit).result(page_size=_PAGE):
        yield row["split"], row["image"], row["label"]
