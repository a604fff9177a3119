"""Writes TFRecord files of tf.train.Example messages without TensorFlow, a column at a time.

The wire format is protobuf's (https://protobuf.dev/programming-guides/encoding) for the messages of
tensorflow/core/example/feature.proto; the framing is that of
tensorflow/core/lib/io/record_writer.h:

    uint64 length | masked crc32c of length | data | masked crc32c of data        (little-endian)

A column becomes an array of binary payloads. The bytes around a payload depend only on its size, so
they are built once per size; Arrow joins the pieces row by row, in C++. Only the checksum of each
record is computed in Python. The tests compare with TensorFlow's parser.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypeGuard

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trainer.exporting.arrow_values import one_by_one

# A feature's values in n rows: n bytes; (n,) or (n, c) float32 or int64; or n lists of float32.
Column: TypeAlias = Sequence[bytes] | pa.Array | np.ndarray

# Length-delimited fields of the nested messages, as (field number << 3 | wire type 2).
_FIELD_1 = b"\x0a"  # Example.features, Features.feature, map key, the lists' value
_MAP_VALUE = b"\x12"
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = b"\x0a", b"\x12", b"\x1a"

_CRC_MASK = 0xA282EAD8

_BINARY = pa.large_binary()
_NOTHING = pa.scalar(b"", _BINARY)

# Bounds the memory used beside the file.
_BLOCK_BYTES = 16 << 20


def tfrecords(columns: Mapping[str, Column]) -> Iterator[memoryview]:
    """Yield the content of a TFRecord file with one Example per row, in pieces.

    columns: feature name -> n values each.
    """
    arrays = {name: _arrow_bytes(column) for name, column in columns.items()}
    rows = max(map(len, arrays.values()))
    size = sum(array.nbytes for array in arrays.values())
    step = max(1, rows * _BLOCK_BYTES // max(size, 1))
    for start in range(0, rows, step):
        block = {name: array[start : start + step] for name, array in arrays.items()}
        yield _framed(serialize_examples(block))


def serialize_examples(columns: Mapping[str, Column]) -> pa.LargeBinaryArray:
    """Serialized tf.train.Example messages, one per row.

    columns: feature name -> n values each. Features are written in the order of their names, so
    equal columns give equal bytes. Raises ValueError if the lengths differ.
    """
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"columns of different lengths: {lengths}")
    pieces: list[pa.Array | pa.Scalar] = []
    sizes = np.zeros(next(iter(lengths.values())), np.int64)
    for name in sorted(columns):
        list_tag, payloads = _payloads(columns[name])
        payload_sizes = _sizes(payloads)
        heads, head_sizes = _by_size(payload_sizes, partial(_head, name, list_tag))
        pieces += (heads, payloads)
        sizes = sizes + head_sizes + payload_sizes
    heads, _ = _by_size(sizes, lambda size: _FIELD_1 + _varint(size))
    return pc.binary_join_element_wise(heads, *pieces, _NOTHING)


def frame(records: pa.LargeBinaryArray | Iterable[bytes]) -> bytes:
    """The content of a TFRecord file that holds these records."""
    array = _binary_array(records if isinstance(records, pa.Array) else list(records))
    return _framed(array).tobytes()


def _framed(array: pa.LargeBinaryArray) -> memoryview:
    def length_field(size: int) -> bytes:
        length = size.to_bytes(8, "little")
        return length + _mask(np.array([google_crc32c.value(length)], np.uint32)).tobytes()

    crcs = np.fromiter(map(google_crc32c.value, one_by_one(array)), np.uint32, len(array))
    footers = _fixed(_mask(crcs).astype("<u4")[:, None])
    length_fields, _ = _by_size(_sizes(array), length_field)
    framed = pc.binary_join_element_wise(length_fields, array, footers, _NOTHING)
    return memoryview(framed.buffers()[2])[: _end(framed)] if len(framed) else memoryview(b"")


def _payloads(column: Column) -> tuple[bytes, pa.LargeBinaryArray]:
    """The field of Feature for a column, and each row's values encoded for it."""
    if not isinstance(column, np.ndarray):
        if _is_lists(column):
            # The payload of float32 is the values' bytes.
            offsets = column.offsets.to_numpy().astype(np.int64) * 4
            return _FLOAT_LIST, _binary(column.values.to_numpy().astype("<f4", copy=False), offsets)
        return _BYTES_LIST, _binary_array(column)
    matrix = column if column.ndim == 2 else column[:, None]
    if matrix.dtype == np.float32:
        return _FLOAT_LIST, _fixed(matrix.astype("<f4", copy=False))
    return _INT64_LIST, _packed_varints(matrix.astype(np.int64, copy=False))


def _head(name: str, list_tag: bytes, size: int) -> bytes:
    """The bytes before a payload of this size in its map entry of Features."""
    # Numbers are packed; without numbers there is no field. A bytes value may be empty.
    head = _FIELD_1 + _varint(size) if size or list_tag == _BYTES_LIST else b""
    for tag in (list_tag, _MAP_VALUE):
        head = tag + _varint(len(head) + size) + head
    encoded = name.encode()
    head = _FIELD_1 + _varint(len(encoded)) + encoded + head
    return _FIELD_1 + _varint(len(head) + size) + head


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _packed_varints(matrix: np.ndarray) -> pa.LargeBinaryArray:
    """The concatenated varints of each row of an int64 matrix."""
    values = matrix.astype("<i8").view("<u8").ravel()  # two's complement
    lengths = np.ones(len(values), np.int64)
    for groups in range(1, 10):
        lengths += values >= np.uint64(1) << np.uint64(7 * groups)
    ends = np.cumsum(lengths)
    data = np.empty(ends[-1] if len(ends) else 0, np.uint8)
    here, rest = ends - lengths, values
    for groups in range(lengths.max(initial=0)):
        goes_on = lengths > groups + 1
        data[here] = (rest & np.uint64(0x7F)).astype(np.uint8) | goes_on.astype(np.uint8) << 7
        here, rest, lengths = here[goes_on] + 1, rest[goes_on] >> np.uint64(7), lengths[goes_on]
    row_ends = np.concatenate([[0], ends])[:: matrix.shape[1]]
    return _binary(data, row_ends)


def _mask(crcs: np.ndarray) -> np.ndarray:
    """Masked checksums, uint32, as TFRecord stores them."""
    with np.errstate(over="ignore"):
        return (crcs >> np.uint32(15) | crcs << np.uint32(17)) + np.uint32(_CRC_MASK)


def _by_size(
    sizes: np.ndarray, make: Callable[[int], bytes]
) -> tuple[pa.LargeBinaryArray | pa.Scalar, np.ndarray | int]:
    """make(size) for each of the sizes, called once for each distinct size, and their lengths.

    One value and its length if all sizes are equal.
    """
    if len(sizes) and sizes.min() == sizes.max():
        sorted_ = make(int(sizes[0]))
        return pa.scalar(sorted_, _BINARY), len(sorted_)
    distinct, positions = np.unique(sizes, return_inverse=True)
    each = pa.array([make(size) for size in distinct.tolist()], _BINARY)
    return each.take(pa.array(positions)), _sizes(each)[positions]


def _arrow_bytes(column: Column) -> np.ndarray | pa.Array:
    """A column of bytes as an Arrow array; other columns unchanged."""
    if isinstance(column, np.ndarray) or _is_lists(column):
        return column
    return _binary_array(column)


def _is_lists(column: Column) -> TypeGuard[pa.ListArray | pa.LargeListArray]:
    return isinstance(column, pa.ListArray | pa.LargeListArray)


def _binary_array(column: Sequence[bytes] | pa.Array) -> pa.LargeBinaryArray:
    return column.cast(_BINARY) if isinstance(column, pa.Array) else pa.array(column, _BINARY)


def _fixed(matrix: np.ndarray) -> pa.LargeBinaryArray:
    """The bytes of each row."""
    row_bytes = matrix.itemsize * matrix.shape[1]
    return _binary(np.ascontiguousarray(matrix), np.arange(len(matrix) + 1) * row_bytes)


def _binary(data: np.ndarray, offsets: np.ndarray) -> pa.LargeBinaryArray:
    """Binary array over contiguous data; offsets: n + 1 int64, in bytes."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets, "<i8")), pa.py_buffer(data)]
    return pa.LargeBinaryArray.from_buffers(_BINARY, len(offsets) - 1, buffers)


def _sizes(array: pa.LargeBinaryArray) -> np.ndarray:
    """(n,) int64: length of each value in bytes."""
    return pc.binary_length(array).to_numpy(zero_copy_only=False)


def _end(array: pa.LargeBinaryArray) -> int:
    return int(np.frombuffer(array.buffers()[1], "<i8")[len(array)])
