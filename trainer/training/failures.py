"""Finds the causes of errors of TensorFlow and the operating system: where, and what to do."""

import contextlib
import errno
import re
from collections.abc import Iterator

import tensorflow as tf

from trainer import storage
from trainer.training import TrainingError
from trellis_contracts.dataset import SPLITS, DatasetDescription

_FULL = (errno.ENOSPC, errno.EDQUOT)
# A record's length (8 bytes), the length's checksum (4), the record, its checksum (4):
# https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
_FRAME_BYTES = 16


@contextlib.contextmanager
def explained(address: str, dataset: DatasetDescription) -> Iterator[None]:
    """Raises TrainingError for a corrupt record, a full disk, and a device out of memory.

    address: of the dataset's folder.
    """
    try:
        yield
    except tf.errors.DataLossError as error:
        found = corrupt_record(address, dataset)
        raise TrainingError(found or f"a record of the dataset is corrupt: {error}") from error
    except OSError as error:
        if error.errno not in _FULL:
            raise
        where = error.filename2 or error.filename
        raise TrainingError(_full(f" (while writing {where})" if where else "")) from error
    except tf.errors.ResourceExhaustedError as error:
        if "No space left on device" in str(error):
            raise TrainingError(_full("")) from error
        shape = re.search(r"allocating tensor with (shape\[[\d,]*\])", str(error))
        what = f" for a tensor of {shape[1]}" if shape else ""
        raise TrainingError(
            f"a device has no memory left{what}: use a smaller batch_size, with accumulation for "
            "the same examples a step, mixed_precision, or a machine or GPU with more memory"
        ) from error


def corrupt_record(address: str, dataset: DatasetDescription) -> str | None:
    """Find the file of the dataset with a corrupt record, and the byte at which the record begins.

    Reads the splits one file after the other, up to the first such record; None if there is none.
    """
    for split in SPLITS:
        for uri in dataset.uris(address, split):
            offset = records = 0
            try:
                for record in tf.data.TFRecordDataset(str(storage.local_path(uri))):
                    offset += len(record.numpy()) + _FRAME_BYTES
                    records += 1
            except tf.errors.DataLossError:
                return (
                    f"{uri} is corrupt: its record {records + 1}, from byte {offset} on, does not "
                    "fit its checksum. Restore the file, or delete the dataset's dataset.json and "
                    "export it again"
                )
    return None


def _full(where: str) -> str:
    return (
        f"the disk is full{where}. A job's boot disk also holds its temporary files; checkpoints "
        "pass through it. The last whole checkpoint stays: start again with more space"
    )
