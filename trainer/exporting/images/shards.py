"""Writes one shard in one call: reads its images, converts them, writes one TFRecord file.

Reading waits for the network, and OpenCV releases the interpreter lock, so a bounded pool of
threads does both. The encoded images, small compared with the originals, stay in memory until the
file is written in one request. An object in Cloud Storage appears when its upload ends, and a
shard's bytes depend on its Work only: a bundle that Beam repeats, or runs twice at once, writes the
same file again.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from trainer import label_sets
from trainer.exporting.images.assignment import Work
from trainer.exporting.images.manifest import Rejection, Row
from trainer.exporting.images.reading import (
    Read,
    StoredImage,
    files_of,
    lost_of,
    read_image,
)
from trainer.exporting.progress import Progress
from trainer.exporting.splits import fingerprints
from trainer.exporting.tfrecord import Column, tfrecords
from trainer.images import Loss
from trellis_contracts.dataset import Shard
from trellis_contracts.dataset_features import Feature
from trellis_contracts.tasks import MULTILABEL, MULTILABEL_MAX_CLASSES, REGRESSION


@dataclass(frozen=True)
class ShardResult:
    """Result of one shard. class_counts: number of examples by class index, without zeros.

    files: of each example a hash of the file that it was made of, and its key; "" in train. values:
    of a regression, in place of those counts, the labels of a train shard, as stored. lost: keys of
    the examples whose files hold more than the model is given, by what it is.
    """

    split: str
    shard: Shard
    class_counts: dict[int, int]
    rejected: tuple[Rejection, ...]
    files: tuple[tuple[int, str], ...] = ()
    values: tuple[float, ...] = ()
    lost: Mapping[Loss, tuple[str, ...]] = field(default_factory=dict)


def write_shard(
    work: Work,
    feature: Feature,
    read: Read,
    write: Callable[[str, bytes], None],
    pool: Executor,
) -> ShardResult:
    """Write the TFRecord file of one Work; pool runs the conversions.

    read(uri) returns an object's bytes or raises FileNotFoundError; write(name, data) stores the
    shard. Any other exception is raised to the caller: a network failure must not be recorded as a
    missing image.
    """
    progress = Progress(work.position, len(work.rows))
    rows, images, labels, rejected = [], [], [], []
    converted = pool.map(lambda row: _convert(row, feature, work.split, read), work.rows)
    for row, label, outcome in zip(work.rows, work.labels, converted, strict=True):
        if isinstance(outcome, Rejection):
            rejected.append(outcome)
        else:
            rows.append(row)
            images.append(outcome)
            labels.append(label)
        progress.step()
    names = [row.key for row in rows]
    keys = [name.encode() for name in names]
    regression = work.task == REGRESSION
    label_column = np.array(labels, dtype=np.float32 if regression else np.int64)
    columns: dict[str, Column] = {
        "key": keys,
        feature.name: [image.stored for image in images],
        "label": label_column,
    }
    if work.split == "test":
        # By these the smoke test finds the files that callers would send.
        columns["uri"] = [row.uri.encode() for row in rows]
        columns["crc32c"] = np.array([image.crc32c for image in images], dtype=np.int64)
        groups = [row.group for row in rows if row.group is not None]
        if groups:
            # The comparison counts groups, not images. All lines have one, or none.
            columns["group"] = fingerprints(groups)
    data = b"".join(tfrecords(columns))
    write(work.name, data)
    progress.finish(work.name, len(keys), len(rejected))
    counts = {} if regression else _class_counts(label_column, work.task)
    return ShardResult(
        split=work.split,
        shard=Shard(name=work.name, examples=len(keys), bytes=len(data)),
        class_counts=counts,
        rejected=tuple(rejected),
        files=files_of(names, images, work.split),
        values=tuple(label_column.tolist()) if regression and work.split == "train" else (),
        lost=lost_of(names, images),
    )


def _class_counts(labels: np.ndarray, task: str) -> dict[int, int]:
    if task == MULTILABEL:
        of_class = label_sets.members(labels, MULTILABEL_MAX_CLASSES).sum(axis=0).tolist()
        return {index: count for index, count in enumerate(of_class) if count}
    return dict(Counter(labels.tolist()))


def _convert(row: Row, feature: Feature, split: str, read: Read) -> StoredImage | Rejection:
    found = read_image(row.uri, feature, split, read)
    if isinstance(found, StoredImage):
        return found
    return Rejection(row.line, row.uri, row.label, found)
