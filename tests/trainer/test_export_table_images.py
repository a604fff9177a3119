"""Export of rows whose columns hold addresses of images."""

import json

import cv2
import numpy as np
import pytest

from tests.trainer.exporting.tables.helpers import feature, read_examples, write_table
from trainer import dataset_description, export
from trainer.exporting import sharding
from trainer.exporting.splits import assign
from trainer.images import view
from trellis_contracts.dataset import SPLITS

ROWS = 120
KEYS = [f"patient/{number}" for number in range(ROWS)]
RANGES = {"train": (0, 80), "validation": (80, 90), "test": (90, 100)}
SPLIT = [SPLITS[place] for place in assign(KEYS, RANGES)]


def photo(column="photo", **changed):
    form = {"size": [6, 5], "channels": 3, "encoding": "png", "resize": "stretch", "scale": None}
    return feature(column, "image", "STRING") | {"image": form | changed}


@pytest.fixture
def buckets(tmp_path, monkeypatch):
    """The folder whose files are the objects of bucket `b`."""
    root = tmp_path / "gcs"
    (root / "b").mkdir(parents=True)

    def read(self, uri):
        return (root / uri.removeprefix("gs://")).read_bytes()

    monkeypatch.setattr("trainer.exporting.objects.Objects.read", read)
    return root / "b"


def write_images(folder, names, height=6, width=5):
    """PNG files of random pixels; their bytes by name."""
    random = np.random.default_rng(3)
    files = {}
    for name in names:
        _, encoded = cv2.imencode(".png", random.integers(0, 256, (height, width, 3), np.uint8))
        files[name] = encoded.tobytes()
        (folder / name).write_bytes(files[name])
    return files


def table(folder, addresses, features=None, **changed):
    """A table with a number and the addresses of one image each; columns.json's path."""
    columns = {
        "key": KEYS,
        "label": ["ill" if number % 2 else "well" for number in range(ROWS)],
        "age": [float(number) for number in range(ROWS)],
        "photo": addresses,
    }
    features = features or [feature("age"), photo()]
    return write_table(folder, columns, features, **{"max_rejected": 0.1, **changed})


def run(source, output, shards=2):
    flags = {"source": source, "output": output, "fingerprint": "f1", "shards": shards}
    return export.main([f"--{name}={value}" for name, value in flags.items()])


def test_a_record_holds_the_image_beside_the_columns(tmp_path, buckets):
    files = write_images(buckets, [f"{number}.png" for number in range(ROWS)])
    source = table(tmp_path / "source", [f"gs://b/{number}.png" for number in range(ROWS)])

    assert run(source, tmp_path / "out") == 0

    dataset = dataset_description.load(str(tmp_path / "out"))
    assert [(f.name, f.kind, f.column, f.shape) for f in dataset.features] == [
        ("age", "numeric", "age", ()),
        ("photo", "image", "photo", (6, 5, 3)),
    ]
    assert dataset.inputs == {"image", "table"}
    assert dataset.inputs == {"image", "table"}
    seen = 0
    for split in SPLITS:
        for example in read_examples(tmp_path / "out", split):
            number = KEYS.index(example["key"][0].decode())
            assert SPLIT[number] == split
            assert example["numeric"] == [float(number)]
            stored = cv2.imdecode(np.frombuffer(example["image/photo"][0], np.uint8), 1)
            original = view(files[f"{number}.png"], (6, 5, 3), "stretch", None).pixels
            assert np.array_equal(stored[..., ::-1], original)
            if split == "test":
                assert example["uri/photo"] == [f"gs://b/{number}.png".encode()]
            assert ("uri/photo" in example) == (split == "test")
            seen += 1
    assert seen == ROWS == sum(dataset.examples(split) for split in SPLITS)


def test_rows_with_an_unusable_image_are_rejected_with_key_address_and_reason(tmp_path, buckets):
    write_images(buckets, [f"{number}.png" for number in range(ROWS)])
    (buckets / "3.png").unlink()
    (buckets / "5.png").write_bytes(b"")
    addresses = [f"gs://b/{number}.png" for number in range(ROWS)]
    addresses[8], addresses[9] = None, "photos/9.png"
    source = table(tmp_path / "source", addresses)

    assert run(source, tmp_path / "out") == 0

    dataset = dataset_description.load(str(tmp_path / "out"))
    assert dataset.rejected == 4
    assert sum(dataset.examples(split) for split in SPLITS) == ROWS - 4
    for split in SPLITS:
        found = [example["key"][0].decode() for example in read_examples(tmp_path / "out", split)]
        gone = {KEYS[number] for number in (3, 5, 8, 9)}
        assert {*found} == {k for k, s in zip(KEYS, SPLIT, strict=True) if s == split} - gone
        counts = dataset.counts[split]
        assert counts.examples == len(found) == sum(counts.classes.values())
    lines = (tmp_path / "out" / "rejected.jsonl").read_text().splitlines()
    rejected = {row["key"]: row for row in map(json.loads, lines)}
    assert {key: row["uri"] for key, row in rejected.items()} == {
        KEYS[3]: "gs://b/3.png",
        KEYS[5]: "gs://b/5.png",
        KEYS[8]: "",
        KEYS[9]: "photos/9.png",
    }
    assert rejected[KEYS[3]]["reason"] == "no such object"
    assert all(row["feature"] == "photo" for row in rejected.values())


def test_too_many_rejected_rows_fail_the_export_and_are_named(tmp_path, buckets, capsys):
    source = table(tmp_path / "source", [f"gs://b/{number}.png" for number in range(ROWS)])

    assert run(source, tmp_path / "out") == 1

    error = capsys.readouterr().err
    examples = (tmp_path / "out/examples/export.txt").read_text()
    for named in ("gs://b/", "'patient/"):
        assert named not in error
        assert named in examples
    assert "120 of 120 rows" in error
    assert not (tmp_path / "out" / "dataset.json").exists()
    assert len((tmp_path / "out" / "rejected.jsonl").read_text().splitlines()) == ROWS


def test_the_bytes_of_images_decide_how_many_files_there_are(tmp_path, buckets, monkeypatch):
    """Rows alone would be one file: they hold addresses."""
    write_images(buckets, [f"{number}.png" for number in range(ROWS)])
    source = table(tmp_path / "source", [f"gs://b/{number}.png" for number in range(ROWS)])
    monkeypatch.setattr(sharding, "SHARD_BYTES", 2000)
    assert run(source, tmp_path / "dataset", shards="1+") == 0
    train = dataset_description.load(str(tmp_path / "dataset")).files["train"]
    assert len(train) > 2
    assert all(1000 < shard.bytes < 4000 for shard in train)


def test_two_columns_of_images_are_two_features(tmp_path, buckets):
    write_images(buckets, ["a.png"])
    columns = {
        "key": KEYS,
        "label": ["ill" if number % 2 else "well" for number in range(ROWS)],
        "front": ["gs://b/a.png"] * ROWS,
        "back": ["gs://b/a.png"] * ROWS,
    }
    features = [photo("front"), photo("back", size=[2, 2], channels=1)]
    source = write_table(tmp_path / "source", columns, features, max_rejected=0.0)

    assert run(source, tmp_path / "out") == 0

    dataset = dataset_description.load(str(tmp_path / "out"))
    assert [f.shape for f in dataset.features] == [(6, 5, 3), (2, 2, 1)]
    assert dataset.inputs == {"image"}
    example = next(read_examples(tmp_path / "out", "test"))
    assert {"image/front", "image/back", "uri/front", "crc32c/back"} <= {*example}
    assert any("are in the train split too" in warning for warning in dataset.warnings)


def test_the_bytes_do_not_depend_on_the_order_of_the_rows(tmp_path, buckets):
    write_images(buckets, [f"{number}.png" for number in range(ROWS)])
    addresses = [f"gs://b/{number}.png" for number in range(ROWS)]
    for name, files in (("one", 1), ("three", 3)):
        source = table(tmp_path / name, addresses, files=files)
        assert run(source, tmp_path / f"{name}-out") == 0

    def content(name):
        return {p.name: p.read_bytes() for p in (tmp_path / f"{name}-out").glob("*.tfrecord")}

    assert content("one") == content("three")


def test_a_class_of_which_a_split_keeps_no_row_is_warned_of(tmp_path, buckets):
    write_images(buckets, [f"{number}.png" for number in range(ROWS)])
    gone = [n for n in range(ROWS) if n % 2 and SPLIT[n] == "test"]
    addresses = [None if n in gone else f"gs://b/{n}.png" for n in range(ROWS)]
    source = table(tmp_path / "source", addresses)

    assert run(source, tmp_path / "out") == 0

    dataset = dataset_description.load(str(tmp_path / "out"))
    assert dataset.rejected == len(gone)
    assert any("no example in the test split ('ill')" in each for each in dataset.warnings)
