"""The number of TFRecord files of each split."""


def shard_counts(examples: dict[str, int], train_shards: int) -> dict[str, int]:
    """Shards per split: as asked for train; the others in proportion, at least one."""
    return {
        split: train_shards
        if split == "train"
        else max(1, round(train_shards * count / examples["train"]))
        for split, count in examples.items()
    }
