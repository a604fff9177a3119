"""Images of a table's rows: reads those that the columns of a block name, and labels that are
files, for one shard.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np
import pyarrow as pa

from trainer.exporting.images.reading import Read, StoredImage, files_of, lost_of, read_image
from trainer.exporting.progress import Progress
from trainer.exporting.tables import labels
from trainer.exporting.tables.layout import ShardWork
from trainer.exporting.tables.rejected import RejectedRow
from trainer.exporting.tfrecord import Column
from trainer.images import Loss
from trellis_contracts.columns import Columns
from trellis_contracts.dataset_features import IMAGE, Feature

# Bytes of decoded images that rows held at once would have.
_BYTES_AT_ONCE = 256 << 20


class RowImages:
    """Reads a shard's images, in the threads of a pool, and collects what became of them.

    features: the image columns, and how records have them. rejected: rows with an unusable image.
    files, lost: see trainer.exporting.images.reading.ShardImages. paths: whether an address may be
    a path of this machine.
    """

    def __init__(
        self, columns: Columns, work: ShardWork, read: Read, pool: Executor, paths: bool = False
    ):
        self.features = columns.images()
        self.rejected: list[RejectedRow] = []
        self.files: list[tuple[int, str]] = []
        self.lost: dict[Loss, tuple[str, ...]] = {}
        self._name, self._label = columns.label, labels.of(columns)
        self._split, self._read, self._pool, self._paths = work.split, read, pool, paths
        self._progress = Progress(work.position, (work.end - work.start) * len(self.features))

    def parts(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Divide a block so that the images of a part fit into memory."""
        bytes_ = sum(
            int(np.prod(feature.image_shape)) * np.dtype(feature.dtype).itemsize
            for feature in self.features.values()
        )
        step = max(1, _BYTES_AT_ONCE // bytes_) if bytes_ else max(1, len(rows))
        for start in range(0, len(rows), step):
            yield rows.slice(start, step)

    def usable(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, Column], list[Any]]:
        """The rows whose images and labels are all usable, the record features of these images, and
        the labels' files.
        """
        if not self.features:
            return rows, {}, []
        keys = rows.column("key").to_pylist()
        uris = {
            feature: rows.column(f"{IMAGE}/{column.column}").to_pylist()
            for column, feature in self.features.items()
        }
        found = {feature: list(self._images(feature, some)) for feature, some in uris.items()}
        named_labels = rows.column("label").to_pylist()
        of_files = self._label.of_files
        files = self._files(named_labels, next(iter(found.values()))) if of_files else []
        kept = []
        for place, key in enumerate(keys):
            named: list[tuple[str, str, object]] = [
                (each.name, uris[each][place], found[each][place]) for each in uris
            ]
            if files:
                named.append((self._name, named_labels[place], files[place]))
            for name, uri, reason in named:
                if isinstance(reason, str):
                    label = str(named_labels[place])
                    row = RejectedRow(key, name, uri, label, reason, self._split)
                    self.rejected.append(row)
                    break
            else:
                kept.append(place)
        stored: dict[str, Column] = {}
        for feature in uris:
            of_kept = (found[feature][place] for place in kept)
            images = [image for image in of_kept if isinstance(image, StoredImage)]
            of_keys = [keys[place] for place in kept]
            stored |= self._columns(feature, images, [uris[feature][place] for place in kept])
            self.files += files_of(of_keys, images, self._split)
            for loss, lost in lost_of(of_keys, images).items():
                self.lost[loss] = (*self.lost.get(loss, ()), *lost)
        kept_files = [files[place] for place in kept] if files else []
        return rows.take(pa.array(kept, pa.int64())), stored, kept_files

    def _files(self, uris: Sequence[str], found: Sequence[StoredImage | str]) -> list[Any]:
        """The label's file at each address, or why it is unusable. found: the first image of each
        row.
        """
        images = next(iter(self.features.values()))

        def file(uri: str, image: StoredImage | str) -> Any:
            if isinstance(image, str):
                return image
            return self._no_address(uri) or self._label.file(uri, image, images, self._read)

        return list(self._pool.map(file, uris, found))

    def _images(self, feature: Feature, uris: Sequence[str]) -> Iterator[StoredImage | str]:
        """The image at each address, or why it is unusable."""
        for found in self._pool.map(lambda uri: self._image(feature, uri), uris):
            self._progress.step()
            yield found

    def _image(self, feature: Feature, uri: str) -> StoredImage | str:
        return self._no_address(uri) or read_image(uri, feature, self._split, self._read)

    def _no_address(self, uri: str) -> str:
        """Why this is no address, or nothing."""
        if "://" not in uri and not (uri and self._paths):
            return "no address gs://BUCKET/OBJECT" if uri else "no address"
        return ""

    def _columns(
        self, feature: Feature, images: Sequence[StoredImage], uris: Sequence[str]
    ) -> dict[str, Column]:
        columns: dict[str, Column] = {feature.record_name: [image.stored for image in images]}
        if self._split == "test":
            # By these the smoke test finds the files that callers would send.
            columns[feature.beside("uri")] = [uri.encode() for uri in uris]
            sums = [image.crc32c for image in images]
            columns[feature.beside("crc32c")] = np.array(sums, np.int64)
        return columns
