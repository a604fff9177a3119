"""From images to an experiment file that a run accepts: folders, manifests, addresses."""

import struct
import zlib

import pytest

from tests.trellis.new.test_folders import dicom
from tests.trellis.workflow.plans import plan_run
from tests.wording import says
from trellis.new.shapes import shape_of
from trellis.workflow.spec import platform
from trellis.workflow.validation.file import load


def png(path, side, height=None, bits=8):
    """A grey image, square unless it has another height."""
    height = height or side
    rows = b"".join(b"\0" + bytes(side * bits // 8) for _ in range(height))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", side, height, bits, 0, 0, 0, 0))]
    chunks += [(b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for name, data in chunks:
            file.write(struct.pack(">I", len(data)) + name + data)
            file.write(struct.pack(">I", zlib.crc32(name + data)))


def test_a_folder_of_images_then_its_manifest(trellis, dags, google, planned, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(20):
        png(dags.parent / "Leaves" / ("oak" if n % 2 else "elm tree") / f"{n}.png", 20)
    assert trellis("new", "experiment", "Leaves", "--upload") == 0
    assert says(capsys.readouterr().out, "manifest.csv", "gs://new-tests/leaves")
    plan = planned("leaves")
    assert plan.dataset.classes == {"elm tree": 10, "oak": 10}
    source = plan.experiment.source
    assert (source.size, source.channels, source.resize) == ((20, 20), 1, "stretch")
    assert (source.split.stratify, source.split.shares) == ("label", (60, 20, 20))
    assert trellis("upload", "Leaves", "leaves") == 1
    address = "gs://new-tests/leaves/manifest.csv"
    assert f"{address} exists already" in capsys.readouterr().err
    assert trellis("new", "experiment", address, "--name", "again") == 0
    again = (dags / "experiments/again.yaml").read_text()
    assert again == (dags / "experiments/leaves.yaml").read_text()


def test_a_folder_of_splits(trellis, dags, google, planned, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for split, count in (("train", 20), ("val", 8), ("test", 8)):
        for n in range(count):
            png(dags.parent / "pets" / split / ("cat" if n % 2 else "dog") / f"{n}.png", 20)
            png(dags.parent / "pets" / split / ".ipynb_checkpoints" / f"{n}.png", 20)
    assert trellis("new", "experiment", "pets", "--upload") == 0
    out = capsys.readouterr().out
    assert "left out: 36 hidden and system files" in out
    assert "ML_USE): test 8, train 20, val" in out
    plan = planned("pets")
    assert plan.dataset.classes == {"cat": 18, "dog": 18}
    manifest = (google.buckets / "new-tests/pets/manifest.csv").read_text().splitlines()
    uses = [line.split(",")[0] for line in manifest]
    assert {use: uses.count(use) for use in uses} == {"test": 8, "training": 20, "validation": 8}


def test_a_manifest_with_groups(trellis, dags, google, planned):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(40):
        png(google.buckets / f"new-tests/scans/{n}.png", 90, height=90 + n)
    lines = [f"gs://new-tests/scans/{n}.png,{n % 3},patient {n}\n" for n in range(40)]
    (google.buckets / "new-tests/scans/manifest.csv").write_text("".join(lines))
    assert trellis("new", "experiment", "gs://new-tests/scans/manifest.csv") == 0
    plan = planned("scans")
    split = plan.experiment.source.split
    assert (split.by, split.shares) == ("group", (60, 20, 20))
    assert plan.experiment.source.resize == "letterbox"
    assert plan.experiment.task == "multiclass_classification"


def test_images_of_more_than_8_bits_have_a_scale(trellis, dags, google, planned, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(20):
        png(dags.parent / "Slides" / ("oak" if n % 2 else "elm") / f"{n}.png", 20, bits=16)
    assert trellis("new", "experiment", "Slides", "--upload") == 0
    assert "20 of 20 images have 16 bits" in capsys.readouterr().out
    source = planned("slides").experiment.source
    assert (str(source.scale), source.encoding) == ("percentiles:1,99", "png")
    assert trellis("new", "experiment", "gs://new-tests/slides/manifest.csv", "--name", "m") == 0
    assert "20 of 20 images have 16 bits" in capsys.readouterr().out
    assert planned("m").experiment.source.scale == source.scale


def test_dicom_files_of_several_frames_have_a_scale_and_a_page(
    trellis, dags, google, planned, capsys
):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(20):
        path = dags.parent / "Lungs" / ("ill" if n % 2 else "well") / f"{n}.dcm"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dicom((64, 80), 1, 12, 30, "little") + bytes(n))
    assert trellis("new", "experiment", "Lungs", "--upload") == 0
    assert "20 of 20 images have 30" in capsys.readouterr().out
    source = planned("lungs").experiment.source
    assert (source.scale, source.pages, source.channels) == ("percentiles:1,99", "first", 1)


@pytest.mark.parametrize("there", [0, 5])
def test_a_manifest_whose_images_are_not_there(trellis, dags, google, capsys, there):
    folder = google.buckets / f"new-tests/gone-{there}"
    for n in range(there):
        png(folder / f"{n}.png", 30)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"gs://new-tests/{folder.name}/{n}.png,{n % 2}\n" for n in range(40)]
    (folder / "manifest.csv").write_text("".join(lines))
    address = f"gs://new-tests/{folder.name}/manifest.csv"
    assert trellis("new", "experiment", address) == (0 if there else 1)
    said = capsys.readouterr()
    if there:
        assert "is not there: 35 of 40" in said.out
    else:
        assert "0.png is not there" in said.err


def test_a_manifest_with_any_number_of_labels(trellis, dags, google, planned, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(40):
        png(google.buckets / f"new-tests/findings/{n}.png", 30)
    lines = [
        f"gs://new-tests/findings/{n}.png" + ",mass" * (n % 2) + ",nodule" * (n % 3 == 0) + "\n"
        for n in range(40)
    ]
    (google.buckets / "new-tests/findings/manifest.csv").write_text("".join(lines))
    assert trellis("new", "experiment", "gs://new-tests/findings/manifest.csv") == 0
    assert "40 images, 2 labels" in capsys.readouterr().out
    plan = planned("findings")
    assert (plan.experiment.task, plan.experiment.metric) == ("multilabel_classification", "auc")
    assert (plan.dataset.examples, plan.dataset.classes) == (40, {"mass": 20, "nodule": 14})


def test_a_manifest_of_numbers(trellis, dags, google, planned, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(40):
        png(google.buckets / f"new-tests/counts/{n}.png", 30)
    lines = [f"gs://new-tests/counts/{n}.png,{n / 4}\n" for n in range(40)]
    (google.buckets / "new-tests/counts/manifest.csv").write_text("".join(lines))
    address = "gs://new-tests/counts/manifest.csv"
    assert trellis("new", "experiment", address) == 0
    assert "40 images, 40 labels (regression)" in capsys.readouterr().out
    plan = planned("counts")
    assert (plan.experiment.task, plan.experiment.metric) == ("regression", "rmse")
    assert (plan.dataset.examples, plan.dataset.classes) == (40, None)


def test_the_header_of_a_jpeg_tells_its_shape():
    app = b"\xff\xe0" + struct.pack(">H", 16) + bytes(14)
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, 300, 400, 3)
    assert shape_of(b"\xff\xd8" + app + frame + bytes(20)) == (300, 400, 3, 8, 1)
    assert shape_of(b"\xff\xd8" + app) is None
    assert shape_of(b"GIF89a") is None


def test_a_column_of_addresses_becomes_images_beside_the_others(trellis, google, dags, tmp_path):
    folder = google.buckets / "new-tests" / "photos"
    lines = ["lesion,photo,age,malignant"]
    for n in range(120):
        png(folder / f"{n}.png", 40, 30)
        lines.append(f"l{n:03d},gs://new-tests/photos/{n}.png,{20 + n % 60},{n % 2 == 0}")
    (tmp_path / "lesions.csv").write_text("\n".join(lines) + "\n")

    assert trellis("new", "experiment", "lesions.csv", "--upload") == 0

    experiment = load(dags / "experiments" / "lesions.yaml")
    source = experiment.source
    assert (experiment.model, source.key_, source.label) == ("convolutional", "lesion", "malignant")
    photo = source.image_columns["photo"]
    assert (photo.size, photo.channels, photo.resize) == ((30, 30), 1, "stretch")
    planned = plan_run(experiment, platform.load(dags), "r")
    assert [(f.name, f.kind) for f in planned.table.features] == [
        ("photo", "image"),
        ("age", "numeric"),
    ]
    # The table in BigQuery says the same.
    assert trellis("new", "experiment", "data.lesions", "--name", "again") == 0
    assert load(dags / "experiments" / "again.yaml").source.image_columns == {"photo": photo}


def test_addresses_of_images_that_are_not_there_are_refused(trellis, google, tmp_path, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    rows = [f"l{n},gs://new-tests/gone/{n}.png,{n % 2}" for n in range(60)]
    (tmp_path / "gone.csv").write_text("\n".join(["lesion,photo,malignant", *rows]) + "\n")
    assert trellis("new", "experiment", "gone.csv") == 1
    assert says(capsys.readouterr().err, "photo", "all 40 images", "unusable")
