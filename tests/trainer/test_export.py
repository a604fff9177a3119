"""From a folder of images and a manifest to a dataset that TensorFlow reads; and every refusal.

These run the whole program on this machine, on paths instead of gs:// addresses.
"""

import dataclasses
import hashlib
import json
import random
import subprocess
import sys
from datetime import date

import cv2
import numpy as np
import pytest
import tensorflow as tf

from testbed.manifests import export_flags
from tests.wording import says
from trainer import dataset_description, export
from trainer.exporting import ExportError
from trainer.exporting.flags import parse_flags
from trainer.exporting.run import place
from trainer.exporting.splits import buckets
from trellis_contracts.dataset import SPLITS

CLASSES = ("9", "10", "été")
IMAGES = 150


def write_image(path, number):
    """A 4x4 grey image that tells its number: two pixels hold it, the others are noise."""
    pixels = np.random.default_rng(number).integers(0, 256, (4, 4), dtype=np.uint8)
    pixels[0, :2] = divmod(number, 256)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(cv2.imencode(".png", pixels)[1].tobytes())


@pytest.fixture
def folder(tmp_path):
    """A manifest of IMAGES images of three classes; image i is of class i modulo 3."""
    for number in range(IMAGES):
        write_image(tmp_path / f"images/{number:03d}.png", number)
    write_manifest(tmp_path, manifest_lines())
    return tmp_path


def manifest_lines():
    return [f"images/{number:03d}.png,{CLASSES[number % 3]}" for number in range(IMAGES)]


def write_manifest(folder, lines):
    (folder / "manifest.csv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def arguments(folder, *others, output="dataset", fingerprint="3f2a", **changed):
    form = {"image_size": 4, "channels": 1, "encoding": "png", "shards": 3}
    source = folder / "manifest.csv"
    return [*export_flags(source, folder / output, fingerprint, **(form | changed)), *others]


def run(folder, *others, **changed):
    return export.main(arguments(folder, *others, **changed))


def test_days_and_strata_decide_the_split(folder):
    """Images 0 to 149 of the days from 2024-01-01 on; and 50 images of each class."""
    days = [f"{line},{np.datetime64('2024-01-01') + n}" for n, line in enumerate(manifest_lines())]
    write_manifest(folder, days)
    cut = (date(2024, 4, 10), date(2024, 5, 10))
    assert run(folder, output="days", split_by="taken", split_days=cut) == 0
    dataset = dataset_description.load(str(folder / "days"))
    assert says(dataset.split.described, "taken", "validation", "04-10", "test", "05-10")
    numbers = [sorted(n for _, n, _ in read_split(folder / "days", s)) for s in SPLITS]
    assert numbers == [list(range(100)), list(range(100, 130)), list(range(130, 150))]
    write_manifest(folder, manifest_lines())
    assert run(folder, output="strata", stratify=True, split_fractions=(60, 20, 20)) == 0
    counts = dataset_description.load(str(folder / "strata")).counts
    assert {s: set(counts[s].classes.values()) for s in SPLITS} == {
        "train": {30}, "validation": {10}, "test": {10},
    }  # fmt: skip


def read_split(directory, split):
    """(key, number that the image tells, label) of each example."""
    description = dataset_description.load(str(directory))
    specification = {
        "key": tf.io.FixedLenFeature([], tf.string),
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    for record in tf.data.TFRecordDataset(description.uris(str(directory), split)):
        example = tf.io.parse_single_example(record, specification)
        pixels = tf.io.decode_png(example["image"]).numpy()
        assert pixels.shape == description.features[0].shape
        high, low = pixels[0, :2, 0].tolist()
        yield example["key"].numpy().decode(), 256 * high + low, example["label"].numpy().item()


def described(directory):
    """The description, without where the rows came from."""
    return dataclasses.replace(dataset_description.load(str(directory)), source={})


def shards(directory):
    return {path.name: path.read_bytes() for path in directory.glob("*.tfrecord")}


def test_every_image_arrives_with_its_key_and_label_in_the_split_of_its_key(folder, capsys):
    assert run(folder) == 0
    description = dataset_description.load(str(folder / "dataset"))
    assert description.classes == CLASSES  # in natural order
    assert description.fingerprint == "3f2a"
    assert description.rejected == 0
    seen = []
    for split in SPLITS:
        examples = list(read_split(folder / "dataset", split))
        assert len(examples) == description.examples(split) > 0
        start, end = description.split.ranges[split]
        for key, number, label in examples:
            assert key == f"images/{number:03d}.png"
            assert label == number % 3
            assert start <= buckets([key]).item() < end
        seen += [number for _, number, _ in examples]
        by_class = [sum(label == index for *_, label in examples) for index in range(3)]
        assert list(description.counts[split].classes.values()) == by_class
    assert sorted(seen) == list(range(IMAGES))
    output = capsys.readouterr().out
    assert says(output, "1 of 5", "train-00000-of-00003.tfrecord")
    assert f"committed {folder / 'dataset' / 'dataset.json'}" in output


def test_files_are_as_the_description_says(folder):
    run(folder)
    written = shards(folder / "dataset")
    description = dataset_description.load(str(folder / "dataset"))
    described = {s.name: s.bytes for split in SPLITS for s in description.files[split]}
    assert described == {name: len(content) for name, content in written.items()}
    sizes = [shard.examples for shard in description.files["train"]]
    assert max(sizes) - min(sizes) <= 1


def test_the_same_images_give_the_same_bytes_in_any_order_of_the_manifest(folder):
    run(folder, output="once")
    run(folder, output="again")
    lines = manifest_lines()
    random.Random(0).shuffle(lines)
    write_manifest(folder, lines)
    run(folder, output="shuffled")
    assert shards(folder / "once") == shards(folder / "again") == shards(folder / "shuffled")
    assert described(folder / "once") == described(folder / "again")


def test_the_bytes_are_as_ever(folder):
    # A new version of a library may change them; then every dataset changes under its fingerprint.
    # Without the test split, whose records name the original files: here a temporary folder.
    run(folder)
    written = sorted(shards(folder / "dataset").items())
    content = b"".join(content for name, content in written if not name.startswith("test"))
    assert hashlib.sha256(content).hexdigest() == (
        "9e6a3ad2e9616902d60b4ad43bd41fcb4b92711f82a240a06810c514bc1a0588"
    )


def test_a_committed_dataset_is_not_exported_again(folder, capsys):
    run(folder)
    before = {path: path.stat().st_mtime_ns for path in (folder / "dataset").iterdir()}
    flags = arguments(folder)
    (folder / "dataset-source/columns.json").unlink()
    capsys.readouterr()
    assert export.main(flags) == 0
    assert "dataset 3f2a is already in" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in (folder / "dataset").iterdir()} == before


def test_a_folder_holds_one_fingerprint(folder, capsys):
    run(folder)
    assert run(folder, fingerprint="other") == 1
    assert "describes dataset 3f2a, not other" in capsys.readouterr().err


def test_a_broken_description_is_reported_not_overwritten(folder, capsys):
    (folder / "dataset").mkdir()
    (folder / "dataset/dataset.json").write_text("{")
    assert run(folder) == 1
    assert "is not JSON" in capsys.readouterr().err


def test_an_export_that_was_killed_before_the_commit_is_done_anew(folder):
    run(folder)
    complete = shards(folder / "dataset")
    (folder / "dataset/dataset.json").unlink()
    (folder / "dataset/train-00001-of-00003.tfrecord").write_bytes(b"half a fi")
    (folder / "dataset/test-00000-of-00001.tfrecord").unlink()
    assert run(folder) == 0
    assert shards(folder / "dataset") == complete


def test_a_few_unusable_lines_are_rejected_and_the_rest_is_committed(folder):
    (folder / "images/000.png").write_bytes(b"torn")
    (folder / "images/001.png").unlink()
    lines = manifest_lines()
    lines[2] = "images/002.png,"
    write_manifest(folder, lines)
    assert run(folder) == 0
    rejected = (folder / "dataset/rejected.jsonl").read_text(encoding="utf-8").splitlines()
    reasons = {entry["key"]: entry["reason"] for entry in map(json.loads, rejected)}
    assert list(reasons) == [f"images/00{n}.png" for n in range(3)]
    assert "not an image" in reasons["images/000.png"]
    assert reasons["images/001.png"] == "no such object"
    assert reasons["images/002.png"] == "no label"
    assert dataset_description.load(str(folder / "dataset")).rejected == 3
    numbers = {n for split in SPLITS for _, n, _ in read_split(folder / "dataset", split)}
    assert numbers == set(range(3, IMAGES))


IN_MEMORY = ("--runner=FnApiRunner", "--direct_running_mode=in_memory")
IN_THREADS = ("--runner=FnApiRunner", "--direct_running_mode=multi_threading")


@pytest.mark.parametrize("flags", [(), IN_MEMORY, IN_THREADS])
def test_30_percent_corrupt_images_fail_with_the_first_reasons_and_commit_nothing(
    folder, flags, capsys
):
    for number in range(0, IMAGES, 3):
        (folder / f"images/{number:03d}.png").write_bytes(b"torn")
    assert run(folder, *flags) == 1
    reason = "not an image; expected one of JPEG, PNG, BMP, GIF, WEBP, TIFF, DICOM"
    examples, limit = folder / "dataset/examples/export.txt", "(33.3%; the limit is 5.0%)"
    images = [f"images/{n:03d}.png" for n in (0, 3, 6, 9, 12)]
    assert examples.read_text().splitlines()[:-1] == [
        f"50 of 150 rows are rejected {limit}:",
        *(f"  key '{name}', image {folder}/{name}: {reason}" for name in images),
        "  and 45 more, all in rejected.jsonl",
    ]
    refused = capsys.readouterr().err.partition("export refused: ")[2].splitlines()
    assert refused[:3] == [
        f"50 of 150 rows are rejected {limit}:",
        f"  50 with image: {reason}",
        "  see rejected.jsonl",
    ]
    assert refused[-1] == f"Keys and values of these rows: {examples}"
    assert not (folder / "dataset/dataset.json").exists()
    assert len((folder / "dataset/rejected.jsonl").read_text().splitlines()) == 50


def test_a_class_without_one_readable_image_fails_whatever_share_is_allowed(folder, capsys):
    for number in range(0, IMAGES, 3):
        (folder / f"images/{number:03d}.png").write_bytes(b"torn")
    assert run(folder, max_rejected=0.5) == 1
    assert "1 of 3 classes" in capsys.readouterr().err
    assert not (folder / "dataset/dataset.json").exists()


@pytest.mark.parametrize(
    ("changed", "others", "message"),
    [
        ({"shards": 1000}, [], "--shards 1000 is more than the "),
        ({}, ["--job_naem=x"], ("--job_naem", "--runner")),
        ({}, [*IN_MEMORY, "--job_naem=x"], "unknown to this program and to Beam: --job_naem"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    folder, capsys, changed, others, message
):
    assert run(folder, *others, **changed) == 1
    assert says(capsys.readouterr().err, message)
    assert not list((folder / "dataset").glob("*"))


@pytest.mark.parametrize("flags", [(), IN_MEMORY])
def test_a_source_that_changes_while_the_export_begins_is_noticed(folder, flags):
    settings, _ = parse_flags(arguments(folder), "")
    with pytest.raises(ExportError, match="changed while the export began"):
        place(flags).run(settings, sha256="of another source")


def test_with_beam_the_bytes_are_the_same(folder):
    run(folder, output="here")
    run(folder, *IN_MEMORY, output="beam")
    for name in [*shards(folder / "beam"), "rejected.jsonl"]:
        assert (folder / "here" / name).read_bytes() == (folder / "beam" / name).read_bytes()
    assert described(folder / "here") == described(folder / "beam")


def test_on_this_machine_neither_beam_nor_tensorflow_is_loaded(folder):
    program = (
        "import json, sys\n"
        "from trainer import export\n"
        "for flags in json.loads(sys.argv[1]):\n"
        "    assert export.main(flags) == 0\n"
        "assert not {'apache_beam', 'tensorflow'} & set(sys.modules), 'imported'"
    )
    of_a_job = ("--runner=DirectRunner", "--project=p")
    flags = [arguments(folder), arguments(folder, *of_a_job, output="job")]
    subprocess.run([sys.executable, "-c", program, json.dumps(flags)], check=True)
    assert (folder / "dataset/dataset.json").exists()
    assert (folder / "job/dataset.json").exists()


def test_workers_of_beam_do_not_load_tensorflow(folder):
    program = (
        "import sys\n"
        "from trainer import export\n"
        "assert export.main(sys.argv[1:]) == 0\n"
        "assert 'tensorflow' not in sys.modules, 'imported'"
    )
    command = [sys.executable, "-c", program, *arguments(folder, *IN_MEMORY)]
    subprocess.run(command, check=True)
