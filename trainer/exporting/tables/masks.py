"""Counts the classes of all masks, and refuses those from which nothing can be learned."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from trainer.exporting import ExportError
from trainer.exporting.tables.findings import values
from trellis_contracts.columns import Columns
from trellis_contracts.dataset import Counts


class ShardMasks(Protocol):
    """A shard's masks: how many have each class, and how many the background alone."""

    @property
    def split(self) -> str: ...
    @property
    def masks(self) -> np.ndarray | None: ...
    @property
    def blank(self) -> int: ...


def counted(
    counts: Mapping[str, Counts], shards: Iterable[ShardMasks], classes: Sequence[str]
) -> dict[str, Counts]:
    """The counts of each split, with those of the masks by class."""
    of_split = {split: np.zeros(len(classes), int) for split in counts}
    for shard in shards:
        if shard.masks is not None:
            of_split[shard.split] = of_split[shard.split] + shard.masks
    return {
        split: replace(known, classes=dict(zip(classes, of_split[split].tolist(), strict=True)))
        for split, known in counts.items()
    }


def check(
    counts: Mapping[str, Counts], shards: Iterable[ShardMasks], columns: Columns
) -> Iterator[str]:
    """Warn of masks of the background alone. Raises ExportError if a split has no others, or no
    mask of train has some class. counts: as `counted` makes them.
    """
    background, *foreground = (one.name for one in columns.masks)
    for split in columns.needed:
        if not any(counts[split].classes[name] for name in foreground):
            raise ExportError(
                f"all {counts[split].examples} masks of the {split} split are {background!r} "
                "alone: take more images, give that split a larger share, or look whether "
                "source.masks names the values rightly"
            )
    if absent := [name for name in foreground if not counts["train"].classes[name]]:
        raise ExportError(
            f"no mask of the train split has {len(absent)} of {len(columns.masks)} classes: "
            f"{values(absent)}; add images of them, or leave them out of source.masks"
        )
    return _blank(counts, shards, background)


def _blank(
    counts: Mapping[str, Counts], shards: Iterable[ShardMasks], background: str
) -> Iterator[str]:
    of_split = dict.fromkeys(counts, 0)
    for shard in shards:
        of_split[shard.split] += shard.blank
    if found := sum(of_split.values()):
        examples = sum(split.examples for split in counts.values())
        split = ", ".join(f"{count} of {name}" for name, count in of_split.items() if count)
        yield f"{found} of {examples} masks are {background!r} alone ({split})"
