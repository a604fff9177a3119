"""Reads TFRecords of tf.train.Example without TensorFlow, whose import takes longer than many a
reading.

A TFRecord is a length, a checksum and a payload
(https://www.tensorflow.org/tutorials/load_data/tfrecord). The payload is a tf.train.Example, a
protocol buffer of nested messages (example.proto and feature.proto in TensorFlow's sources),
declared below so that protobuf's own parser reads it. Needs google-crc32c and protobuf, which
Google's clients bring along.
"""

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

import google_crc32c
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_LONGEST = 2**31 - 1
"""Bytes of a record: protobuf parses no longer message."""


def begins(start: bytes) -> bool:
    """Return whether a file's first 12 bytes are those of a TFRecord: a length and its checksum."""
    return len(start) == 12 and _masked_crc(start[:8]) == start[8:]


def payloads(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, payload) of every record; ValueError if the file is damaged."""
    while header := file.read(12):
        if not begins(header):
            raise ValueError("damaged length field: not a TFRecord file, or truncated")
        (length,) = struct.unpack("<Q", header[:8])
        if length > _LONGEST:
            raise ValueError(f"a record of {length:,} bytes, which no reader parses")
        offset = file.tell()
        payload, checksum = file.read(length), file.read(4)
        if len(payload) < length or _masked_crc(payload) != checksum:
            raise ValueError("wrong checksum: the file is damaged")
        yield offset, payload


def parse(payload: bytes) -> Any:
    """The tf.train.Example of a record. Raises ValueError."""
    try:
        return Example.FromString(payload)
    except Exception as error:  # DecodeError is another class in each implementation of protobuf
        raise ValueError(f"not a tf.train.Example: {error}") from error


def values(example: Any) -> dict[str, list[Any]]:
    """The values of each feature of a tf.train.Example, by name: bytes, floats or whole numbers."""
    kinds = ("bytes_list", "float_list", "int64_list")
    return {
        name: next((found for kind in kinds if (found := [*getattr(feature, kind).value])), [])
        for name, feature in example.features.feature.items()
    }


def _masked_crc(data: bytes) -> bytes:
    """TFRecord's checksum: the CRC32C, rotated and offset by a constant."""
    crc = google_crc32c.value(data)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return struct.pack("<I", masked)


def _example_class() -> Any:
    """The message class of tf.train.Example, in its own pool: TensorFlow may declare it as well.

    Features.feature, a map in TensorFlow's declaration, is declared as a repeated message of key
    and value, which has the same wire format. The field feature_lists belongs to
    tf.train.SequenceExample, whose other field has the number of Example's: with it, one is told
    from the other.
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
    example = file.message_type.add(name="Example")
    field(example, "features", 1, "Features")
    field(example, "feature_lists", 2, kinds.TYPE_BYTES, repeated=True)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.Example"))


Example = _example_class()
"""The message class of tf.train.Example."""
