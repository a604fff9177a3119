"""The number of TFRecord files of each split."""

SHARD_BYTES = 150e6
"""Of a file, where their number follows from bytes: between 100 MB, so that opening one takes far
less time than reading it, and 200 MB, so that there are enough to read beside each other.
"""

MOST = 10_000
"""Files whose number follows from bytes: of 1.5 TB. Beyond, they become larger."""


def by_bytes(least: int, rows: int, bytes_: float) -> int:
    """Number of train files of so many rows and bytes: of SHARD_BYTES each, but at least `least`,
    and no more than there are rows.
    """
    return min(rows, MOST, max(least, round(bytes_ / SHARD_BYTES)))


def shard_counts(examples: dict[str, int], train_shards: int) -> dict[str, int]:
    """Number of files by split: train_shards for train, the others in proportion, at least 1.

    examples: number of examples by split.
    """
    return {
        split: train_shards
        if split == "train"
        else max(1, round(train_shards * count / examples["train"]))
        for split, count in examples.items()
    }
