"""Export of images with masks, on paths instead of gs:// addresses."""

import json

import cv2
import numpy as np
import pytest

from testbed.manifests import export_flags
from tests.trainer.exporting.tables.helpers import feature, read_examples, write_table
from tests.trainer.exporting.tables.helpers import run as table_run
from tests.wording import says
from trainer import dataset_description, export
from trellis_contracts.columns import MaskClass
from trellis_contracts.dataset import SPLITS
from trellis_contracts.dataset_features import Label

KNOWN = (MaskClass("ground", 0), MaskClass("cell", 255), MaskClass("debris", 7))
COUNT, SIZE = 120, (12, 10)


def write(folder, count=COUNT):
    """Write images and masks of random classes; the classes by name, (count, *SIZE). Every tenth
    has the ground alone.
    """
    random = np.random.default_rng(1)
    values = np.array([one.value for one in KNOWN], np.uint8)
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
    found, lines = {}, []
    for number in range(count):
        truth = random.integers(0, 1 if number % 10 == 0 else 3, SIZE).astype(np.uint8)
        pixels = random.integers(0, 256, SIZE).astype(np.uint8)
        (folder / f"images/{number}.png").write_bytes(png(pixels))
        (folder / f"masks/{number}.png").write_bytes(png(values[truth]))
        lines.append(f"images/{number}.png,masks/{number}.png\n")
        found[f"images/{number}.png"] = truth
    (folder / "manifest.csv").write_text("".join(lines))
    return found


def png(pixels):
    return cv2.imencode(".png", pixels)[1].tobytes()


def run(folder, **changed):
    form = {"image_size": SIZE, "channels": 1, "encoding": "png", "shards": 2, "masks": KNOWN}
    form |= {"task": "segmentation"} | changed
    return export.main(export_flags(folder / "manifest.csv", folder / "out", "f1", **form))


def refusal(folder):
    """What the refusal quotes of rows, which no log has."""
    return (folder / "out/examples/export.txt").read_text()


def stored(folder):
    """The mask of each example, by key and split."""
    return {
        (split, example["key"][0].decode()): cv2.imdecode(
            np.frombuffer(example["label"][0], np.uint8), cv2.IMREAD_UNCHANGED
        )
        for split in SPLITS
        for example in read_examples(folder / "out", split)
    }


def test_a_record_holds_the_mask_of_its_image(tmp_path):
    truth = write(tmp_path)
    assert run(tmp_path) == 0

    dataset = dataset_description.load(str(tmp_path / "out"))
    assert dataset.task == dataset.family == "segmentation"
    assert dataset.label == Label("label", "uint8", shape=(*SIZE, 1), encoding="png")
    assert dataset.label.mask_shape == SIZE
    assert (dataset.classes, dataset.outputs) == (("ground", "cell", "debris"), 3)
    found = stored(tmp_path)
    assert {key for _, key in found} == {*truth}
    for (_, key), mask in found.items():
        np.testing.assert_array_equal(mask, truth[key])
    for split in SPLITS:
        masks = [mask for (where, _), mask in found.items() if where == split]
        of_class = [sum(bool((mask == index).any()) for mask in masks) for index in range(3)]
        assert [*dataset.counts[split].classes.values()] == of_class
        assert dataset.examples(split) == len(masks)
    (warning,) = (one for one in dataset.warnings if "alone" in one)
    assert warning.startswith("12 of 120 masks are 'ground' alone (")


def test_masks_that_leave_a_doubt_are_rejected_with_key_address_and_reason(tmp_path):
    truth = write(tmp_path)
    (tmp_path / "masks/1.png").write_bytes(png(np.full(SIZE, 3, np.uint8)))
    (tmp_path / "masks/2.png").write_bytes(png(np.zeros(SIZE[::-1], np.uint8)))
    (tmp_path / "masks/3.png").unlink()
    (tmp_path / "masks/4.png").write_bytes(b"")
    (tmp_path / "images/5.png").unlink()

    assert run(tmp_path, max_rejected=0.05) == 0

    dataset = dataset_description.load(str(tmp_path / "out"))
    assert (dataset.rejected, len(stored(tmp_path))) == (5, COUNT - 5)
    lines = (tmp_path / "out/rejected.jsonl").read_text().splitlines()
    rows = {row["key"]: row for row in map(json.loads, lines)}
    reasons = {key.split("/")[1]: row["reason"] for key, row in rows.items()}
    assert says(reasons.pop("1.png"), "value 3", "120 of 120")
    assert says(reasons.pop("2.png"), "12 x 10", "10 x 12")
    assert reasons == {
        "3.png": "no such object",
        "4.png": "the file is empty",
        "5.png": "no such object",
    }
    assert {row["feature"] for key, row in rows.items() if key != "images/5.png"} == {"label"}
    assert rows["images/1.png"]["uri"].endswith("masks/1.png")
    assert len(truth) == COUNT

    assert run(tmp_path, max_rejected=0.03) == 0  # already committed
    (tmp_path / "out/dataset.json").unlink()
    assert run(tmp_path, max_rejected=0.03) == 1
    assert "5 of 120 rows are rejected" in refusal(tmp_path)


def test_masks_whose_values_are_all_unknown_are_refused_at_once(tmp_path, capsys):
    write(tmp_path, 30)
    assert run(tmp_path, masks=(MaskClass("ground", 1), MaskClass("cell", 2))) == 1
    assert "the value" in refusal(tmp_path)
    assert "shard" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "why"),
    [(0, "masks of the train split are 'ground' alone"), (255, "no mask of the train split has 1")],
)
def test_a_class_that_no_mask_of_train_has_is_refused(tmp_path, capsys, value, why):
    write(tmp_path, 60)
    for path in (tmp_path / "masks").iterdir():
        path.write_bytes(png(np.full(SIZE, value, np.uint8)))
    assert run(tmp_path) == 1
    assert why in capsys.readouterr().err


def test_rows_of_a_table_have_masks_beside_other_columns(tmp_path):
    truth = write(tmp_path, 120)
    columns = {
        "key": [str(number) for number in range(120)],
        "label": [str(tmp_path / f"masks/{number}.png") for number in range(119)] + [None],
        "age": [float(number) for number in range(120)],
        "photo": [str(tmp_path / f"images/{number}.png") for number in range(120)],
    }
    form = {"size": SIZE, "channels": 1, "encoding": "png", "resize": "stretch", "scale": None}
    photo = feature("photo", "image", "STRING") | {"image": form}
    masks = [one.to_document() for one in KNOWN]
    changed = {"task": "segmentation", "masks": masks, "label": {"name": "outline"}}
    source = write_table(
        tmp_path / "source", columns, [feature("age"), photo], max_rejected=0.01, **changed
    )
    assert table_run(source, tmp_path / "out") == 0

    dataset = dataset_description.load(str(tmp_path / "out"))
    assert (dataset.label.column, dataset.label.mask_shape) == ("outline", SIZE)
    assert dataset.inputs == {"image", "table"}
    for (_, key), mask in stored(tmp_path).items():
        np.testing.assert_array_equal(mask, truth[f"images/{key}.png"])
    (row,) = map(json.loads, (tmp_path / "out/rejected.jsonl").read_text().splitlines())
    assert (row["key"], row["feature"], row["reason"]) == ("119", "outline", "no address")
