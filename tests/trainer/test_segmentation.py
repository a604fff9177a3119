"""A segmentation, from files and masks to the leaderboard and the answers of a server."""

import base64
import json
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from testbed.manifests import export_flags
from testbed.trainings import ROOT, arguments, without_seconds, write_dataset
from tests.trainer.conftest import RunFolder
from tests.trainer.exporting.tables.helpers import read_examples
from trainer import compare, dataset_description, export, masks, predictions
from trainer.comparison import scoring
from trainer.estimators import run as estimator
from trainer.families import FAMILIES
from trainer.serving.model import Model
from trainer.training import TrainingError, checkpoints, loop
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts import layout
from trellis_contracts.columns import MaskClass
from trellis_contracts.dataset import SPLITS
from trellis_contracts.tasks import SEGMENTATION

EXPERIMENTS = ROOT / "dags/experiments"

COUNT, FILE, SIDE = 160, 40, 32
VALUES = {"background": 0, "cell": 100, "nucleus": 255}
CLASSES = tuple(VALUES)
FLAGS = {
    "model": "unet",
    "task": "segmentation",
    "blocks": 1,
    "filters": 8,
    "epochs": 12,
    "batch_size": 4,
    "learning_rate": 0.005,
}


def cells(count, side=SIDE, seed=0):
    """Pictures (count, side, side, 1) of cells with nuclei in uneven light, and their masks."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:side, :side]
    images, true = np.zeros((count, side, side)), np.zeros((count, side, side), np.uint8)
    for image, mask in zip(images, true, strict=True):
        for _ in range(random.integers(1, 4)):
            row, column, radius = random.uniform([4, 4, 4], [side - 4, side - 4, side / 4])
            away = np.hypot(rows - row, columns - column)
            mask[away <= radius] = 1
            mask[away <= radius / 2] = 2
        image += np.array([60, 110, 170])[mask] + random.normal(0, 8, mask.shape)
        image *= np.linspace(0.7, 1.3, side)[:, None]
    return images.clip(0, 255).astype(np.uint8)[..., None], true


def write(folder):
    """A manifest of pictures of FILE x FILE pixels and their masks."""
    values = np.array([*VALUES.values()], np.uint8)
    lines = []
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
    for number, (image, mask) in enumerate(zip(*cells(COUNT, FILE), strict=True)):
        cv2.imwrite(str(folder / f"images/{number}.png"), image)
        cv2.imwrite(str(folder / f"masks/{number}.png"), values[mask])
        lines.append(f"images/{number}.png,masks/{number}.png\n")
    (folder / "manifest.csv").write_text("".join(lines))


def train(dataset, output, **flags):
    """metrics.json of a training."""
    settings = parse_flags(arguments(dataset, output=output, **FLAGS | flags), "")
    assert estimator.train(settings, checked_dataset(settings)) == 0
    return json.loads(settings.places.metrics.read_text())


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A training's folder, as `training/1` of a run, and what came of it."""
    folder = tmp_path_factory.mktemp("segmentation")
    write(folder / "files")
    known = tuple(MaskClass(*one) for one in VALUES.items())
    form = {"image_size": (SIDE, SIDE), "channels": 1, "encoding": "png", "shards": 1}
    form |= {"masks": known, "task": "segmentation", "split_fractions": (60, 15, 25)}
    address = folder / "dataset"
    assert export.main(export_flags(folder / "files/manifest.csv", address, "f1", **form)) == 0
    examples = [example for split in SPLITS for example in read_examples(address, split)]
    output = folder / "runs/r/training/1"
    return SimpleNamespace(
        files=folder / "files",
        address=str(address),
        true={one["key"][0].decode(): masks.decode(one["label"][0], 3) for one in examples},
        dataset=dataset_description.load(str(address)),
        run=folder / "runs/r",
        output=output,
        metrics=train(str(address), output),
        predicted=predictions.read(output / "predictions.parquet"),
    )


def test_a_unet_finds_the_cells(trained):
    test = trained.metrics["test"]
    assert test["dice"] > 0.85
    assert test["boundary_distance"] < 2
    assert {"iou", "pooled_dice", "mask_recall"} <= {*test}
    assert trained.metrics["validation"]["dice"] == pytest.approx(test["dice"], abs=0.05)


def test_predictions_are_the_pixels_of_the_masks_beside_them(trained):
    found = trained.predicted
    assert len(found) == trained.dataset.examples("test")
    for place, key in enumerate(found.keys):
        png = (trained.output.parent / layout.mask("1/", key)).read_bytes()
        mask, true = masks.decode(png, 3), trained.true[key]
        for count, pixels in (
            (found.labels, true),
            (found.predicted, mask),
            (found.both, mask[true == mask]),
        ):
            assert count[place].tolist() == np.bincount(pixels.ravel(), minlength=3).tolist()


def test_every_predictor_has_a_loss_by_which_equal_ones_are_chosen(trained):
    family, found = FAMILIES[SEGMENTATION], trained.predicted
    figures = family.figures(trained.dataset, found.labels, family.answers(found), None)
    assert figures["loss"] == 1 - figures["dice"]


@pytest.fixture(scope="module")
def compared(trained, tmp_path_factory, few_resamples_in_module):
    """The run's folder after its comparison."""
    plan = RunFolder(tmp_path_factory.mktemp("other"), [0, 1], ["a", "b"])
    plan.path = trained.run
    bounds = {"dice": 0.8, "dice@nucleus": 0.7, "boundary_distance": 3.0}
    gate = {"require": bounds, "margin": 0.0, "beat": "baselines"}
    gate |= {"tolerance": None, "learned": True}
    deploy = {"gate": gate, "smoke": {"examples": 8, "latency": 1000}}
    configuration = {"task": "segmentation", "deploy": deploy}
    dataset = {"uri": f"{trained.address}/", "fingerprint": trained.dataset.fingerprint}
    plan.plan({"configuration": configuration, "dataset": dataset})
    assert compare.main(["--run", plan.uri, "--metric", "dice"]) == 0
    return trained.run / "leaderboard"


@pytest.fixture(scope="module")
def board(compared):
    return json.loads((compared / "leaderboard.json").read_text())


def test_the_leaderboard_has_an_interval_for_every_metric(board):
    assert board["task"] == "segmentation"
    (contender,) = board["contenders"]
    for name in board["metrics"]:
        low, high = contender["metrics"][name]["interval"]
        assert low <= contender["metrics"][name]["value"] <= high
    assert board["metrics"]["dice"]["chance"] < contender["metrics"]["dice"]["interval"][0]


def test_the_gate_bounds_a_class_by_itself(board):
    promotion = board["promotion"]
    assert promotion["promoted"], promotion
    assert any("Dice of nucleus" in check["check"] for check in promotion["checks"])


def test_the_server_answers_every_file_with_the_mask_that_was_scored(trained):
    """The files as clients send them, which the server resizes as the export did."""
    model = Model.load(trained.output / "model")
    differing = 0
    for key, pixels in zip(trained.predicted.keys, trained.predicted.predicted, strict=True):
        data = (trained.files / key).read_bytes()
        instance = {"image": {"b64": base64.b64encode(data).decode()}}
        (row,) = model.rows.read(json.dumps({"instances": [instance]}).encode()).instances
        (answer,) = model.predict([model.rows.decoded(row)])
        served = masks.decode(base64.b64decode(answer["mask"]["b64"]), 3)
        with open(layout.mask(f"{trained.output}/", key), "rb") as file:
            offline = masks.decode(file.read(), 3)
        differing += not np.array_equal(served, offline)
        assert [*answer["shares"].values()] == pytest.approx(pixels / SIDE**2, abs=1e-6)
    assert (differing, len(trained.predicted)) == (0, trained.dataset.examples("test"))


def test_the_smoke_test_has_the_masks_and_shares_that_the_server_answers(compared, trained):
    document = json.loads((compared / "challenger.json").read_text())
    model = Model.load(trained.output / "model")
    examples = [one for one in document["examples"] if isinstance(one["instance"]["image"], dict)]
    body = json.dumps({"instances": [one["instance"] for one in examples]}).encode()
    rows = [model.rows.decoded(row) for row in model.rows.read(body).instances]
    for answer, example in zip(model.predict(rows), examples, strict=True):
        assert answer["mask"] == example["prediction"]["mask"]
        assert answer["shares"] == pytest.approx(example["prediction"]["shares"], abs=1e-6)
    assert examples


def test_the_report_shows_the_worst_the_middle_and_the_best_and_errors_by_size(compared):
    page = (compared / "report.html").read_text()
    for text in (
        "The worst images",
        "Images in the middle",
        "The best images",
        "By size of object",
    ):
        assert text in page
    assert page.count("data:image/jpeg;base64") == 12
    assert "objects/cell" in json.loads((compared / "figures.json").read_text())["figures"]


def test_the_served_model_is_scored_as_it_was(trained):
    again = scoring.score(str(trained.output / "model"), trained.address, trained.dataset)
    order = np.argsort(again.keys), np.argsort(trained.predicted.keys)
    for name in ("labels", "predicted", "both", "distances"):
        ours, theirs = getattr(again, name), getattr(trained.predicted, name)
        np.testing.assert_array_equal(ours[order[0]], theirs[order[1]])


@pytest.mark.slow
def test_an_interrupted_training_of_patches_ends_as_an_undisturbed_one(
    trained, tmp_path, monkeypatch
):
    """Patches, shifts and flips are those of its epoch and step; masks are of whole images."""
    flags = {"patch": 16, "flip": True, "augment": True, "loss": "cross_entropy+dice", "epochs": 6}
    undisturbed = train(trained.address, tmp_path / "undisturbed", **flags)
    assert undisturbed["history"][-1]["val_dice"] > 0.5
    masks_of = [*(tmp_path / "undisturbed/masks").iterdir()]
    assert {masks.decode(path.read_bytes(), 3).shape for path in masks_of} == {(SIDE, SIDE)}
    written, saves = checkpoints.save, []

    def save(*content):
        written(*content)
        saves.append(1)
        if len(saves) == 3:
            raise InterruptionError

    with monkeypatch.context() as patched:
        patched.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
        patched.setattr(checkpoints, "save", save)
        with pytest.raises(InterruptionError):
            train(trained.address, tmp_path / "interrupted", **flags)
    again = train(trained.address, tmp_path / "interrupted", **flags)
    assert without_seconds(again) == without_seconds(undisturbed)


class InterruptionError(Exception):
    """What a killed process is to its training."""


def of_file(trained, tmp_path, name):
    """metrics.json of a baseline."""
    output = tmp_path / name
    argv = arguments(trained.address, output=output, model=EXPERIMENTS / name, task="segmentation")
    settings = parse_flags(argv, "")
    assert estimator.train(settings, checked_dataset(settings)) == 0
    return json.loads(settings.places.metrics.read_text())


def test_nothing_but_background_finds_nothing(trained, tmp_path):
    test = of_file(trained, tmp_path, "background.py")["test"]
    assert test["dice"] == test["mask_recall"] == 0
    assert "mask_precision" not in test  # of no predicted pixel


def test_otsu_finds_what_is_bright_and_a_unet_more(tmp_path):
    """Two classes; dark cells on a bright ground are found as well."""
    images, true = cells(60)
    files = {"train": [20], "validation": [20], "test": [20]}
    of_two = {"files": files, "classes": CLASSES[:2]}
    found = [
        of_file(
            SimpleNamespace(address=write_dataset(tmp_path / name, pixels, true > 0, **of_two)),
            tmp_path / f"of {name}",
            "otsu.py",
        )["test"]
        for name, pixels in (("bright", images), ("dark", 255 - images))
    ]
    assert 0.5 < found[0]["dice"] < 0.9
    assert found[1]["dice"] == pytest.approx(found[0]["dice"], abs=0.02)


def test_otsu_refuses_three_classes(trained, tmp_path):
    with pytest.raises(TrainingError, match="parts two classes, and there are 3"):
        of_file(trained, tmp_path, "otsu.py")
