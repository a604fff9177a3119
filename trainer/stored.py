"""Reads the records of a dataset as they are stored, without TensorFlow, whose import takes longer
than many a reading.

A TFRecord is a length, a checksum and a payload
(https://www.tensorflow.org/tutorials/load_data/tfrecord). The payload is a tf.train.Example, a
protocol buffer of nested messages (example.proto and feature.proto in TensorFlow's sources),
declared below so that protobuf's own parser reads it. trellis_contracts.dataset_features has the
fields of a record.
"""

import itertools
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

import google_crc32c
import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from trainer import storage
from trellis_contracts.dataset import DatasetDescription


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
    def labels(self) -> np.ndarray:
        """(n,) int64 class indices, or sets of them (trainer.label_sets); of a regression float64,
        as the float32 that is stored.
        """
        name, regression = self.dataset.label.name, self.dataset.is_regression
        kind = "float_list" if regression else "int64_list"
        values = [getattr(features[name], kind).value[0] for features in self.features]
        return np.array(values, np.float64 if regression else np.int64)


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


def payloads(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, payload) of every record; ValueError if the file is damaged."""
    while header := file.read(12):
        if len(header) < 12 or _masked_crc(header[:8]) != header[8:]:
            raise ValueError("damaged length field: not a TFRecord file, or truncated")
        (length,) = struct.unpack("<Q", header[:8])
        offset = file.tell()
        payload, checksum = file.read(length), file.read(4)
        if len(payload) < length or _masked_crc(payload) != checksum:
            raise ValueError("wrong checksum: the file is damaged")
        yield offset, payload


def parse(payload: bytes) -> Any:
    """The tf.train.Example of a record. Raises ValueError."""
    try:
        return _Example.FromString(payload)
    except Exception as error:  # DecodeError is another class in each implementation of protobuf
        raise ValueError(f"not a tf.train.Example: {error}") from error


def serialize(values: Mapping[str, np.ndarray | bytes]) -> bytes:
    """A record with these features: bytes, a vector of whole numbers, or one of floats."""
    message = _Example()
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


def _masked_crc(data: bytes) -> bytes:
    """TFRecord's checksum: the CRC32C, rotated and offset by a constant."""
    crc = google_crc32c.value(data)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return struct.pack("<I", masked)


def _example_class():
    """The message class of tf.train.Example, in its own pool: TensorFlow may declare it as well.

    Features.feature, a map in TensorFlow's declaration, is declared as a repeated message of key
    and value, which has the same wire format.
    """
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="example.proto", package="tensorflow", syntax="proto3"
    )

    def field(
        message: Any, name: str, number: int, kind: int | str, repeated: bool = False
    ) -> None:
        declared = message.field.add(name=name, number=number)
        declared.label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
        if isinstance(kind, str):
            declared.type, declared.type_name = kinds.TYPE_MESSAGE, f".tensorflow.{kind}"
        else:
            declared.type = kind

    lists = {
        "BytesList": kinds.TYPE_BYTES,
        "FloatList": kinds.TYPE_FLOAT,
        "Int64List": kinds.TYPE_INT64,
    }
    feature = file.message_type.add(name="Feature")
    for number, (list_name, kind) in enumerate(lists.items(), start=1):
        field(file.message_type.add(name=list_name), "value", 1, kind, repeated=True)
        field(feature, f"{list_name[:-4].lower()}_list", number, list_name)
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    field(entry, "key", 1, kinds.TYPE_STRING)
    field(entry, "value", 2, "Feature")
    field(features, "feature", 1, "Features.FeatureEntry", repeated=True)
    field(file.message_type.add(name="Example"), "features", 1, "Features")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.Example"))


_Example = _example_class()
