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

from trainer.dataset_description import (
    COLUMN_RULE,
    GROUP_RULE,
    HASH_RULE,
    SPLITS,
    Split,
    shard_name,
)
from trainer.exporting import ExportError
from trainer.exporting.classes import natural_order
from trainer.exporting.images.manifest import Manifest, Row
from trainer.exporting.settings import ImageExportSettings
from trainer.exporting.sharding import shard_counts
from trainer.exporting.splits import assign, fingerprints, ranges


@dataclass(frozen=True)
class Work:
    """One Beam element: the images of one shard. labels[i] is the class index of rows[i], or its
    number if `regression`.
    """

    name: str
    split: str
    position: str  # "3 of 6", for the progress lines
    rows: tuple[Row, ...]
    labels: tuple[float, ...]
    regression: bool = False


@dataclass(frozen=True)
class Plan:
    """What an export will write.

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
    labels = _labels(manifest)
    classes = () if settings.regression else labels
    if manifest.names_splits:
        split = Split(COLUMN_RULE)
        rows = {name: [row for row in manifest.rows if row.split == name] for name in SPLITS}
    else:
        by = settings.split_by
        split = Split(HASH_RULE if by is None else GROUP_RULE, ranges(settings.fractions), by)
        hashed = (row.key if row.group is None else row.group for row in manifest.rows)
        splits = assign(hashed, split.ranges)
        rows = {name: [] for name in SPLITS}
        for row, index in zip(manifest.rows, splits.tolist(), strict=True):
            rows[SPLITS[index]].append(row)
    _check_splits(rows, classes, split)
    return Plan(classes, split, tuple(_cut(rows, classes, settings.shards)))


def _labels(manifest: Manifest) -> tuple[str, ...]:
    if not manifest.rows:
        raise ExportError(
            f"no usable line among {manifest.lines}; the first is "
            f"line {manifest.rejected[0].line}: {manifest.rejected[0].reason}"
        )
    labels = tuple(sorted({row.label for row in manifest.rows}, key=natural_order))
    if len(labels) < 2:
        raise ExportError(
            f"only one label, {labels[0]!r}, on all {len(manifest.rows)} usable lines; "
            "there is nothing to learn"
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
            )
            raise ExportError(f"the {name} split has no example ({sizes}); {remedy}")
    in_train = Counter(row.label for row in rows["train"])
    if absent := [name for name in classes if not in_train[name]]:
        raise ExportError(
            f"no example in the train split for {len(absent)} of {len(classes)} classes: "
            f"{', '.join(map(repr, absent[:10]))}; add images of them or remove their lines"
        )


def _cut(rows: dict[str, list[Row]], classes: tuple[str, ...], train_shards: int) -> list[Work]:
    sizes = {name: len(rows[name]) for name in SPLITS}
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
                    labels=tuple(
                        class_index[row.label] if row.value is None else row.value for row in piece
                    ),
                    regression=not classes,
                )
            )
    return work


def _mix(rows: list[Row]) -> list[Row]:
    """Rows sorted by fingerprint, equal fingerprints by key; keys are unique."""
    keys = [row.key for row in rows]
    return [row for *_, row in sorted(zip(fingerprints(keys).tolist(), keys, rows, strict=True))]
