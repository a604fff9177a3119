"""The report's part on masks."""

import base64
from pathlib import Path

import cv2
import numpy as np
import pytest

from trainer import masks
from trainer.comparison.held_out_split import HeldOutSplit
from trainer.metrics.segmentation import MaskOutcome
from trainer.report import pictures
from trainer.report.contenders import ContenderStyle
from trainer.report.segmentation import segmentation_section
from trainer.stored import serialize
from trellis_contracts import layout
from trellis_contracts.dataset_features import Feature

CLASSES = ("background", "cell", "wall")
IMAGE = Feature("image", "image", "uint8", "png", (20, 20, 1))


def square(mask, top, left, side, of=1):
    mask[top : top + side, left : left + side] = of
    return mask


@pytest.fixture
def images(tmp_path):
    """Twelve images by key with true and predicted masks: in the n-th, a cell of side 2 to 7, of
    which the predicted mask misses all if it is of side 2, and else the last row.
    """
    pairs = {}
    for n in range(12):
        side = 2 + n % 6
        true = square(np.zeros((20, 20), np.uint8), 3, 3, side)
        predicted = true.copy()
        predicted[3 + side - 1] = 0
        if side == 2:
            predicted[:] = 0
        pairs[f"k{n:02d}"] = true, predicted
    return pairs


def section(images, folder):
    """The section of one contender, whose masks lie in a folder."""
    payloads, records, offset = b"", [], 0
    for key, (true, predicted) in images.items():
        grey = np.full((20, 20), 100, np.uint8)
        features = {"label": masks.encode(true), "image": masks.encode(grey)}
        payload = serialize(features)
        records.append((folder / "records", offset, len(payload)))
        payloads, offset = payloads + payload, offset + len(payload)
        path = layout.mask(f"{folder}/", key)
        (folder / "masks").mkdir(exist_ok=True)
        Path(path).write_bytes(masks.encode(predicted))
    (folder / "records").write_bytes(payloads)
    true, predicted = (np.stack(part) for part in zip(*images.values(), strict=True))
    split = HeldOutSplit(
        keys=np.array(list(images), object),
        labels=masks.pixels(true, 3),
        classes=CLASSES,
        records=tuple(records),
        family="segmentation",
    )
    both = np.stack([((true == c) & (predicted == c)).sum(axis=(1, 2)) for c in range(3)], axis=1)
    distances = np.where(np.arange(3) == 1, 1.5, np.nan) * np.ones((len(images), 1))
    outcome = MaskOutcome(split.labels, masks.pixels(predicted, 3), both, distances)
    style = ContenderStyle("training/1", "s1", True)
    return segmentation_section({style.name: outcome}, [style], split, [IMAGE], f"{folder}/")


def test_scores_are_by_class_and_none_where_undefined(images, tmp_path):
    cell, wall = section(images, tmp_path).classes
    found, every = 2 * sum(s * (s - 1) for s in range(3, 8)), 2 * sum(s * s for s in range(2, 8))
    assert (cell.name, cell.images, cell.distance) == ("cell", 12, 1.5)
    assert cell.recall == pytest.approx(found / every)
    assert cell.precision == 1
    assert cell.dice == pytest.approx(2 * found / (found + every))
    assert (wall.images, wall.dice, wall.recall, wall.distance) == (0, None, None, None)


def test_examples_are_the_worst_the_middle_and_the_best_with_pictures(images, tmp_path):
    found = section(images, tmp_path).examples
    assert [one.key for one in found["worst"]][:2] == ["k00", "k06"]
    assert {one.key for one in found["best"][:2]} == {"k05", "k11"}
    assert found["worst"][0].dice == 0
    assert found["best"][0].dice > found["median"][0].dice > 0
    assert all(one.picture.startswith("data:image/jpeg") for some in found.values() for one in some)


def test_small_objects_are_missed_and_regions_without_a_truth_are_counted(images, tmp_path):
    _, predicted = images["k00"]
    square(predicted, 15, 15, 2)
    square(predicted, 0, 0, 1, of=2)
    found = section(images, tmp_path)
    sizes = [(one.name, one.low, one.high, one.objects, one.found) for one in found.sizes]
    # Of the sides 2 and 3, whose sizes are in the first fifth: the former are missed.
    assert sizes[0] == ("cell", 4, 9, 4, 0.5)
    assert sizes[-1] == ("cell", 49, 49, 2, 1.0)
    assert sum(one.objects for one in found.sizes) == 12
    assert found.extra == {"cell": 1, "wall": 1}
    assert list(found.figures) == ["objects/cell"]


def test_a_mask_that_is_gone_leaves_its_example_without_a_picture(images, tmp_path):
    section(images, tmp_path)
    for file in (tmp_path / "masks").iterdir():
        file.unlink()
    images.clear()
    images |= {"k": (np.ones((20, 20), np.uint8), np.ones((20, 20), np.uint8))}
    found = section(images, tmp_path)
    (tmp_path / "masks").rename(tmp_path / "gone")
    assert found.examples["best"][0].picture
    assert found.images == 1


def test_an_overlay_shows_what_is_found_what_is_wrong_and_the_true_boundary():
    true = square(np.zeros((64, 64), np.uint8), 16, 16, 32)
    predicted = np.roll(true, 8, axis=1)
    uri = pictures.overlaid(masks.encode(np.full((64, 64), 100, np.uint8)), true, predicted)
    data = np.frombuffer(base64.b64decode(uri.partition(",")[2]), np.uint8)
    blue, _, red = np.moveaxis(cv2.imdecode(data, cv2.IMREAD_COLOR).astype(int), -1, 0)
    assert blue.shape == (256, 256)
    assert blue[128, 128] > red[128, 128] + 20  # found
    assert red[128, 78] > blue[128, 78] + 20  # missed
    assert red[128, 210] > blue[128, 210] + 20  # predicted and not there
    assert abs(red[20, 20] - blue[20, 20]) < 8  # background
    assert min(red[128, 63], blue[128, 63]) > 200  # the boundary
