"""Folders of images and masks that people have, and manifests of both."""

import io

import numpy as np
import pytest
from PIL import Image

from tests.wording import says
from trellis.new import folders, images, masks
from trellis.new.described import DataError, lines
from trellis.new.text import of_images
from trellis_contracts.tasks import SEGMENTATION

TRUTH = np.array([[0, 0, 0, 1], [0, 1, 1, 2]], np.uint8)


def png(values=TRUTH, mode=None, kind="PNG"):
    file = io.BytesIO()
    Image.fromarray(np.asarray(values, np.uint8), mode).save(file, kind)
    return file.getvalue()


@pytest.fixture
def make(tmp_path):
    """Makes files of these names; returns their folder."""

    def make(*names, content=None):
        for name in names:
            path = tmp_path / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png() if content is None else content)
        return tmp_path / "data"

    return make


def pairs(folder):
    return [
        (image.split, *(file.relative_to(folder).as_posix() for file in (image.file, image.mask)))
        for image in folders.read(folder).images
    ]


@pytest.mark.parametrize(
    ("images_", "masks_"),
    [
        ("images/1.jpg", "masks/1.png"),
        ("imagesTr/a/1.png", "labelsTr/a/1.png"),
        ("JPEGImages/1.jpg", "SegmentationClass/1.png"),
        ("imgs/1.png", "masks/1_mask.gif"),
        ("raw_images/1.tif", "ground truth/1-seg.png"),
    ],
)
def test_equal_names_in_two_folders_are_images_with_masks(make, images_, masks_):
    folder = make(images_, masks_)
    make("notes.txt", content=b"x")
    assert pairs(folder) == [(None, images_, masks_)]
    assert "left out: 1 .txt files" in list(lines(folders.read(folder).notes))


def test_splits_above_both_folders_are_kept(make):
    names = [f"{split}/{kind}/1.png" for split in ("train", "val", "test") for kind in KINDS]
    folder = make(*names)
    assert [split for split, *_ in pairs(folder)] == ["test", "train", "validation"]
    for gone in (folder / "val/images/1.png", folder / "val/masks/1.png"):
        gone.unlink()
    with pytest.raises(DataError, match=r"none for validation: add it, .*/validation/images/IMAGE"):
        folders.read(folder)


KINDS = ("images", "masks")


def test_images_without_a_mask_are_left_out_and_counted(make):
    folder = make("images/1.png", "images/2.png", "images/3.png", "masks/1.png", "masks/2.png")
    assert len(pairs(folder)) == 2
    assert "left out: 1 images without a mask" in list(lines(folders.read(folder).notes))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([png(TRUTH * 127)], {"background": 0, "class_1": 127, "class_2": 254}),
        ([png(np.minimum(TRUTH, 1) * 255)], {"background": 0, "object": 255}),
        ([png(TRUTH[:1]), png(TRUTH[1:])], {"background": 0, "class_1": 1, "class_2": 2}),
        ([png(TRUTH[..., None] * [1, 0, 0])], {"background": "#000000", "class_1": "#010000"}),
        ([png(TRUTH[..., None] * [100, 100, 100])], {"background": 0, "class_1": 100}),
        ([png(TRUTH + 5)], {"background": 5, "class_1": 6, "class_2": 7}),
    ],
    ids=["grey", "two values", "of all masks", "colours", "grey as rgb", "no black"],
)
def test_values_of_pixels_are_classes(values, expected):
    found = dict(masks.classes("data", values))
    assert found.items() >= expected.items()
    assert next(iter(found)) == "background"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([png(np.arange(200).reshape(10, 20))], "more than 32 values.*JPEG.*numbered objects"),
        ([png(np.random.default_rng(0).integers(0, 256, (9, 9, 3)))], "more than 32 values"),
        ([png(np.zeros((2, 2)))], "one value, 0: there is nothing"),
        ([png(), png(TRUTH[..., None] * [1, 0, 0])], "some masks are grey and some in colours"),
        ([b"<html>"], "a mask that cannot be read"),
    ],
)
def test_what_are_no_classes_is_refused(values, said):
    with pytest.raises(DataError, match=said):
        masks.classes("data", values)


def test_the_file_names_the_values(make):
    folder = make(*(f"{kind}/{number}.png" for kind in KINDS for number in range(9)))
    found = images.of_folder(folder, "gs://b/cells/manifest.csv")
    assert (found.count, dict(found.classes)) == (9, {})
    text = of_images(found, SEGMENTATION, "cells/manifest.csv", "me", "5 USD")
    for line in (
        "# 9 images with masks of 3 classes.",
        "    background: 0",
        "    class_2: 2",
        "model: unet",
        "task: segmentation",
        "  maximize: dice",
        "  split: {train: 60, validation: 20, test: 20}   # few images",
    ):
        assert line in text.splitlines()


def test_a_folder_of_images_and_masks_then_its_manifest(trellis, dags, google, planned, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    folder = dags.parent / "Cells"
    for number in range(60):
        for kind in KINDS:
            (folder / kind).mkdir(parents=True, exist_ok=True)
            (folder / kind / f"{number}.png").write_bytes(png(TRUTH.repeat(16, 0).repeat(8, 1)))
    assert trellis("new", "experiment", "Cells", "--upload") == 0
    said = capsys.readouterr().out
    assert says(said, "Cells: a folder of images", "masks")
    assert "background 0, class_1 1, class_2 2" in said
    plan = planned("cells")
    assert (plan.experiment.task, plan.experiment.metric) == (SEGMENTATION, "dice")
    assert [one.name for one in plan.experiment.source.masks] == [
        "background",
        "class_1",
        "class_2",
    ]
    assert (plan.dataset.examples, plan.dataset.classes) == (60, None)
    assert (google.buckets / "new-tests/cells/masks/59.png").exists()
    line = (google.buckets / "new-tests/cells/manifest.csv").read_text().split()[0]
    assert line.split(",") == [f"gs://new-tests/cells/{kind}/0.png" for kind in ("images", "masks")]

    address = "gs://new-tests/cells/manifest.csv"
    assert trellis("new", "experiment", address, "--name", "again") == 0
    again = (dags / "experiments/again.yaml").read_text()
    assert again == (dags / "experiments/cells.yaml").read_text()


@pytest.mark.parametrize(("column", "words"), [("mask", ()), ("outline", ("--label", "outline"))])
def test_a_column_of_masks_beside_one_of_images(trellis, dags, google, planned, column, words):
    for number in range(60):
        for kind in KINDS:
            path = google.buckets / f"new-tests/{column}/{kind}/{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png(TRUTH.repeat(16, 0).repeat(8, 1)))
    address = f"gs://new-tests/{column}/{{}}/{{}}.png"
    rows = [
        ",".join([f"c{n}", *(address.format(kind, n) for kind in KINDS), str(n % 7)])
        for n in range(60)
    ]
    table = "\n".join([f"cell,photo,{column},age", *rows])
    (dags.parent / f"of-{column}.csv").write_text(table)
    assert trellis("new", "experiment", f"of-{column}.csv", *words, "--upload") == 0
    plan = planned(f"of-{column}")
    source = plan.experiment.source
    assert (plan.experiment.task, plan.experiment.model) == (SEGMENTATION, "unet")
    assert ([*source.image_columns], source.label, len(source.masks)) == (["photo"], column, 3)
    assert (plan.experiment.task, source.features) == ("segmentation", ["photo"])


def test_a_table_without_masks_is_no_segmentation(trellis, dags, google, capsys):
    rows = "".join(f"{number},{number % 2}\n" for number in range(60))
    (dags.parent / "plain.csv").write_text(f"age,mask\n{rows}")
    assert trellis("new", "experiment", "plain.csv", "--task", "segmentation") == 1
    assert says(capsys.readouterr().err, "data.plain", "no column of masks", "--label")


def test_another_task_than_that_of_the_labels_is_refused(trellis, dags, google, capsys):
    for name in ("images/1.png", "masks/1.png", "cat/1.png", "dog/1.png"):
        above = "Cells" if "s/" in name else "Pets"
        path = dags.parent / above / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png())
    assert trellis("new", "experiment", "Cells", "--task", "multiclass_classification") == 1
    assert says(capsys.readouterr().err, "masks", "multiclass_classification (--task)")
    assert trellis("new", "experiment", "Pets", "--task", "segmentation") == 1
    assert says(capsys.readouterr().err, "no masks", "images/NAME.png")
