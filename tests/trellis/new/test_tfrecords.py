"""TFRecords of others: a record is a row, a feature a column; or refused with file and record."""

import gzip
import math
import struct
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.tfrecords import example, record, records
from tests.wording import says
from trellis.new import files
from trellis.new.described import DataError, Reading, lines

FOLDER = "gs://lab/data/cells"


def png(number, side=16):
    """The beginning of a PNG of which each number makes another one."""
    header = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n\0\0\0\r" + header + bytes([number])


@pytest.fixture
def read(tmp_path):
    """Reads files of these contents: (File, what the screen says)."""

    def read(*contents, names=(), **said):
        paths = []
        for number, content in enumerate(contents):
            name = names[number] if names else f"part-{number}.tfrecord"
            paths.append(tmp_path / name)
            paths[-1].write_bytes(content)
        file = files.read(paths, Reading(**said), FOLDER)
        return file, "\n".join(lines(file.notes))

    return read


def test_a_row_for_each_record_of_all_files(read):
    first = [{"age": [30 + n], "dose": [n / 4], "site": [b"hand"]} for n in range(3)]
    second = [{"age": [60], "site": ["Größe".encode()]}, {"dose": [math.nan], "late": [1]}]
    file, said = read(records(first), records(second))
    assert file.table.to_pydict() == {
        "age": [30, 31, 32, 60, None],
        "dose": [0.0, 0.25, 0.5, None, None],
        "site": ["hand", "hand", "hand", "Größe", None],
        "late": [None, None, None, None, 1],
    }
    assert "NaN in 1 rows is missing" in said


def test_several_values_are_a_sequence(read):
    rows = [{"trace": [0.5, 1.5]}, {"trace": [2.5]}, {}, {"trace": [], "n": [7]}]
    rows[2] = {"n": [7]}
    with pytest.raises(DataError, match="record 4: feature 'trace' has whole numbers, and floats"):
        read(records(rows))
    file, said = read(records(rows[:3]))
    assert file.table.to_pydict()["trace"] == [[0.5, 1.5], [2.5], None]
    assert "no list in 1 rows" in said


PACKED = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "several gzip members": lambda data: gzip.compress(data) + gzip.compress(data),
    "zlib": zlib.compress,
}


@pytest.mark.parametrize("how", PACKED)
@pytest.mark.parametrize("name", ["a.tfrecord", "a.tfrecords.gz", "a-train.tfrecord-00000-of-00001",
                                  "train-00000-of-01024", "a.tfrec"])  # fmt: skip
def test_names_and_compression(read, how, name):
    file, _ = read(PACKED[how](records([{"x": [1]}, {"x": [2]}])), names=[name])
    assert file.table.to_pydict()["x"] == [1, 2] * (2 if "several" in how else 1)


@pytest.mark.parametrize("how", PACKED)
def test_images_are_never_all_in_memory(tmp_path, how):
    """16 MB of images; what is kept of each is its address."""
    path = tmp_path / "cells.tfrecord"
    rows = [{"image": [png(n) + bytes(250_000)]} for n in range(64)]
    path.write_bytes(PACKED[how](records(rows)))
    files.read(path, folder=FOLDER)  # imports
    tracemalloc.start()
    try:
        file = files.read(path, folder=FOLDER)
        count = sum(1 for _, data in file.pictures.each() if data())
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
    assert count == 64  # each content once


@pytest.mark.parametrize("cut", [5, 40, 100])
def test_a_zlib_stream_that_ends_too_early_is_named(read, cut):
    packed = zlib.compress(records([{"x": [n]} for n in range(50)]), 0)
    with pytest.raises(DataError, match=r"record \d+: the file is truncated"):
        read(packed[:-cut])


def test_a_first_record_as_long_as_gzips_mark_is_plain(read):
    """The length 0x8b1f begins the file with gzip's two bytes."""
    padding = 0x8B1F - len(example(x=[b"a" * 0x8000])) + 0x8000
    payload = example(x=[b"a" * padding])
    assert record(payload).startswith(b"\x1f\x8b")
    file, _ = read(record(payload))
    assert file.table.num_rows == 1


def test_images_become_addresses_of_files(read):
    rows = [{"id": [n], "image/encoded": [png(n % 4)], "label": [n % 2]} for n in range(6)]
    rows += [{"id": [6], "image/encoded": [b""], "label": [1]}, {"id": [7], "label": [1]}]
    file, said = read(*(records([row]) for row in rows))
    addresses = file.table.to_pydict()["image_encoded"]
    assert addresses[:2] == addresses[4:6]
    assert addresses[6:] == [None, None]
    assert says(said, "image/encoded: 4 files", FOLDER)
    found = {address: data() for address, data in file.pictures.each()}
    assert found == {addresses[n]: png(n) for n in range(4)}
    assert all(each.startswith(f"{FOLDER}/image_encoded/") for each in found)
    described = files.describe(file, "data.cells").column("image_encoded")
    assert set(described.addresses) == set(found)


@pytest.mark.parametrize("text", [b"BMW", b"GIF89a", b"II*", b"RIFF"])
def test_texts_that_begin_like_images_stay_texts(read, text):
    file, _ = read(records([{"maker": [text]}, {"maker": [b"VW"]}]))
    assert file.table.to_pydict()["maker"] == [text.decode(), "VW"]
    assert file.pictures is None


def test_features_can_be_named(read):
    content = records([{"x": [1], "raw": [b"\x80\x81"]}, {"x": [2]}])
    with pytest.raises(DataError, match=r"part-0\.tfrecord.*'raw'"):
        read(content)
    file, said = read(content, features=("x",))
    assert file.table.to_pydict() == {"x": [1, 2]}
    assert "features left out: raw" in said
    with pytest.raises(DataError, match=r"no record has a feature 'y' .* Known: raw, x"):
        read(content, features=("y",))


@pytest.mark.parametrize(
    ("names", "splits"),
    [
        (["train.tfrecord", "val.tfrecord"], ["train", "validation"]),
        (["c-train.tfrecord-00000-of-00001", "c-test.tfrecord-00000-of-00001"], ["train", "test"]),
        (["train-1.tfrecord", "train-2.tfrecord"], None),
        (["train.tfrecord", "more.tfrecord"], None),
        (["train-test-1.tfrecord", "val.tfrecord"], None),
    ],
)
def test_splits_that_the_names_of_files_say(read, names, splits):
    file, said = read(records([{"x": [1]}]), records([{"x": [2]}]), names=names)
    assert file.table.to_pydict().get("split") == splits
    assert ("splits are kept" in said) is (splits is not None)


def test_the_records_split_stands_before_the_names(read):
    rows = records([{"split": [b"train"]}])
    file, _ = read(rows, rows, names=["train.tfrecord", "test.tfrecord"])
    assert file.table.to_pydict() == {"split": ["train", "train"]}


GOOD = records([{"x": [1]}, {"x": [2]}])
BAD = {
    "cut": (GOOD[:-3], "record 2: wrong checksum"),
    "more behind": (GOOD + b"\0" * 5, "record 3: damaged length field"),
    "a byte changed": (GOOD[:20] + b"\xff" + GOOD[21:], "record 1: wrong checksum"),
    "a table": (b"a,b\n1,2\n3,4\n5,6\n", "record 1: damaged length field"),
    "gzip cut": (gzip.compress(GOOD)[:-9], ", record "),
    "gzip damaged": (gzip.compress(GOOD)[:20] + b"broken" + gzip.compress(GOOD)[26:], ", record "),
    "gzip of a table": (gzip.compress(b"a,b\n1,2\n3,4\n"), "record 1: damaged length field"),
    "no message": (record(b"not a message"), "record 1: not a tf.train.Example"),
    "an empty message": (record(b""), "record 1: no tf.train.Example, or one without a feature"),
    "another message": (record(b"\x1a\x01a"), "record 1: no tf.train.Example"),
    "sequences": (
        GOOD + record(example(x=[1]) + b"\x12\0"),
        "record 3: a tf.train.SequenceExample",
    ),
    "two types": (
        records([{"y": [1]}, {"y": [0.5]}]),
        "record 2: feature 'y' has floats, and whole",
    ),
    "another type than elsewhere": (
        records([{"x": [0.5]}]),
        "record 1: feature 'x' has floats, and",
    ),
    "several texts": (records([{"y": [b"a", b"b"]}]), "record 1: feature 'y' has 2 texts"),
    "raw pixels": (
        records([{"y": [b"\xfe" * 9]}]),
        "record 1: feature 'y' has 9 bytes that are no",
    ),
    "a text among images": (
        records([{"y": [png(1)]}, {"y": [b"a"]}]),
        "record 2: feature 'y' is a text, and an image",
    ),
    "an image among texts": (
        records([{"y": [b"a"]}, {"y": [png(1)]}]),
        "record 2: feature 'y' is an image, and a text",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files_are_refused_with_file_and_record(read, what):
    content, message = BAD[what]
    with pytest.raises(DataError) as refused:
        read(GOOD, content, names=["good.tfrecord", "bad.tfrecord"])
    assert message in str(refused.value)
    assert "bad.tfrecord, record" in str(refused.value)


def test_files_without_any_record_are_refused(read):
    with pytest.raises(DataError, match="there is no record"):
        read(b"", b"")


def test_an_empty_file_among_others_is_said(read):
    file, said = read(GOOD, b"", names=["a.tfrecord", "b.tfrecord"])
    assert file.table.num_rows == 2
    assert "files without a record:" in said


def test_a_file_named_twice_is_refused(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(GOOD)
    (tmp_path / "b.tfrecord").symlink_to(path)
    with pytest.raises(DataError, match="named twice"):
        files.read([path, tmp_path / "b.tfrecord"], Reading())


values = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=1),
    st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=1),
    st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])).map(str.encode),
             min_size=1, max_size=1),
)  # fmt: skip


@settings(max_examples=40)
@given(st.data())
def test_any_records_keep_their_values(tmp_path_factory, data):
    kinds = data.draw(st.dictionaries(st.text("abc", min_size=1), values, min_size=1, max_size=4))
    rows = [{n: v for n, v in kinds.items() if data.draw(st.booleans())} for _ in range(5)]
    rows = [row or kinds for row in rows]
    path = tmp_path_factory.mktemp("records") / "a.tfrecord"
    path.write_bytes(records(rows))
    found = files.read(path, Reading(), FOLDER).table.to_pylist()
    for name in {name for row in rows for name in row}:
        expected = [row[name][0] if name in row else None for row in rows]
        expected = [each.decode() if isinstance(each, bytes) else each for each in expected]
        assert [row[name] for row in found] == expected
