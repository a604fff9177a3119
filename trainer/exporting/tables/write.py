"""Writes a table's TFRecord files and its dataset.json."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.exporting.classes import absent_classes
from trainer.exporting.images.reading import Read, warnings
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables import labels
from trainer.exporting.tables.features import TablePlan
from trainer.exporting.tables.images import RowImages
from trainer.exporting.tables.layout import ShardWork, pieces
from trainer.exporting.tables.ranges import ReadSlices, read_rows
from trainer.exporting.tables.rejected import RejectedRow, check_rejected, without
from trainer.exporting.tables.rows import block_schema, matrix
from trainer.exporting.tfrecord import Column, tfrecords
from trainer.images import Loss
from trellis_contracts.dataset import (
    FILE_NAME,
    REJECTED_FILE_NAME,
    SPLITS,
    DatasetDescription,
    Shard,
)
from trellis_contracts.dataset_features import (
    CATEGORICAL,
    FIRST_TERM,
    NULL_TERM,
    NUMERIC,
    SEQUENCE,
    TEXT,
    TIMESTAMP,
    UNKNOWN_TERM,
)
from trellis_contracts.withheld import shown

Writing = Callable[[str], AbstractContextManager[BinaryIO]]


@dataclass(frozen=True)
class ShardResult:
    """Result of one shard. tally: of its labels, see tables.labels.form; None without rows.
    rejected: rows with an unusable image or label. files, lost: of its images; see
    trainer.exporting.images.reading.
    """

    split: str
    shard: Shard
    tally: np.ndarray | None = None
    rejected: tuple[RejectedRow, ...] = ()
    files: tuple[tuple[int, str], ...] = ()
    lost: Mapping[Loss, tuple[str, ...]] = field(default_factory=dict)


def write_shard(
    work: ShardWork,
    plan: TablePlan,
    read: ReadSlices,
    writing: Writing,
    read_object: Read,
    pool: Executor,
    paths: bool = False,
) -> ShardResult:
    """Write the TFRecord file of one ShardWork, range by range.

    read: reads slices of temporary files. writing(name): a file to write, which becomes the object.
    read_object: reads an image's file; pool reads and converts several. paths: whether addresses of
    images may be paths of this machine.
    """
    schema = block_schema(plan.columns)
    layout, split = plan.survey.layout, SPLITS.index(work.split)
    size = examples = 0
    tally = None
    label = labels.of(plan.columns)
    found = RowImages(plan.columns, work, read_object, pool, paths)
    with writing(work.name) as out:
        for range_, first, last in pieces(layout.rows(split), work.start, work.end):
            block = read_rows(layout.slices(range_, split), schema, read)
            for given in found.parts(block.slice(first, last - first)):
                rows, stored, files = found.usable(given)
                columns = encode(rows, plan) | stored
                columns[plan.label.name] = label.encoded(rows, plan.survey.classes, files)
                if plan.columns.is_grouped and work.split != "train":
                    # What is scored or fitted there counts groups, not rows.
                    columns["group"] = rows.column("group").to_numpy()
                for data in tfrecords(columns):
                    size += out.write(data)
                examples += len(rows)
                counted = label.tally(rows, plan.label, files)
                tally = counted if tally is None or counted is None else tally + counted
    shard = Shard(work.name, examples, size)
    rejected_rows, of_images = tuple(found.rejected), tuple(found.files)
    return ShardResult(work.split, shard, tally, rejected_rows, of_images, found.lost)


def encode(block: pa.RecordBatch, plan: TablePlan) -> dict[str, Column]:
    """The record features of a block's rows, as trellis_contracts.dataset_features defines them,
    without the images and the label.
    """
    encoded: dict[str, Column] = {"key": block.column("key").cast(pa.large_binary())}
    if plan.weight is not None:
        encoded[plan.weight.name] = block.column("weight").to_numpy()
    for name in (NUMERIC, TIMESTAMP):
        if name in block.schema.names:
            encoded[name] = matrix(block, name)
    codes = []
    for feature in plan.features:
        if feature.kind == CATEGORICAL:
            codes.append(_codes(block.column(f"{CATEGORICAL}/{feature.column}"), feature.terms))
        elif feature.kind == SEQUENCE:
            lists = block.column(f"{SEQUENCE}/{feature.column}")
            encoded[feature.record_name] = lists
        elif feature.kind == TEXT:
            texts = block.column(f"{TEXT}/{feature.column}").fill_null("")
            encoded[feature.record_name] = texts.cast(pa.large_binary())
    if codes:
        encoded[CATEGORICAL] = np.stack(codes, axis=1)
    return encoded


def _codes(terms: pa.LargeStringArray, vocabulary: tuple[str, ...]) -> np.ndarray:
    known = pc.index_in(terms, pa.array(vocabulary, terms.type)).cast(pa.int64())
    codes = pc.add(known, FIRST_TERM).fill_null(UNKNOWN_TERM).to_numpy()
    return np.where(terms.is_null().to_numpy(zero_copy_only=False), NULL_TERM, codes)


def commit(
    settings: ExportSettings,
    plan: TablePlan,
    results: Iterable[ShardResult],
    write: Callable[[str, bytes], None],
) -> DatasetDescription:
    """Write rejected.jsonl, then dataset.json, through write(name, data).

    Raises ExportError, without writing dataset.json, if too many rows were rejected, or nothing is
    left of a split, of a class in train, or of what is to be learned of a label.
    """
    results = sorted(results, key=lambda result: result.shard.name)
    by_name = {result.shard.name: result.shard for result in results}
    columns, survey = plan.columns, plan.survey
    unusable = [row for result in results for row in result.rejected]
    rejected = sorted([*survey.rejected, *unusable])
    write(REJECTED_FILE_NAME, "".join(f"{row.to_json()}\n" for row in rejected).encode())
    counts = without(survey.counts, unusable, columns)
    check_rejected(rejected, counts, columns)
    tallies: dict[str, np.ndarray] = {}
    for result in results:
        if result.tally is not None:
            tallies[result.split] = tallies.get(result.split, 0) + result.tally
    label, counts, warned = labels.of(columns).counted(plan.label, counts, tallies)
    description = DatasetDescription(
        fingerprint=settings.fingerprint,
        task=columns.task,
        source={"columns": settings.source, "sha256": columns.sha256, **columns.source},
        split=columns.split,
        features=plan.features,
        label=label,
        weight=plan.weight,
        classes=survey.classes,
        counts=counts,
        files={
            split: tuple(by_name[work.name] for work in survey.work if work.split == split)
            for split in SPLITS
        },
        rejected=len(rejected),
        warnings=tuple(
            map(shown, (*plan.warnings, *absent_classes(counts), *warned, *warnings(results)))
        ),
    )
    write(FILE_NAME, description.to_json().encode())
    return description
