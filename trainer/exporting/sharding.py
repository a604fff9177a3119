"""The number of TFRecord files of each split."""


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
