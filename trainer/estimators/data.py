"""A dataset as a group's own `fit` reads it: whole splits, or one batch after the other."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from trainer import label_sets, stored
from trainer.estimators import batch
from trainer.estimators.batch import Batch, Examples
from trainer.stored import StoredBatch, StoredError
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import Feature

# Records that are parsed at once.
_AT_ONCE = 4096


class Data:
    """The train and the validation split.

    address: of the dataset's folder. dataset: with the features that are read. most: examples of
    each split to read at most; None: all. classes: of the label, () of a number. times: of a time
    to an event, those at which a predictor answers. features: name, kind, vocabulary and statistics
    of each.
    """

    def __init__(self, address: str, dataset: DatasetDescription, most: int | None = None):
        self._address, self.dataset, self._most = address, dataset, most
        self.classes: tuple[str, ...] = dataset.classes
        self.times: tuple[float, ...] = dataset.label.times
        self.features: tuple[Feature, ...] = dataset.features

    @cached_property
    def train(self) -> Examples:
        """All examples of the train split."""
        return self._whole("train")

    @cached_property
    def validation(self) -> Examples:
        """All examples of the validation split."""
        return self._whole("validation")

    def batches(self, split: str, size: int) -> Iterator[Examples]:
        """The examples of a split, `size` in a batch, always in the same order. split: train or
        validation. Raises ValueError.
        """
        if split not in ("train", "validation"):
            raise ValueError(f"{split!r} is no split to learn from: expected train or validation")
        for found in self.stored(split, size):
            yield examples(found)

    def stored(self, split: str, size: int) -> Iterator[StoredBatch]:
        """The records of a split. Raises StoredError."""
        left = self._most
        for found in stored.batches(self._address, self.dataset, split, size):
            if left is not None:
                found = StoredBatch(found.dataset, found.payloads[:left])
                left -= len(found)
            if len(found):
                yield found

    def _whole(self, split: str) -> Examples:
        parts = list(self.stored(split, _AT_ONCE))
        expected = self.dataset.examples(split)
        if self._most is None and sum(map(len, parts)) != expected:
            raise StoredError(
                f"the {split} split has {expected} examples by its dataset.json, but "
                f"{sum(map(len, parts))} in its files: export the dataset again"
            )
        return _together([examples(part) for part in parts])


def examples(found: StoredBatch) -> Examples:
    """The records with their answers."""
    dataset, labels = found.dataset, found.labels
    if dataset.is_multilabel:
        labels = label_sets.members(labels, len(dataset.classes))
    weights = np.ones(len(found))
    if dataset.weight:
        values = [each[dataset.weight.name].float_list.value[0] for each in found.features]
        weights = np.array(values) / dataset.weight.statistics.mean
    return Examples(batch.of_stored(found, dataset.features), found.keys, labels, weights)


def _together(parts: list[Examples]) -> Examples:
    first = parts[0]
    names = [feature.name for feature in first.features]
    columns = {name: np.concatenate([part.column(name) for part in parts]) for name in names}
    keys, labels, weights = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("keys", "labels", "weights")
    )
    return Examples(Batch(first.features, columns), keys, labels, weights)
