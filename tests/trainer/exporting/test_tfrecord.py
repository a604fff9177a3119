"""What the encoder writes, TensorFlow reads; and the same columns always give the same bytes."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given
from hypothesis import strategies as st

from trainer.exporting.tfrecord import frame, serialize_examples

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
    parsed = tf.io.parse_example(serialize_examples(written), SPECIFICATION)
    assert parsed["key"].numpy().tolist() == written["key"]
    assert parsed["image"].numpy().tolist() == written["image"]
    assert parsed["label"].numpy().tolist() == written["label"].tolist()


@given(rows)
def test_tf_train_example_would_write_as_many_bytes(rows):
    for serialized in serialize_examples(columns(rows)):
        oracle = tf.train.Example.FromString(serialized)
        assert len(oracle.SerializeToString()) == len(serialized)
        assert not oracle.FindInitializationErrors()


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
    with pytest.raises(ValueError, match="shorter"):
        serialize_examples({"key": [b"a", b"b"], "label": np.array([1])})


def test_no_rows_are_an_empty_file():
    empty = {"key": [], "image": [], "label": np.array([], np.int64)}
    assert frame(serialize_examples(empty)) == b""
