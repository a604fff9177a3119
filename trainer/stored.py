"""Reads the records of a dataset as they are stored: trellis_contracts.dataset_features has their
fields.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trainer import masks, storage
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import Label
from trellis_contracts.records import Example, parse, payloads


class StoredError(ValueError):
    """A dataset's file cannot be read; the message names it, and the record."""


@dataclass(frozen=True)
class StoredBatch:
    """Examples of a dataset as it stores them: n serialized tf.train.Examples."""

    dataset: DatasetDescription
    payloads: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.payloads)

    @cached_property
    def features(self) -> list[Mapping[str, Any]]:
        """The features of each tf.train.Example, by name."""
        return [parse(payload).features.feature for payload in self.payloads]

    @property
    def keys(self) -> np.ndarray:
        """(n,) object array of str."""
        keys = [features["key"].bytes_list.value[0].decode() for features in self.features]
        return np.array(keys, dtype=object)

    @property
    def groups(self) -> np.ndarray | None:
        """(n,) int64, the group of each example; None unless groups decide the dataset's split."""
        if self.dataset.split.by is None:
            return None
        return np.array([features["group"].int64_list.value[0] for features in self.features])

    @property
    def labels(self) -> np.ndarray:
        """(n,) int64 class indices, or sets of them (trainer.label_sets); of a regression float64,
        as the float32 that is stored; of a time to an event (n, 2), with 1 or 0 beside the time; of
        masks (n, height, width) uint8.
        """
        return labels_of(self.dataset.label, self.features)


def labels_of(label: Label, features: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """The labels of n tf.train.Examples, given the features of each; see StoredBatch.labels."""
    if label.encoding is not None:
        pngs = [each[label.name].bytes_list.value[0] for each in features]
        found_masks = [masks.decode(png, 256) for png in pngs]
        return np.array(found_masks, np.uint8).reshape(len(pngs), *label.mask_shape)
    numbers = label.dtype == "float32"
    kind = "float_list" if numbers else "int64_list"
    found = [getattr(each[label.name], kind).value for each in features]
    if any(len(values) != label.values for values in found):
        raise ValueError(f"a label has not {label.values} value{'s' * (label.values > 1)}")
    values = [list(one) if label.values > 1 else one[0] for one in found]
    shape = (len(found), label.values) if label.values > 1 else (len(found),)
    return np.array(values, np.float64 if numbers else np.int64).reshape(shape)


def batches(
    address: str, dataset: DatasetDescription, split: str, size: int
) -> Iterator[StoredBatch]:
    """The examples of a split, in the order of its files, `size` in a batch.

    address: of the dataset's folder, gs://... or a path. Raises StoredError.
    """
    found = payloads_of(address, dataset, split)
    while some := list(itertools.islice(found, size)):
        yield StoredBatch(dataset, some)


def payloads_of(address: str, dataset: DatasetDescription, split: str) -> Iterator[bytes]:
    """The records of a split, in the order of its files. Raises StoredError."""
    for uri in dataset.uris(address, split):
        number = 0
        try:
            with open(storage.local_path(uri), "rb") as file:
                for _, payload in payloads(file):
                    yield payload
                    number += 1
        except OSError as error:
            raise StoredError(f"{uri} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise StoredError(f"{uri}, record {number}: {error}") from error


def serialize(values: Mapping[str, np.ndarray | bytes]) -> bytes:
    """A record with these features: bytes, a vector of whole numbers, or one of floats."""
    message = Example()
    for name, value in values.items():
        feature = message.features.feature[name]
        if isinstance(value, bytes):
            feature.bytes_list.value.append(value)
        elif value.dtype.kind == "i":
            feature.int64_list.value.extend(value.tolist())
        else:
            feature.float_list.value.extend(value.tolist())
    found: bytes = message.SerializeToString()
    return found
