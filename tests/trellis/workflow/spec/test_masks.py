"""Masks in an experiment file: how their classes are written, and what does not go with them."""

import pytest

from tests.trellis.workflow.spec.files import assert_named
from trellis.workflow.spec import masks as spec
from trellis.workflow.spec.problems import FileError
from trellis.workflow.validation.file import load
from trellis_contracts.columns import MaskClass

IMAGES = """\
owner: lab
budget: 6 USD
source:
  images: manifest.csv
  size: 64
  masks: {background: 0, cell: 255}
model: backbone
task: segmentation
train:
  maximize: dice
  epochs: 10
"""
ROWS = IMAGES.replace(
    "  images: manifest.csv\n  size: 64\n",
    "  bigquery: d.t\n  key: k\n  label: mask\n  features: [photo]\n"
    "  image_columns: {photo: {size: 64}}\n",
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("{background: 0, cell: 255}", {"background": 0, "cell": 255}),
        ("[background, cell, debris]", {"background": 0, "cell": 1, "debris": 2}),
        ('{ground: "#000000", cell: "#FF0000"}', {"ground": "#000000", "cell": "#ff0000"}),
        ("{2: 7, 1: 8}", {"2": 7, "1": 8}),
    ],
)
def test_classes_stand_in_the_order_of_the_file(write, text, values):
    experiment = load(write(IMAGES.replace("{background: 0, cell: 255}", text)))
    assert experiment.source.masks == tuple(MaskClass(*one) for one in values.items())
    # The plan keeps it as a file would.
    assert experiment.configuration()["source"]["masks"] == values
    assert spec._masks(values) == experiment.source.masks


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("{cell: 255}", "got 1 classes; a mask has 2 to 255"),
        ("{a: 0, b: 0}", "'a' and 'b' have the same value, 0"),
        ("{a: 0, b: 256}", "got 256 as the value of a class, 0 to 255"),
        ("{a: 0, b: true}", "got True as the value"),
        ('{a: 0, b: "#ff0000"}', "got values and colours; a file has either"),
        ('{a: "#000000", b: red}', "got 'red' as the value of a class"),
        ("[a, b, a]", "'a' is listed twice"),
        ("yes", "expected classes by the value of their pixels"),
    ],
)
def test_a_mistake_in_the_classes_is_named(write, new, message):
    load(write(IMAGES))
    assert_named(write, IMAGES, "{background: 0, cell: 255}", new, 6, "source.masks", message)


@pytest.mark.parametrize(
    ("good", "old", "new", "line", "field", "message"),
    [
        (IMAGES, "  masks: {background: 0, cell: 255}\n", "", 3, "source", "lacks `masks`"),
        (IMAGES, "segmentation", "regression", 6, "source.masks", "the task is regression: leave"),
        (IMAGES, "size: 64", "size: 64\n  split: {stratify: label}", 6, "source.split.stratify",
         "divides the images of one class each"),
        (IMAGES, "train:", "hyperparameters: {mix: mixup}\ntrain:", 9, "hyperparameters.mix",
         "has no effect for segmentation"),
        (IMAGES, "maximize: dice", "maximize: accuracy", 10, "train.maximize",
         "unknown metric 'accuracy' of segmentation"),
        (IMAGES, "model: backbone", "model: convolutional", 7, "model",
         "convolutional is not for a source of images for segmentation; known: backbone, unet"),
        (IMAGES, "train:", "hyperparameters: {patch: 48}\ntrain:", 9, "hyperparameters.patch",
         "got 48; the network halves a patch 5 times: use a multiple of 32, such as 64"),
        (IMAGES, "train:", "hyperparameters: {patch: 96}\ntrain:", 9, "hyperparameters.patch",
         "64 x 64 images are smaller: use at most 64"),
        (IMAGES.replace("64", "128"), "train:",
         "hyperparameters: {backbone: InceptionV3, patch: 64}\ntrain:", 9,
         "hyperparameters.patch", "got 64 x 64 pixels; backbone InceptionV3 takes 75 x 75 or more"),
        (IMAGES, "train:", "deploy: {gate: {require: {dice@nucleus: 0.8}}}\ntrain:", 9,
         "deploy.gate.require.dice@nucleus", "unknown class 'nucleus'; expected one of cell"),
        (IMAGES, "train:", "deploy: {gate: {require: {loss: 0.8}}}\ntrain:", 9,
         "deploy.gate.require.loss", "the loss of a segmentation is not on the leaderboard"),
        (IMAGES, "train:", "deploy: {gate: {recall: 0.8}}\ntrain:", 9, "deploy.gate.recall",
         "bounded as in `require: {mask_recall@cell: 0.8}`"),
        (ROWS, "features: [photo]", "features: [photo, age]", 10, "model",
         "backbone predicts a mask from one image alone"),
        (ROWS, "  image_columns: {photo: {size: 64}}\n", "", 3, "source", "lacks `image_columns`"),
        (ROWS, "label: mask", "label: mask\n  split: {stratify: mask}", 7, "source.split.stratify",
         "has an address of its own in each row"),
        (ROWS, "{photo: {size: 64}}", "{photo: {size: 64}, mask: {size: 64}}", 8,
         "source.image_columns.mask", "is the label"),
    ],
)  # fmt: skip
def test_what_does_not_go_with_masks_is_named(write, good, old, new, line, field, message):
    load(write(good))
    assert_named(write, good, old, new, line, field, message)


def test_a_gate_bounds_one_class_of_the_foreground(write):
    gate = "deploy: {gate: {require: {dice@cell: 0.8, boundary_distance@cell: 3}}}\ntrain:"
    text = IMAGES.replace("train:", gate)
    bounds = {"dice@cell": 0.8, "boundary_distance@cell": 3}
    assert load(write(text)).deployment.gate.require == bounds
    for class_ in ("background", "nucleus"):
        with pytest.raises(FileError, match=f"unknown class '{class_}'; expected one of cell"):
            load(write(text.replace("dice@cell", f"dice@{class_}")))


def test_the_dice_loss_is_for_masks_alone(write):
    dice = "hyperparameters: {loss: dice}\ntrain:"
    load(write(IMAGES.replace("train:", dice)))
    classes = IMAGES.replace("  masks: {background: 0, cell: 255}\n", "")
    classes = classes.replace("segmentation", "multiclass_classification")
    classes = classes.replace("maximize: dice", "maximize: accuracy")
    load(write(classes))
    message = "dice is only for the task segmentation: choose another loss"
    assert_named(write, classes, "train:", dice, 8, "hyperparameters.loss", message)


def test_a_run_has_no_gate_that_its_file_may_not_have(write):
    """The recall of classes, which a gate bounds by default, is of examples of one class."""
    deploy = "deploy: {gate: {require: {dice: 0.9}}, machines: {type: n1-standard-2}}\n"
    experiment = load(write(IMAGES + deploy))
    assert "recall" not in experiment.configuration()["deploy"]["gate"]
