"""One piece of work becomes one file that TensorFlow reads, in the order of the work."""

import dataclasses
import io
import threading
from concurrent.futures import ThreadPoolExecutor

import google_crc32c
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from trainer.exporting.images.assignment import Work
from trainer.exporting.images.manifest import Row
from trainer.exporting.images.shards import write_shard
from trainer.exporting.splits import fingerprints
from trellis_contracts.dataset_features import Feature
from trellis_contracts.tasks import MULTILABEL

FEATURE = Feature("image", "image", "uint8", "png", (4, 4, 1))
NAME = "train-00000-of-00001.tfrecord"


def png(value):
    buffer = io.BytesIO()
    Image.fromarray(np.full((4, 4), value, np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def work_of(count, split="train"):
    rows = [Row(i + 1, f"gs://bkt/{i}.png", f"{i}.png", "ab"[i % 2], None) for i in range(count)]
    return Work(NAME, split, "1 of 1", tuple(rows), tuple(i % 2 for i in range(count)))


def run(work, read, files, threads=4):
    with ThreadPoolExecutor(threads) as pool:
        return write_shard(work, FEATURE, read, files.__setitem__, pool)


def parse(path, content):
    path.write_bytes(content)
    specification = {
        "key": tf.io.FixedLenFeature([], tf.string),
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    for record in tf.data.TFRecordDataset(str(path)):
        example = tf.io.parse_single_example(record, specification)
        pixels = tf.io.decode_image(example["image"]).numpy()
        yield example["key"].numpy().decode(), pixels[0, 0, 0], example["label"].numpy()


def test_images_keys_and_labels_stay_together_and_in_order(tmp_path):
    files = {}
    objects = {f"gs://bkt/{i}.png": png(i) for i in range(50)}
    result = run(work_of(50), objects.__getitem__, files)
    assert list(files) == [NAME]
    assert list(parse(tmp_path / NAME, files[NAME])) == [(f"{i}.png", i, i % 2) for i in range(50)]
    assert result.class_counts == {0: 25, 1: 25}
    assert (result.shard.name, result.shard.examples) == (NAME, 50)
    assert result.shard.bytes == len(files[NAME])
    assert not result.rejected


def test_records_of_the_test_split_name_the_files_that_they_were_made_of(tmp_path):
    objects = {"gs://bkt/0.png": png(7), "gs://bkt/1.png": b"torn", "gs://bkt/2.png": png(9)}
    files = {}
    run(work_of(3, "test"), objects.__getitem__, files)
    (tmp_path / NAME).write_bytes(files[NAME])
    specification = {
        "uri": tf.io.FixedLenFeature([], tf.string),
        "crc32c": tf.io.FixedLenFeature([], tf.int64),
    }
    found = [
        (example["uri"].numpy().decode(), example["crc32c"].numpy())
        for record in tf.data.TFRecordDataset(str(tmp_path / NAME))
        for example in [tf.io.parse_single_example(record, specification)]
    ]
    good = ("gs://bkt/0.png", "gs://bkt/2.png")
    assert found == [(uri, google_crc32c.value(objects[uri])) for uri in good]


def test_equal_files_have_equal_hashes():
    objects = {"gs://bkt/0.png": png(7), "gs://bkt/1.png": png(9), "gs://bkt/2.png": png(7)}
    (first, second, third) = run(work_of(3, "test"), objects.__getitem__, {}).files
    assert [key for _, key in (first, second, third)] == ["0.png", "1.png", "2.png"]
    assert first[0] == third[0] != second[0]
    assert run(work_of(3), objects.__getitem__, {}).files[0] == (first[0], "")


def test_records_of_the_test_split_say_whose_they_are_where_groups_decide(tmp_path):
    objects = {"gs://bkt/0.png": png(7), "gs://bkt/1.png": b"torn", "gs://bkt/2.png": png(9)}
    for split in ("test", "train"):
        work, files = work_of(3, split), {}
        rows = tuple(row._replace(group=f"p{row.line}") for row in work.rows)
        run(dataclasses.replace(work, rows=rows), objects.__getitem__, files)
        (tmp_path / NAME).write_bytes(files[NAME])
        found = [
            list(
                tf.train.Example.FromString(record.numpy())
                .features.feature["group"]
                .int64_list.value
            )
            for record in tf.data.TFRecordDataset(str(tmp_path / NAME))
        ]
        groups = fingerprints(["p1", "p3"]).tolist() if split == "test" else []
        assert [group for of_record in found for group in of_record] == groups


def test_unusable_images_are_rejected_and_the_others_stay(tmp_path):
    objects = {"gs://bkt/0.png": png(7), "gs://bkt/1.png": b"torn", "gs://bkt/3.png": png(9)}

    def read(uri):
        if uri not in objects:
            raise FileNotFoundError(uri)
        return objects[uri]

    files = {}
    result = run(work_of(4), read, files)
    assert list(parse(tmp_path / NAME, files[NAME])) == [("0.png", 7, 0), ("3.png", 9, 1)]
    assert [(r.line, r.label) for r in result.rejected] == [(2, "b"), (3, "a")]
    assert "not an image" in result.rejected[0].reason
    assert result.rejected[1].reason == "no such object"
    assert result.class_counts == {0: 1, 1: 1}


def test_a_failing_network_is_not_a_missing_image():
    def read(uri):
        raise ConnectionError("network down")

    files = {}
    with pytest.raises(ConnectionError):
        run(work_of(4), read, files)
    assert not files


def test_running_the_work_again_writes_the_same_bytes():
    objects = {f"gs://bkt/{i}.png": png(i) for i in range(20)}
    once, again = {}, {}
    run(work_of(20), objects.__getitem__, once, threads=8)
    run(work_of(20), objects.__getitem__, again, threads=1)
    assert once == again


def test_no_more_reads_at_once_than_the_pool_has_threads():
    running, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(3, timeout=20)

    def read(uri):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()  # passes only if three reads do run at the same time
        with lock:
            running -= 1
        return png(0)

    run(work_of(12), read, {}, threads=3)
    assert most == 3


def test_a_line_tells_of_each_shard(capsys):
    run(work_of(2), lambda uri: png(0), {})
    assert f"shard 1 of 1: wrote {NAME}, 2 examples, 0 rejected" in capsys.readouterr().out


def test_work_whose_images_are_all_rejected_is_an_empty_file():
    files = {}
    result = run(work_of(2), lambda uri: b"", files)
    assert files == {NAME: b""}
    assert (result.shard.examples, result.class_counts, len(result.rejected)) == (0, {}, 2)


def test_an_example_counts_for_each_of_its_classes():
    files = {}
    work = dataclasses.replace(work_of(4), labels=(0, 1, 2, 3), task=MULTILABEL)
    result = run(work, {f"gs://bkt/{i}.png": png(i) for i in range(4)}.__getitem__, files)
    assert result.class_counts == {0: 2, 1: 2}
    assert result.shard.examples == 4
