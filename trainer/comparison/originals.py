"""The test split's images: as the dataset stores them, and the files that they were made of.

A record of the test split names its file (`uri`, `crc32c`), so that a model can be asked, and
scored, as callers ask it. No TensorFlow here.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import google_crc32c

from trainer import label_sets, storage
from trainer.comparison import held_out_split
from trellis_contracts.dataset import DatasetDescription


class OriginalError(ValueError):
    """The file that an image was made of cannot be read any more; the message says why."""


@dataclass(frozen=True)
class HeldOutImage:
    """One example. label: name of its class, or its number. stored: the dataset's PNG. uri, crc32c:
    of the file that it was made of.
    """

    key: str
    label: str | float
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


def of_test_split(
    directory: str, dataset: DatasetDescription, keys: Collection[str] | None = None
) -> Iterator[HeldOutImage]:
    """The images of the dataset in `directory` (gs:// address or path), in the files' order.

    keys: only these. Raises HeldOutSplitError.
    """
    name = dataset.features[0].name
    for record in held_out_split.records(directory, dataset):
        if keys is None or record.key in keys:
            yield HeldOutImage(
                key=record.key,
                label=_label(record.label, dataset),
                stored=record.bytes_of(name),
                uri=record.bytes_of("uri").decode(),
                crc32c=record.features["crc32c"].int64_list.value[0],
            )


def _label(label: int | float, dataset: DatasetDescription) -> str | float:
    """Return the label in the form of a table's column."""
    if dataset.is_multilabel:
        return label_sets.joined(int(label), dataset.classes)
    return label if dataset.is_regression else dataset.classes[int(label)]
