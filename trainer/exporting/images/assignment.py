"""Gives every image of a manifest a label, a split and a shard, before any image is read.

A shard's content depends on the set of accepted lines only, not on their order in the file: rows
are sorted by fingerprint, which also mixes the labels over the shards, then cut into pieces of
nearly equal size. A number is its own label; class indices come from the manifest's labels, not
from the images that turn out to be readable, so that a corrupt image cannot change the class that
an index means.
"""

import itertools
from collections import Counter
from dataclasses import dataclass

from trainer import label_sets
from trainer.exporting import ExportError
from trainer.exporting.classes import in_order
from trainer.exporting.images.manifest import Manifest, Row
from trainer.exporting.settings import ImageExportSettings
from trainer.exporting.sharding import shard_counts
from trainer.exporting.splits import assign, fingerprints
from trellis_contracts.dataset import (
    CLASSIFICATION,
    COLUMN_RULE,
    SPLITS,
    Split,
    by_hash,
    shard_name,
)
from trellis_contracts.tasks import MULTILABEL, MULTILABEL_MAX_CLASSES, REGRESSION
from trellis_contracts.withheld import quoted, some_of


@dataclass(frozen=True)
class Work:
    """One Beam element: the images of one shard. labels[i] is what rows[i] is labelled with, by
    the task (one of trellis_contracts.dataset.FAMILIES): a class index, a set of them, or a number.
    """

    name: str
    split: str
    position: str  # "3 of 6", for the progress lines
    rows: tuple[Row, ...]
    labels: tuple[float, ...]
    task: str = CLASSIFICATION


@dataclass(frozen=True)
class Plan:
    """The assignments of one export.

    classes: names in the order of their indices; none of a regression. work: one entry per shard,
    train first.
    """

    classes: tuple[str, ...]
    split: Split
    work: tuple[Work, ...]

    def examples(self, split: str) -> int:
        """Number of images planned for a split, before any is rejected."""
        return sum(len(work.rows) for work in self.work if work.split == split)


def make_plan(manifest: Manifest, settings: ImageExportSettings) -> Plan:
    """Assign labels, splits and shards.

    Raises ExportError if the dataset would be unusable: fewer than two labels, an empty split, a
    class without a train example, or more shards than train examples.
    """
    labels = _labels(manifest, settings.task, settings.positive)
    classes = () if settings.task == REGRESSION else labels
    if manifest.names_splits:
        split = Split(COLUMN_RULE if settings.days is None else _by_days(settings))
        rows = {name: [row for row in manifest.rows if row.split == name] for name in SPLITS}
    elif settings.stratify:
        shares = "/".join(map(str, settings.fractions))
        split = Split(f"{shares} percent of each class, by rank of FARM_FINGERPRINT(key)")
        rows = _stratified(manifest, settings.fractions)
    else:
        by = settings.split_by
        split = by_hash(settings.fractions, by)
        hashed = (row.key if row.group is None else row.group for row in manifest.rows)
        splits = assign(hashed, split.ranges)
        rows = {name: [] for name in SPLITS}
        for row, index in zip(manifest.rows, splits.tolist(), strict=True):
            rows[SPLITS[index]].append(row)
    _check_splits(rows, classes, split)
    return Plan(classes, split, tuple(_cut(rows, classes, settings)))


def _by_days(settings: ImageExportSettings) -> str:
    """The rule, for people."""
    assert settings.days is not None
    validation, test = settings.days
    return f"{settings.split_by}: validation from {validation}, test from {test}"


def _stratified(manifest: Manifest, fractions: tuple[int, int, int]) -> dict[str, list[Row]]:
    """The rows of each split, of each class as many as plugins' snapshot.sql gives a table's: at
    least one for test, then for validation, but one for train before either.
    """
    by_class: dict[str, list[Row]] = {}
    for row in manifest.rows:
        by_class.setdefault(row.label, []).append(row)
    _, for_validation, for_test = fractions
    rows: dict[str, list[Row]] = {name: [] for name in SPLITS}
    for one in by_class.values():
        size = len(one)
        test = min(max((size * for_test + 50) // 100, 1), size - 1)
        validation = min(max((size * for_validation + 50) // 100, 1), size - 1 - test)
        edges = [0, size - test - validation, size - test, size]
        mixed = _mix(one)
        for name, (start, end) in zip(SPLITS, itertools.pairwise(edges), strict=True):
            rows[name] += mixed[start:end]
    return rows


def _labels(manifest: Manifest, task: str, positive: str | None) -> tuple[str, ...]:
    if not manifest.rows:
        raise ExportError(
            f"no usable line among {manifest.lines}; the first is line {manifest.rejected[0].line}"
            f"{quoted(f': {manifest.rejected[0].reason}', '')}"
        )
    labels = in_order({name for row in manifest.rows for name in row.labels}, positive)
    if len(labels) < 2:
        raise ExportError(
            f"only one label{quoted(f', {labels[0]!r},', '')} on all {len(manifest.rows)} usable "
            "lines; there is nothing to learn"
        )
    if task == MULTILABEL and len(labels) > MULTILABEL_MAX_CLASSES:
        raise ExportError(
            f"{len(labels)} different labels; a multi-label dataset has up to "
            f"{MULTILABEL_MAX_CLASSES} classes: leave the rarest out"
        )
    return labels


def _check_splits(rows: dict[str, list[Row]], classes: tuple[str, ...], split: Split) -> None:
    sizes = {name: len(rows[name]) for name in SPLITS}
    for name in SPLITS:
        if not rows[name]:
            remedy = (
                f"mark some lines as {'training' if name == 'train' else name}"
                if split.rule == COLUMN_RULE
                else "the manifest is too small for this share: add images, raise the share in "
                "--split_fractions, or name the splits with ML_USE"
                if split.ranges
                else f"the rule is {split.rule}"
            )
            raise ExportError(f"the {name} split has no example ({sizes}); {remedy}")
    in_train = Counter(name for row in rows["train"] for name in row.labels)
    if absent := [name for name in classes if not in_train[name]]:
        raise ExportError(
            f"no example in the train split for {len(absent)} of {len(classes)} classes: "
            f"{some_of(absent, 'class', 'classes', 10)}; add images of them or remove their lines"
        )


def _cut(
    rows: dict[str, list[Row]], classes: tuple[str, ...], settings: ImageExportSettings
) -> list[Work]:
    sizes, train_shards = {name: len(rows[name]) for name in SPLITS}, settings.shards
    if train_shards > sizes["train"]:
        raise ExportError(
            f"--shards {train_shards} is more than the {sizes['train']} examples of the train split"
        )
    counts = shard_counts(sizes, train_shards)
    total = sum(counts.values())
    class_index = {name: index for index, name in enumerate(classes)}
    work: list[Work] = []
    for split, count in counts.items():
        mixed = _mix(rows[split])
        edges = [len(mixed) * index // count for index in range(count + 1)]
        for index, (start, end) in enumerate(itertools.pairwise(edges)):
            piece = tuple(mixed[start:end])
            work.append(
                Work(
                    name=shard_name(split, index, count),
                    split=split,
                    position=f"{len(work) + 1} of {total}",
                    rows=piece,
                    labels=tuple(_label(row, class_index, settings.task) for row in piece),
                    task=settings.task,
                )
            )
    return work


def _label(row: Row, class_index: dict[str, int], task: str) -> float:
    if task == MULTILABEL:
        return label_sets.of(class_index[name] for name in row.labels)
    return class_index[row.label] if row.value is None else row.value


def _mix(rows: list[Row]) -> list[Row]:
    """Rows sorted by fingerprint, equal fingerprints by key; keys are unique."""
    keys = [row.key for row in rows]
    return [row for *_, row in sorted(zip(fingerprints(keys).tolist(), keys, rows, strict=True))]
