"""TFRecord files of tf.train.Example messages, written without TensorFlow.

The wire format is protobuf's (https://protobuf.dev/programming-guides/encoding) for the messages of
tensorflow/core/example/feature.proto; the framing is that of
tensorflow/core/lib/io/record_writer.h:

    uint64 length | masked crc32c of length | data | masked crc32c of data        (little-endian)

A feature holds one value per example here. TensorFlow's own parser is the oracle of the tests.
"""

import functools
import itertools
import struct
from collections.abc import Iterable, Mapping, Sequence

import google_crc32c
import numpy as np

# Length-delimited fields of the four nested messages, as (field number << 3 | wire type 2).
_FIELD_1 = (
    b"\x0a"  # Example.features, Features.feature, map key, BytesList.value, Feature.bytes_list
)
_MAP_VALUE = b"\x12"
_INT64_LIST = b"\x1a"

_CRC_MASK = 0xA282EAD8


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


# Most lengths are short, and a table look-up is several times faster than the loop.
_SHORT_VARINTS = tuple(_encode_varint(value) for value in range(1 << 14))


def _varint(value: int) -> bytes:
    return _SHORT_VARINTS[value] if value < len(_SHORT_VARINTS) else _encode_varint(value)


def _wrap(tag: bytes, head: bytes, size: int) -> tuple[bytes, int]:
    """Head and size of the field around a payload of `size` bytes that begins with `head`.

    Only heads are built, from the inside out: a large image is copied once, into its record.
    """
    start = tag + _varint(size)
    return start + head, len(start) + size


def _entry_head(name: bytes, head: bytes, size: int) -> bytes:
    """Head of a map entry of Features around the fields of one Feature message."""
    head, size = _wrap(_MAP_VALUE, head, size)
    name_field = _FIELD_1 + _varint(len(name)) + name
    return _wrap(_FIELD_1, name_field + head, len(name_field) + size)[0]


@functools.lru_cache(maxsize=1 << 16)
def _bytes_head(name: bytes, size: int) -> bytes:
    """What stands before a bytes value of this size in its map entry; the value ends the entry."""
    return _entry_head(name, *_wrap(_FIELD_1, *_wrap(_FIELD_1, b"", size)))


def _int64_entry(name: bytes, value: int) -> bytes:
    packed = _varint(value & 0xFFFF_FFFF_FFFF_FFFF)  # two's complement
    return _entry_head(name, *_wrap(_INT64_LIST, *_wrap(_FIELD_1, packed, len(packed))))


def _entries(name: str, column: Sequence[bytes] | np.ndarray) -> list[tuple[bytes, bytes]]:
    """One map entry of Features per value of a column, in two parts: head and value."""
    encoded_name = name.encode()
    if isinstance(column, np.ndarray):
        # Integers repeat (a label has as many values as there are classes): encode each value once.
        values, positions = np.unique(column, return_inverse=True)
        encoded = [(_int64_entry(encoded_name, value), b"") for value in values.tolist()]
        return [encoded[position] for position in positions.tolist()]
    return [(_bytes_head(encoded_name, len(value)), value) for value in column]


def serialize_examples(columns: Mapping[str, Sequence[bytes] | np.ndarray]) -> list[bytes]:
    """Serialized tf.train.Example messages, one per row.

    columns: feature name -> n values, bytes or an (n,) integer array. Features are written in the
    order of their names, so equal columns give equal bytes. Raises ValueError if the lengths
    differ.
    """
    rows = zip(*(_entries(name, columns[name]) for name in sorted(columns)), strict=True)
    examples = []
    for entries in rows:
        parts = list(itertools.chain.from_iterable(entries))
        head, _ = _wrap(_FIELD_1, b"", sum(map(len, parts)))
        examples.append(b"".join([head, *parts]))
    return examples


def _masked_crc(data: bytes) -> int:
    crc = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + _CRC_MASK) & 0xFFFFFFFF


def frame(records: Iterable[bytes]) -> bytes:
    """The content of a TFRecord file that holds these records."""
    parts = []
    for record in records:
        length = struct.pack("<Q", len(record))
        parts += (
            length,
            struct.pack("<I", _masked_crc(length)),
            record,
            struct.pack("<I", _masked_crc(record)),
        )
    return b"".join(parts)
