"""Writes a table's TFRecord files and its dataset.json."""

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer import label_sets
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables.features import TablePlan
from trainer.exporting.tables.layout import ShardWork, pieces
from trainer.exporting.tables.ranges import ReadSlices, read_rows
from trainer.exporting.tables.rows import block_schema, matrix
from trainer.exporting.tfrecord import Column, tfrecords
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

Writing = Callable[[str], AbstractContextManager[BinaryIO]]


def write_shard(work: ShardWork, plan: TablePlan, read: ReadSlices, writing: Writing) -> Shard:
    """Write the TFRecord file of one ShardWork, range by range.

    read: reads slices of temporary files. writing(name): a file to write, which becomes the object.
    """
    start = time.monotonic()
    schema = block_schema(plan.columns)
    layout, split = plan.survey.layout, SPLITS.index(work.split)
    size = 0
    with writing(work.name) as out:
        for range_, first, last in pieces(layout.rows(split), work.start, work.end):
            block = read_rows(layout.slices(range_, split), schema, read)
            rows = block.slice(first, last - first)
            columns = encode(rows, plan)
            if plan.columns.is_grouped and work.split == "test":
                # The comparison counts groups, not rows.
                columns["group"] = rows.column("group").to_numpy()
            for data in tfrecords(columns):
                size += out.write(data)
    examples = work.end - work.start
    seconds = time.monotonic() - start
    print(
        f"shard {work.position}: wrote {work.name}, {examples} examples, {seconds:.1f} s, "
        f"{examples / max(seconds, 1e-9):.0f} rows/s",
        flush=True,
    )
    return Shard(work.name, examples, size)


def encode(block: pa.RecordBatch, plan: TablePlan) -> dict[str, Column]:
    """The record features of a block's rows, as trellis_contracts.dataset_features defines them."""
    encoded = {
        "key": block.column("key").cast(pa.large_binary()),
        plan.label.name: _labels(block.column("label"), plan),
    }
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


def _labels(label: pa.Array, plan: TablePlan) -> np.ndarray:
    """(n,) numbers, class indices or sets of them."""
    classes = plan.survey.classes
    if plan.columns.is_regression:
        return label.to_numpy()
    if not plan.columns.is_multilabel:
        return pc.index_in(label, pa.array(classes, label.type)).to_numpy()
    encoded = label.dictionary_encode()
    sets = [
        label_sets.of(map(classes.index, plan.columns.classes_in(text)))
        for text in encoded.dictionary.to_pylist()
    ]
    return np.array(sets, np.int64)[encoded.indices.to_numpy()]


def _codes(terms: pa.LargeStringArray, vocabulary: tuple[str, ...]) -> np.ndarray:
    known = pc.index_in(terms, pa.array(vocabulary, terms.type)).cast(pa.int64())
    codes = pc.add(known, FIRST_TERM).fill_null(UNKNOWN_TERM).to_numpy()
    return np.where(terms.is_null().to_numpy(zero_copy_only=False), NULL_TERM, codes)


def commit(
    settings: ExportSettings,
    plan: TablePlan,
    shards: Iterable[Shard],
    write: Callable[[str, bytes], None],
) -> DatasetDescription:
    """Write an empty rejected.jsonl, then dataset.json, through write(name, data)."""
    by_name = {shard.name: shard for shard in shards}
    columns, survey = plan.columns, plan.survey
    description = DatasetDescription(
        fingerprint=settings.fingerprint,
        task=columns.task,
        source={"columns": settings.source, "sha256": columns.sha256, **columns.source},
        split=columns.split,
        features=plan.features,
        label=plan.label,
        weight=plan.weight,
        classes=survey.classes,
        counts=survey.counts,
        files={
            split: tuple(by_name[work.name] for work in survey.work if work.split == split)
            for split in SPLITS
        },
        rejected=0,
        warnings=plan.warnings,
    )
    write(REJECTED_FILE_NAME, b"")
    write(FILE_NAME, description.to_json().encode())
    return description
