"""Objects in gs://, against local_gcp's Cloud Storage: the client, the credentials, the errors.

Each program runs as its own process, because Google's clients read their environment once.
"""

import json
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from testbed.manifests import export_flags
from tests.wording import says
from trainer import dataset_description
from trainer.exporting.objects import Objects
from trellis_contracts.dataset import SPLITS

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def gcp(local_gcp):
    """The environment that leads clients to a local_gcp with one bucket, `data`."""
    (local_gcp.buckets / "data").mkdir(parents=True, exist_ok=True)
    return local_gcp.env


def python(gcp, program, *arguments):
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=gcp,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_what_is_written_is_read_and_lies_in_the_bucket(gcp):
    program = """
from trainer.exporting.objects import Objects
objects = Objects()
objects.write("gs://data/new/a b é.bin", b"first")
objects.write("gs://data/new/a b é.bin", bytes(range(256)) * 100_000)  # as large as a shard
assert objects.read("gs://data/new/a b é.bin") == bytes(range(256)) * 100_000
middle = bytes([*range(250, 256), *range(4)])
assert objects.read_range("gs://data/new/a b é.bin", 250, 10) == middle
with objects.open("gs://data/new/a b é.bin") as file:
    file.seek(-2, 2)
    assert (file.tell(), file.read()) == (25_600_000 - 2, bytes([254, 255]))
with objects.writing("gs://data/parts/deeper/b") as file:
    assert file.write(b"one ") + file.write(b"two") == 7
try:
    with objects.writing("gs://data/parts/half") as file:
        file.write(b"half")
        raise InterruptedError
except InterruptedError:
    pass
assert objects.list("gs://data/parts") == ["gs://data/parts/deeper/b"]
assert objects.read("gs://data/parts/deeper/b") == b"one two"
objects.remove_folder("gs://data/parts/")
objects.remove_folder("gs://data/parts")
assert objects.list("gs://data/parts/") == []
assert len(objects.list("gs://data/new")) == 1
"""
    python(gcp, program)
    written = Path(gcp["GCS_ROOT"], "data/new/a b é.bin").read_bytes()
    assert written == bytes(range(256)) * 100_000


def test_what_is_not_there_is_named(gcp):
    program = """
from trainer.exporting import ExportError
from trainer.exporting.objects import Objects
objects = Objects()
for call in (
    lambda: objects.read("gs://data/nothing"),
    lambda: objects.read("gs://no-bucket/nothing"),
    lambda: objects.write("gs://no-bucket/a", b""),
    lambda: objects.require_bucket("gs://no-bucket/a"),
    lambda: objects.require_bucket("gs://data/nothing"),
):
    try:
        call()
        print("done")
    except (FileNotFoundError, ExportError) as error:
        print(type(error).__name__, error)
"""
    *missing, writing, requiring, done = python(gcp, program).splitlines()
    assert missing == [
        "FileNotFoundError gs://data/nothing",
        "FileNotFoundError gs://no-bucket/nothing",
    ]
    assert writing == requiring
    assert says(writing, "ExportError", "gs://no-bucket", "gs://no-bucket/a")
    assert done == "done"


@pytest.fixture
def rows(gcp):
    """Makes rows with 100 images in gs://data; returns the address of their columns.json."""
    root = Path(gcp["GCS_ROOT"], "data/digits")
    root.mkdir(exist_ok=True)
    for number in range(100):
        pixels = np.full((4, 4), number, np.uint8)
        (root / f"{number}.png").write_bytes(cv2.imencode(".png", pixels)[1].tobytes())

    def rows(bucket="data"):
        lines = (f"gs://{bucket}/digits/{n}.png,{n % 2}\n" for n in range(100))
        (root / "manifest.csv").write_text("".join(lines))
        export_flags(root / "manifest.csv", root / bucket, "f", image_size=4)
        return f"gs://data/digits/{bucket}-source/columns.json"

    return rows


EXPORTS = """
import contextlib, io, json, sys
from trainer import export
ended = []
for source, output in json.loads(sys.argv[1]):
    said = io.StringIO()
    flags = [f"--source={source}", f"--output={output}", "--fingerprint=f", "--shards=2"]
    with contextlib.redirect_stderr(said):
        ended.append((export.main(flags), said.getvalue()))
print(json.dumps(ended))
"""


def exports(gcp, *sources_and_outputs):
    """The exit code and the errors of each export, one after the other."""
    printed = python(gcp, EXPORTS, json.dumps(sources_and_outputs))
    return json.loads(printed.splitlines()[-1])


def test_an_export_from_bucket_to_bucket(gcp, rows, monkeypatch):
    ((code, said),) = exports(gcp, (rows(), "gs://data/digits/datasets/f/"))
    assert code == 0, said
    monkeypatch.setenv("GCS_ROOT", gcp["GCS_ROOT"])
    description = dataset_description.load("gs://data/digits/datasets/f/")
    assert sum(description.examples(split) for split in SPLITS) == 100


def test_missing_buckets_and_sources_are_refused_before_anything_is_written(gcp, rows):
    there, output = rows(), "gs://data/x/"
    refused = {
        "bucket gs://no-bucket does not exist": ("gs://no-bucket/columns.json", output),
        "gs://data/none.json": ("gs://data/none.json", output),
        "gs://elsewhere": (there, "gs://elsewhere/x/"),
        "bucket gs://gone does not exist": (rows(bucket="gone"), output),
    }
    for message, (code, said) in zip(refused, exports(gcp, *refused.values()), strict=True):
        assert code == 1
        assert said.splitlines()[-1].startswith("export refused: ")
        assert message in said
    assert not Path(gcp["GCS_ROOT"], "data/x").exists()


def test_paths_are_files(tmp_path):
    objects = Objects()
    objects.require_bucket(str(tmp_path))
    objects.write(f"{tmp_path}/new/a", b"content")
    assert objects.read(f"{tmp_path}/new/a") == b"content"
    for missing in (f"{tmp_path}/b", f"{tmp_path}/new", f"{tmp_path}/new/a/b"):
        with pytest.raises(FileNotFoundError):
            objects.read(missing)


def test_folders_are_listed_and_removed_with_all_below(tmp_path):
    objects = Objects()
    with objects.writing(f"{tmp_path}/parts/deeper/b") as file:
        file.write(b"one two")

    def fail(file):
        file.write(b"half")
        raise InterruptedError

    with pytest.raises(InterruptedError), objects.writing(f"{tmp_path}/parts/half") as file:
        fail(file)
    objects.write(f"{tmp_path}/a", b"")
    assert objects.list(f"{tmp_path}/parts/") == [f"{tmp_path}/parts/deeper/b"]
    assert objects.read_range(f"{tmp_path}/parts/deeper/b", 4, 2) == b"tw"
    with objects.open(f"{tmp_path}/parts/deeper/b") as file:
        assert file.read() == b"one two"
    objects.remove_folder(f"{tmp_path}/parts")
    objects.remove_folder(f"{tmp_path}/parts")
    assert objects.list(str(tmp_path)) == [f"{tmp_path}/a"]
    assert objects.list(f"{tmp_path}/nowhere") == []


def test_an_address_of_another_service_is_refused():
    with pytest.raises(ValueError, match="expected gs://"):
        Objects().read("s3://bucket/a")
