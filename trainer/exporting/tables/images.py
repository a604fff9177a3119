"""Images of a table's rows: reads those that the columns of a block name, for one shard."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from trainer.exporting.images.reading import StoredImage, files_of, lost_of, read_image
from trainer.exporting.progress import Progress
from trainer.exporting.tables.layout import ShardWork
from trainer.exporting.tables.rejected import RejectedRow
from trainer.exporting.tfrecord import Column
from trainer.images import Loss
from trellis_contracts.columns import Columns
from trellis_contracts.dataset_features import IMAGE, Feature

# Bytes of decoded images that rows held at once would have.
_BYTES_AT_ONCE = 256 << 20

ReadImages = Callable[[Sequence[tuple[str, Feature, str]]], Iterator[StoredImage | str]]
"""Reads images in order: (address, feature, split) to what `read_image` returns, each."""


class RowImages:
    """Reads a shard's images, and collects what became of them.

    features: the table's image features. rejected: rows with an unusable image. files, lost: see
    trainer.exporting.images.reading.ShardImages.
    """

    def __init__(self, columns: Columns, work: ShardWork, read: ReadImages):
        self.features = [feature.described() for feature in columns.of(IMAGE)]
        self.rejected: list[RejectedRow] = []
        self.files: list[tuple[int, str]] = []
        self.lost: dict[Loss, tuple[str, ...]] = {}
        self._split, self._read = work.split, read
        self._progress = Progress(work.position, (work.end - work.start) * len(self.features))

    def parts(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Divide a block so that the images of a part fit into memory."""
        bytes_ = sum(
            int(np.prod(feature.image_shape)) * np.dtype(feature.dtype).itemsize
            for feature in self.features
        )
        step = max(1, _BYTES_AT_ONCE // bytes_) if bytes_ else max(1, len(rows))
        for start in range(0, len(rows), step):
            yield rows.slice(start, step)

    def usable(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, Column]]:
        """The rows whose images are all usable, and the record features of their images."""
        if not self.features:
            return rows, {}
        keys = rows.column("key").to_pylist()
        uris = {feature: rows.column(feature.record_name).to_pylist() for feature in self.features}
        wanted = [(uri, feature, self._split) for feature in self.features for uri in uris[feature]]
        answers = iter(self._answers(wanted))
        found = {feature: [next(answers) for _ in keys] for feature in self.features}
        labels = rows.column("label").to_pylist()
        kept = []
        for place, key in enumerate(keys):
            for feature in self.features:
                if isinstance(reason := found[feature][place], str):
                    uri, label = uris[feature][place], str(labels[place])
                    row = RejectedRow(key, feature.name, uri, label, reason, self._split)
                    self.rejected.append(row)
                    break
            else:
                kept.append(place)
        stored: dict[str, Column] = {}
        for feature in self.features:
            of_kept = (found[feature][place] for place in kept)
            images = [image for image in of_kept if isinstance(image, StoredImage)]
            of_keys = [keys[place] for place in kept]
            stored |= self._columns(feature, images, [uris[feature][place] for place in kept])
            self.files += files_of(of_keys, images, self._split)
            for loss, lost in lost_of(of_keys, images).items():
                self.lost[loss] = (*self.lost.get(loss, ()), *lost)
        return rows.take(pa.array(kept, pa.int64())), stored

    def _answers(self, wanted: Sequence[tuple[str, Feature, str]]) -> Iterator[StoredImage | str]:
        for answer in self._read(wanted):
            self._progress.step()
            yield answer

    def _columns(
        self, feature: Feature, images: Sequence[StoredImage], uris: Sequence[str]
    ) -> dict[str, Column]:
        columns: dict[str, Column] = {feature.record_name: [image.stored for image in images]}
        if self._split == "test":
            # By these the smoke test finds the files that callers would send.
            columns[f"uri/{feature.column}"] = [uri.encode() for uri in uris]
            checksums = [image.crc32c for image in images]
            columns[f"crc32c/{feature.column}"] = np.array(checksums, np.int64)
        return columns


def read_one(wanted: tuple[str, Feature, str], read: Callable[[str], bytes]) -> StoredImage | str:
    """See read_image; an empty address is unusable too."""
    uri, feature, split = wanted
    if "://" not in uri:
        return "no address gs://BUCKET/OBJECT" if uri else "no address"
    return read_image(uri, feature, split, read)
