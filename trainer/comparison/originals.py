"""The test split's images: as the dataset stores them, and the files that they were made of.

A record of the test split names the file of each of its images (`uri`, `crc32c`), so that a model
can be asked, and scored, as callers ask it. No TensorFlow here.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import google_crc32c

from trainer import storage
from trainer.comparison import held_out_split
from trainer.comparison.held_out_split import Record
from trellis_contracts.dataset import DatasetDescription
from trellis_contracts.dataset_features import IMAGE
from trellis_contracts.withheld import RowsError


class OriginalError(RowsError, ValueError):
    """The file that an image was made of cannot be read any more; the message says why."""


@dataclass(frozen=True)
class HeldOutImage:
    """An image of an example. stored: the dataset's PNG. uri, crc32c: of the file that it was made
    of.
    """

    stored: bytes
    uri: str
    crc32c: int

    def original(self) -> bytes:
        """The file that the image was made of, through the mount. Raises OriginalError."""
        try:
            data = storage.local_path(self.uri).read_bytes()
        except OSError as error:
            raise OriginalError(f"the file cannot be read: {error.strerror}") from error
        if google_crc32c.value(data) != self.crc32c:
            raise OriginalError("it is another file than when the dataset was made")
        return data


@dataclass(frozen=True)
class HeldOutImages:
    """The images of an example, by the features' names. label: as the record has it."""

    key: str
    label: Any
    images: Mapping[str, HeldOutImage]


def of_test_split(
    directory: str, dataset: DatasetDescription, keys: Collection[str] | None = None
) -> Iterator[HeldOutImages]:
    """The images of the dataset in `directory` (gs:// address or path), in the files' order.

    keys: only of these examples. Raises HeldOutSplitError.
    """
    for record in held_out_split.records(directory, dataset):
        if keys is None or record.key in keys:
            yield _read(record, dataset)


class ImagesByKey:
    """Images by key; memory holds where each lies. Raises HeldOutSplitError."""

    def __init__(self, directory: str, dataset: DatasetDescription):
        self._dataset = dataset
        records = held_out_split.records(directory, dataset)
        self._records = {record.key: record.place for record in records}

    def __contains__(self, key: str) -> bool:
        return key in self._records

    def __getitem__(self, key: str) -> HeldOutImages:
        return _read(held_out_split.record_at(self._records[key], self._dataset), self._dataset)


def _read(record: Record, dataset: DatasetDescription) -> HeldOutImages:
    images = {}
    for feature in dataset.features:
        if feature.kind == IMAGE:
            images[feature.name] = HeldOutImage(
                stored=record.bytes_of(feature.record_name),
                uri=record.address_of(feature),
                crc32c=record.features[feature.beside("crc32c")].int64_list.value[0],
            )
    return HeldOutImages(record.key, record.label, images)
