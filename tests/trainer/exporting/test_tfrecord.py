"""Records of the encoder are read by TensorFlow; the same columns always give the same bytes."""

from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf
from hypothesis import example, given
from hypothesis import strategies as st

from trainer.exporting import tfrecord
from trainer.exporting.tfrecord import frame, serialize_examples, tfrecords

SPECIFICATION = {
    "key": tf.io.FixedLenFeature([], tf.string),
    "image": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}

rows = st.lists(
    st.tuples(st.text(), st.binary(max_size=300), st.integers(-(2**63), 2**63 - 1)), min_size=1
)


def columns(rows):
    keys, images, labels = zip(*rows, strict=True)
    return {
        "key": [key.encode("utf-8", "surrogatepass") for key in keys],
        "image": list(images),
        "label": np.array(labels, dtype=np.int64),
    }


@given(rows)
# Lengths at which a varint grows: of the value, and of the messages around it.
@example([("k", b"x" * size, size) for size in (0, 1, 110, 127, 128, 129, 16383, 16384, 2_100_000)])
def test_parse_example_reads_what_was_written(rows):
    written = columns(rows)
    parsed = tf.io.parse_example(serialize_examples(written).to_pylist(), SPECIFICATION)
    assert parsed["key"].numpy().tolist() == written["key"]
    assert parsed["image"].numpy().tolist() == written["image"]
    assert parsed["label"].numpy().tolist() == written["label"].tolist()


@given(rows)
def test_tf_train_example_would_write_as_many_bytes(rows):
    for serialized in serialize_examples(columns(rows)).to_pylist():
        oracle = tf.train.Example.FromString(serialized)
        assert len(oracle.SerializeToString()) == len(serialized)
        assert not oracle.FindInitializationErrors()


floats = st.floats(width=32)
int64s = st.integers(-(2**63), 2**63 - 1)
table_rows = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda widths: st.lists(
        st.tuples(
            st.text(max_size=5),
            st.lists(floats, min_size=widths[0], max_size=widths[0]),
            st.lists(int64s, min_size=widths[1], max_size=widths[1]),
            st.lists(floats, max_size=40),
            floats,
        ),
        min_size=1,
    )
)


@given(table_rows)
# Where a packed list's length, and a varint inside it, grow.
@example([("k", [0.5], [v], [1.0] * n, 0.0) for v in (0, 127, 128, -1) for n in (31, 32, 0)])
def test_parse_example_reads_vectors_and_sequences(rows):
    keys, numbers, codes, sequences, labels = zip(*rows, strict=True)
    written = {
        "key": [key.encode() for key in keys],
        "numeric": np.array(numbers, np.float32),
        "categorical": np.array(codes, np.int64),
        "sequence/a b": pa.array(sequences, pa.list_(pa.float32())),
        "label": np.array(labels, np.float32),
    }
    serialized = serialize_examples(written).to_pylist()
    parsed = tf.io.parse_example(
        serialized,
        {
            "key": tf.io.FixedLenFeature([], tf.string),
            "numeric": tf.io.FixedLenFeature([len(numbers[0])], tf.float32),
            "categorical": tf.io.FixedLenFeature([len(codes[0])], tf.int64),
            "sequence/a b": tf.io.RaggedFeature(tf.float32),
            "label": tf.io.FixedLenFeature([], tf.float32),
        },
    )
    assert parsed["key"].numpy().tolist() == written["key"]
    for name in ("numeric", "categorical", "label"):
        np.testing.assert_array_equal(parsed[name].numpy(), written[name])
    ragged = parsed["sequence/a b"]
    np.testing.assert_array_equal(ragged.row_lengths(), list(map(len, sequences)))
    np.testing.assert_array_equal(ragged.values, written["sequence/a b"].values.to_numpy())
    for record in serialized:
        assert len(tf.train.Example.FromString(record).SerializeToString()) == len(record)


@given(table_rows, st.integers(1, 200))
def test_the_size_of_blocks_does_not_show(rows, block_bytes):
    keys, numbers, codes, sequences, _ = zip(*rows, strict=True)
    written = {
        "key": [key.encode() for key in keys],
        "numeric": np.array(numbers, np.float32),
        "categorical": np.array(codes, np.int64),
        "sequence": pa.array(sequences, pa.list_(pa.float32())),
    }
    with mock.patch.object(tfrecord, "_BLOCK_BYTES", block_bytes):
        assert b"".join(tfrecords(written)) == frame(serialize_examples(written))


@given(st.lists(st.binary(max_size=300)))
def test_tfrecord_dataset_reads_what_was_framed(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("tfrecord") / "a.tfrecord"
    path.write_bytes(frame(records))
    read = tf.data.TFRecordDataset(str(path))
    assert [record.numpy() for record in read] == records


def test_a_changed_byte_is_noticed_by_tensorflow(tmp_path):
    content = bytearray(frame([b"some record"]))
    content[14] ^= 1
    path = tmp_path / "a.tfrecord"
    path.write_bytes(content)
    with pytest.raises(tf.errors.DataLossError):
        list(tf.data.TFRecordDataset(str(path)))


def test_the_bytes_are_as_ever():
    content = frame(serialize_examples(columns([("k", b"\x00\x01", 3)])))
    assert content.hex() == (
        "31000000000000009d8383e9"  # length 49 and its checksum
        "0a2f"  # Example.features
        "0a0f0a05696d61676512060a040a020001"  # image: bytes 00 01
        "0a0c0a036b657912050a030a016b"  # key: bytes "k"
        "0a0e0a056c6162656c12051a030a0103"  # label: int64 3
        "a9124674"  # checksum
    )


def test_the_order_of_columns_does_not_matter():
    written = columns([("k", b"image", 1)])
    assert serialize_examples(written) == serialize_examples(dict(reversed(written.items())))


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="different lengths"):
        serialize_examples({"key": [b"a", b"b"], "label": np.array([1])})


def test_no_rows_are_an_empty_file():
    empty = {"key": [], "image": [], "label": np.array([], np.int64)}
    assert frame(serialize_examples(empty)) == b""
