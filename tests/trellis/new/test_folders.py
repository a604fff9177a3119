"""Folders of images that people have: the classes, the splits, what is left out and counted."""

import io
import os
import shutil
import struct

import pytest
from PIL import Image

from tests.airflow_side import ROOT
from tests.wording import says
from trellis.__main__ import main
from trellis.new import folders, images
from trellis.new.described import DataError, Note, lines
from trellis.new.shapes import HEADER, shape_of
from trellis.new.text import of_images


@pytest.fixture
def make(tmp_path):
    """Makes files: images, or of the content given. Returns the folder."""

    def make(names, content=None):
        for name in names:
            path = tmp_path / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encoded("PNG") if content is None else content)
        return tmp_path / "data"

    return make


def encoded(form, mode="L", size=(12, 9)):
    file = io.BytesIO()
    Image.new(mode, size).save(file, form)
    return file.getvalue()


def dicom(size, samples, bits, frames, order):
    """The start of a DICOM file, with a sequence before its numbers (PS3.5, 7.1; PS3.10, 7.1)."""
    syntax = {"implicit": "1.2.840.10008.1.2", "big": "1.2.840.10008.1.2.2"}
    uid = syntax.get(order, "1.2.840.10008.1.2.1").encode()
    uid += b"\0" * (len(uid) % 2)
    letter = ">" if order == "big" else "<"

    def element(group, number, vr, value):
        tag = struct.pack(f"{letter}HH", group, number)
        if order == "implicit":
            return tag + struct.pack("<I", len(value)) + value
        return tag + vr + struct.pack(f"{letter}H", len(value)) + value

    def item(number, size=0):
        return struct.pack(f"{letter}HHI", 0xFFFE, number, size)

    inner = element(0x0008, 0x1150, b"UI", b"1.2\0")
    sequence = struct.pack(f"{letter}HH", 0x0008, 0x1140)
    sequence += b"" if order == "implicit" else b"SQ\0\0"
    sequence += b"\xff" * 4 + item(0xE000, 0xFFFFFFFF) + inner + item(0xE00D) + item(0xE0DD)
    numbers = {0x0002: samples, 0x0010: size[0], 0x0011: size[1], 0x0101: bits}
    found = [element(0x0028, n, b"US", struct.pack(f"{letter}H", v)) for n, v in numbers.items()]
    if frames > 1:
        found.insert(1, element(0x0028, 0x0008, b"IS", f"{frames} ".encode()))
    meta = struct.pack("<HH2sH", 0x0002, 0x0010, b"UI", len(uid)) + uid
    return bytes(128) + b"DICM" + meta + sequence + b"".join(found)


def both(*patterns):
    return [pattern.format(c) for pattern in patterns for c in ("cat", "dog")]


def labels(folder):
    return sorted({(image.split, image.label) for image in folders.read(folder).images}, key=str)


def test_hidden_and_system_files_are_left_out_and_counted(make):
    folder = make(both("{}/1.png", "{}/2.PNG"))
    make(both("{}/.ipynb_checkpoints/1-checkpoint.png", "{}/._1.png", "__MACOSX/{}/._1.png"))
    make([".ipynb_checkpoints/1.png", ".DS_Store", "cat/Thumbs.db", "@eaDir/cat/1.png"])
    found = folders.read(folder)
    assert labels(folder) == [(None, "cat"), (None, "dog")]
    assert len(found.images) == 4
    assert "left out: 10 hidden and system files" in list(lines(found.notes))


def test_what_is_no_image_is_counted_by_its_type(make):
    folder = make(both("{}/1.png"))
    make(["cat/notes.txt", "dog/a.czi", "dog/b.czi", "dog/README"], b"x")
    make(["cat/0.png"], b"")
    (folder / "cat/gone.png").symlink_to("nowhere.png")
    make(["loose.png"])
    said = "\n".join(lines(folders.read(folder).notes))
    for part in ("1 .txt", "2 .czi", "1 empty files", "1 links to files", "1 images in no folder"):
        assert part in said


@pytest.mark.parametrize(
    "names",
    [("train", "val", "test"), ("Training", "validation", "TEST"), ("trn", "dev", "holdout")],
)
def test_folders_of_splits_are_the_split(make, names):
    folder = make(both(*(f"{name}/{{}}/1.png" for name in names)))
    splits = ("test", "train", "validation")
    assert labels(folder) == [(split, label) for split in splits for label in ("cat", "dog")]
    found = images.of_folder(folder, "gs://b/m.csv")
    assert (dict(found.classes), found.frozen) == ({"cat": 3, "dog": 3}, True)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (both("train/{}/1.png", "test/{}/1.png"), "none for validation"),
        ([*both("train/{}/1.png", "val/{}/1.png"), "test/1.png"], "in no folder of a class"),
        (both("train/{}/1.png", "val/{}/1.png", "test/{}/1.png", "more/{}/1.png"), "beside others"),
        ([*both("train/{}/1.png", "val/{}/1.png", "test/{}/1.png"), "test/elk/1.png"], "of elk is"),
        (both("{}/train/1.png", "{}/val/1.png", "{}/test/1.png"), "move them above"),
        (["fold1/1.png", "fold2/1.png"], "are folds"),
        (["images/1.png", "images/2.png", "masks/3.png"], "2 of 2 images have no mask"),
        (both("{}/images/1.png", "{}/masks/1.png"), "beside annotations"),
        (["images/1.png", "annotations/all.json"], "detection"),
        (["images/train/1.png", "labels/train/1.txt"], "detection"),
        (["train/images/1.png", "train/labels/1.txt", "valid/images/2.png"], "train has.*detect"),
        (["JPEGImages/1.png", "Annotations/1.xml"], "detection"),
        (["Cat/1.png", "cat/1.png"], "differ in case"),
        (["caf\u00e9/1.png", "cafe\u0301/1.png"], "differ in case, blanks or accents"),
        (["cat/1.png", "cat/2.png"], "images of one class, 'cat'"),
        (both("set/{}/1.png"), "the classes may be in .*set"),
        (["1.png", "2.png"], "2 images and no folders of classes"),
        (both("{}/1.nii.gz"), r"volumes.*\(\.nii\.gz\).*docs/how-to/image-files\.md"),
        (both("{}/1.xyz"), r"2 \.xyz.*read are \.png"),
        (["labels.csv"], "name the table itself"),
    ],
)
def test_what_is_refused_and_how(make, names, said):
    folder = make(names)
    with pytest.raises(DataError, match=said):
        folders.read(folder)


@pytest.mark.parametrize("name", ["IM00001", "1.2.840.113619.2.55", "scan.v2"])
def test_dicom_is_known_without_its_suffix(make, name):
    folder = make([f"cat/{name}", f"dog/{name}"], bytes(128) + b"DICM" + bytes(64))
    make(["DICOMDIR", "cat/notes.txt"], bytes(128) + b"DICM" + bytes(64))
    assert labels(folder) == [(None, "cat"), (None, "dog")]


def test_files_of_which_none_is_an_image_are_refused(make):
    folder = make(both("{}/1.png", "{}/2.png"), b"<html>not found</html>")
    with pytest.raises(DataError, match=r"all 4 images that were looked at are unusable: .*1\.png"):
        images.of_folder(folder, "gs://b/m.csv")
    make(["cat/1.png"])
    found = images.of_folder(folder, "gs://b/m.csv")
    assert "3 of 4 that were looked at" in "\n".join(lines(found.notes))


def test_an_image_whose_size_stands_far_behind_is_no_fault(make):
    """A TIFF file of which the directory follows more pixels than are read."""
    far = b"II*\0" + (2**31).to_bytes(4, "little") + bytes(64)
    found = images.of_folder(make(both("{}/1.tif"), far), "gs://b/m.csv")
    assert says("\n".join(lines(found.notes)), "size", ": 2 of 2")


def test_masks_beside_their_images_are_left_out(make):
    folder = make(both("{}/a (1).png", "{}/a (1)_mask.png", "{}/b.png", "{}/b_mask_1.png"))
    make(["cat/flu_mask.png"])  # a picture of a mask
    found = folders.read(folder)
    assert len(found.images) == 5
    assert "4 masks beside their images" in "\n".join(lines(found.notes))


def test_links_to_folders_are_followed_once(make, tmp_path):
    folder = make(both("{}/1.png"))
    (tmp_path / "elk").mkdir()
    (tmp_path / "elk/1.png").write_bytes(encoded("PNG"))
    (folder / "elk").symlink_to(tmp_path / "elk")
    (folder / "cat/loop").symlink_to(folder)
    (folder / "dog/up").symlink_to(tmp_path)
    found = folders.read(folder)
    assert [image.label for image in found.images] == ["cat", "dog", "elk"]
    assert "2 links to a folder above" in "\n".join(lines(found.notes))


def test_folders_in_those_of_classes_are_reported(make):
    folder = make(both("{}/patient 1/1.png", "{}/patient 2/1.png"))
    found = folders.read(folder)
    assert len(found.images) == 4
    assert "not used: 4 folders in those of classes" in "\n".join(lines(found.notes))


def test_a_file_that_may_not_be_read_is_named(make, monkeypatch):
    folder = make(both("{}/1.png"))
    readable = os.access
    monkeypatch.setattr(os, "access", lambda p, m: "cat" not in str(p) and readable(p, m))
    with pytest.raises(DataError, match=r"cat/1\.png cannot be read: permission denied"):
        folders.read(folder)


@pytest.mark.parametrize(
    ("form", "mode", "shape"),
    [
        ("PNG", "L", (9, 12, 1, 8)),
        ("PNG", "RGB", (9, 12, 3, 8)),
        ("PNG", "P", (9, 12, 3, 8)),
        ("PNG", "I;16", (9, 12, 1, 16)),
        ("JPEG", "L", (9, 12, 1, 8)),
        ("JPEG", "RGB", (9, 12, 3, 8)),
        ("TIFF", "L", (9, 12, 1, 8)),
        ("TIFF", "RGB", (9, 12, 3, 8)),
        ("TIFF", "I;16", (9, 12, 1, 16)),
        ("TIFF", "I;16B", (9, 12, 1, 16)),
        ("TIFF", "F", (9, 12, 1, 32)),
        ("GIF", "L", (9, 12, 3, 8)),
        ("BMP", "RGB", (9, 12, 3, 8)),
        ("WEBP", "RGB", (9, 12, 3, 8)),
    ],
)
def test_shapes_are_those_that_pillow_wrote(form, mode, shape):
    data = encoded(form, mode)
    assert shape_of(data) == (*shape, 1)
    for length in range(0, min(len(data), 60)):
        shape_of(data[:length])  # a file that was cut off raises nothing


@pytest.mark.parametrize("mode", ["L", "RGB", "I;16"])
def test_the_shape_of_a_big_tiff(mode):
    file = io.BytesIO()
    Image.new(mode, (12, 9)).save(file, "TIFF", big_tiff=True)
    assert file.getvalue()[:4] == b"II+\0"
    assert shape_of(file.getvalue()) == shape_of(encoded("TIFF", mode))
    for length in range(0, len(file.getvalue()), 7):
        shape_of(file.getvalue()[:length])


@pytest.mark.parametrize("order", ["little", "big", "implicit"])
@pytest.mark.parametrize(("samples", "bits", "frames"), [(1, 12, 1), (3, 8, 1), (1, 16, 40)])
def test_the_shape_of_a_dicom_file(order, samples, bits, frames):
    data = dicom((9, 12), samples, bits, frames, order)
    assert shape_of(data) == (9, 12, samples, bits, frames)
    for length in range(len(data)):
        shape_of(data[:length])


def test_a_dicom_file_that_is_a_tiff_file_too_is_dicom():
    data = dicom((9, 12), 1, 12, 1, "little")
    assert shape_of(encoded("TIFF")[:128] + data[128:]) == (9, 12, 1, 12, 1)


@pytest.mark.parametrize(
    ("count", "reduced", "pages"), [(1, 0, 1), (3, 0, 3), (12, 0, 12), (2, 1, 1)]
)
def test_the_pages_of_a_tiff_file_are_counted(count, reduced, pages):
    file = io.BytesIO()
    first, *others = [Image.new("L", (12, 9)) for _ in range(count)]
    for other in others:
        other.encoderinfo = {"tiffinfo": {254: reduced}}
    first.save(file, "TIFF", save_all=True, append_images=others)
    assert shape_of(file.getvalue()) == (9, 12, 1, 8, pages)


def test_a_folder_of_several_pages_says_so_and_leaves_the_choice(make):
    content = {name: dicom((64, 80), 1, 12, 30, "little") for name in both("{}/1.dcm")}
    for name, data in content.items():
        folder = make([name], data)
    found = images.of_folder(folder, "gs://b/m.csv")
    assert (found.size, found.channels, found.bits, found.pages) == (64, 1, 12, 30)
    assert Note("several pages or frames", "2 of 2 images have 30") in found.notes
    text = of_images(found, "binary_classification", "m.csv", "me", "5 USD")
    assert "up to 30 pages or frames" in text
    assert "\n  pages: first\n" in text
    assert "\n  scale: percentiles\n" in text


def test_a_tiff_whose_description_is_at_its_end(make):
    data = encoded("TIFF", "I;16", (700, 600))
    folder = make(both("{}/1.tif"), data)
    found = images.of_folder(folder, "gs://b/m.csv")
    assert (found.size, found.channels) == (224, 1)
    assert Note("deeper than 8 bits", "2 of 2 images have 16 bits") in found.notes
    assert len(data) > HEADER


def test_classes_of_few_images_and_names_of_no_label_are_said(make, tmp_path, capsys):
    folder = make([f"ill/{n}.png" for n in range(12)])
    make(["well/1.png", *(f"Unlabeled/{n}.png" for n in range(9))])
    dags = tmp_path / "dags"
    dags.mkdir()
    shutil.copy(ROOT / "dags/platform.yaml", dags)
    assert main(["new", "experiment", str(folder), "--platform", str(dags), "--name", "x"]) == 0
    said = capsys.readouterr().out
    (few,) = [line for line in said.splitlines() if line.startswith("few images: ")]
    assert "well (1)" in few
    assert "Unlabeled (9)" in few
    assert "ill (" not in few
    assert says(said, "'Unlabeled'", "missing label")
