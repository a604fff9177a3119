"""Writes a table's TFRecord files and its dataset.json."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer import label_sets
from trainer.exporting import ExportError
from trainer.exporting.classes import absent_classes
from trainer.exporting.images.reading import Read, warnings
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables import masks
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
    SPANS,
    TEXT,
    TIMESTAMP,
    UNKNOWN_TERM,
    Label,
)
from trellis_contracts.withheld import shown

Writing = Callable[[str], AbstractContextManager[BinaryIO]]


@dataclass(frozen=True)
class ShardResult:
    """Result of one shard. spans: of a time to an event, (2, SPANS) examples without and with one.
    rejected: rows with an unusable image or mask. files, lost: of its images; see
    trainer.exporting.images.reading. masks, blank: see trainer.exporting.tables.images.RowImages.
    """

    split: str
    shard: Shard
    spans: np.ndarray | None = None
    rejected: tuple[RejectedRow, ...] = ()
    files: tuple[tuple[int, str], ...] = ()
    lost: Mapping[Loss, tuple[str, ...]] = field(default_factory=dict)
    masks: np.ndarray | None = None
    blank: int = 0


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
    spans = None
    found = RowImages(plan.columns, work, read_object, pool, paths)
    with writing(work.name) as out:
        for range_, first, last in pieces(layout.rows(split), work.start, work.end):
            block = read_rows(layout.slices(range_, split), schema, read)
            for given in found.parts(block.slice(first, last - first)):
                rows, stored = found.usable(given)
                columns = encode(rows, plan) | stored
                if plan.columns.is_grouped and work.split != "train":
                    # What is scored or fitted there counts groups, not rows.
                    columns["group"] = rows.column("group").to_numpy()
                for data in tfrecords(columns):
                    size += out.write(data)
                examples += len(rows)
                if plan.label.event is not None:
                    found_here = _spans(rows, plan.label)
                    spans = found_here if spans is None else spans + found_here
    shard = Shard(work.name, examples, size)
    rejected_rows, files = tuple(found.rejected), tuple(found.files)
    of_masks = (found.masks, found.blank)
    return ShardResult(work.split, shard, spans, rejected_rows, files, found.lost, *of_masks)


def encode(block: pa.RecordBatch, plan: TablePlan) -> dict[str, Column]:
    """The record features of a block's rows, as trellis_contracts.dataset_features defines them."""
    encoded: dict[str, Column] = {"key": block.column("key").cast(pa.large_binary())}
    if not plan.columns.masks:  # which RowImages reads
        encoded[plan.label.name] = _labels(block, plan)
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


def _labels(block: pa.RecordBatch, plan: TablePlan) -> np.ndarray:
    """(n,) numbers, class indices or sets of them; (n, 2) times and events."""
    label, classes = block.column("label"), plan.survey.classes
    if plan.columns.is_survival:
        events = block.column("event").to_numpy().astype(np.float32)
        return np.stack([label.to_numpy(), events], axis=1)
    if plan.columns.is_number:
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
    results: Iterable[ShardResult],
    write: Callable[[str, bytes], None],
) -> DatasetDescription:
    """Write rejected.jsonl, then dataset.json, through write(name, data).

    Raises ExportError, without writing dataset.json, if too many rows were rejected, or nothing is
    left of a split, of a class in train, of the events of a split, or of its foreground.
    """
    results = sorted(results, key=lambda result: result.shard.name)
    by_name = {result.shard.name: result.shard for result in results}
    columns, survey = plan.columns, plan.survey
    unusable = [row for result in results for row in result.rejected]
    rejected = sorted([*survey.rejected, *unusable])
    write(REJECTED_FILE_NAME, "".join(f"{row.to_json()}\n" for row in rejected).encode())
    counts = without(survey.counts, unusable, columns)
    check_rejected(rejected, counts, columns)
    warned: Iterable[str] = ()
    if columns.masks:
        counts = masks.counted(counts, results, survey.classes)
        warned = masks.check(counts, results, columns)
    label = _counted(plan.label, results)
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


def _counted(label: Label, results: Iterable[ShardResult]) -> Label:
    """The label with the events of each split. Raises ExportError if one has none."""
    if label.event is None:
        return label
    spans = {split: np.zeros((2, SPANS), int) for split in SPLITS}
    for result in results:
        if result.spans is not None:
            spans[result.split] = spans[result.split] + result.spans
    counts = {split: int(found[1].sum()) for split, found in spans.items()}
    if without_any := [split for split, count in counts.items() if not count]:
        raise ExportError(
            f"the event ({label.event.column}) happened in no example of the {without_any[0]} "
            f"split ({counts}): give it a larger share, or divide the events (split.stratify)"
        )
    censored, events = (
        {split: tuple(found[kind].tolist()) for split, found in spans.items()} for kind in (0, 1)
    )
    return replace(label, event=replace(label.event, events=events, censored=censored))


def _spans(block: pa.RecordBatch, label: Label) -> np.ndarray:
    """(2, SPANS) rows without and with the event; later ones count in the last span."""
    times, events = (block.column(name).to_numpy() for name in ("label", "event"))
    share = times.astype(np.float64) / label.number_statistics.max
    place = np.minimum((share * SPANS).astype(int), SPANS - 1)
    return np.bincount(events * SPANS + place, minlength=2 * SPANS).reshape(2, SPANS)
