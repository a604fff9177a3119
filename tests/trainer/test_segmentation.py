"""Masks, from a dataset's records to the leaderboard."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from testbed.trainings import ROOT, arguments, without_seconds, write_dataset
from tests.trainer.conftest import RunFolder
from trainer import compare, dataset_description, masks, predictions
from trainer.comparison import scoring
from trainer.estimators import run as estimator
from trainer.families import FAMILIES
from trainer.training import TrainingError, checkpoints, loop
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts import layout
from trellis_contracts.tasks import SEGMENTATION

EXPERIMENTS = ROOT / "dags/experiments"

SIDE = 32
CLASSES = ("background", "cell", "nucleus")
FLAGS = {
    "model": "unet",
    "task": "segmentation",
    "blocks": 1,
    "filters": 8,
    "epochs": 8,
    "batch_size": 4,
    "learning_rate": 0.02,
}


def cells(count, seed=0):
    """Pictures (count, SIDE, SIDE, 1) of cells with nuclei in uneven light, and their masks."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    images, true = np.zeros((count, SIDE, SIDE)), np.zeros((count, SIDE, SIDE), np.uint8)
    for image, mask in zip(images, true, strict=True):
        for _ in range(random.integers(1, 4)):
            row, column, radius = random.uniform([4, 4, 4], [28, 28, 8])
            away = np.hypot(rows - row, columns - column)
            mask[away <= radius] = 1
            mask[away <= radius / 2] = 2
        image += np.array([60, 110, 170])[mask] + random.normal(0, 8, mask.shape)
        image *= np.linspace(0.7, 1.3, SIDE)[:, None]
    return images.clip(0, 255).astype(np.uint8)[..., None], true


def train(dataset, output, **flags):
    """metrics.json of a training."""
    settings = parse_flags(arguments(dataset, output=output, **FLAGS | flags), "")
    assert estimator.train(settings, checked_dataset(settings)) == 0
    return json.loads(settings.places.metrics.read_text())


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A training's folder, as `training/1` of a run, and what came of it."""
    folder = tmp_path_factory.mktemp("segmentation")
    files = {"train": [48, 48], "validation": [24], "test": [40]}
    images, true = cells(160)
    address = write_dataset(folder / "dataset", images, true, files=files, classes=CLASSES)
    output = folder / "runs/r/training/1"
    return SimpleNamespace(
        address=address,
        true={f"images/{n:05d}.png": mask for n, mask in enumerate(true)},
        dataset=dataset_description.load(address),
        run=folder / "runs/r",
        output=output,
        metrics=train(address, output),
        predicted=predictions.read(output / "predictions.parquet"),
    )


def test_a_unet_finds_the_cells(trained):
    test = trained.metrics["test"]
    assert test["dice"] > 0.85
    assert test["boundary_distance"] < 2
    assert trained.metrics["validation"]["dice"] == pytest.approx(test["dice"], abs=0.05)


def test_predictions_are_the_pixels_of_the_masks_beside_them(trained):
    found = trained.predicted
    assert len(found) == 40
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
def compared(trained, tmp_path_factory):
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
    return json.loads((trained.run / "leaderboard/leaderboard.json").read_text())


def test_the_leaderboard_has_an_interval_for_every_metric(compared):
    assert compared["task"] == "segmentation"
    (contender,) = compared["contenders"]
    for name in compared["metrics"]:
        low, high = contender["metrics"][name]["interval"]
        assert low <= contender["metrics"][name]["value"] <= high
    assert compared["metrics"]["dice"]["chance"] < contender["metrics"]["dice"]["interval"][0]


def test_the_gate_bounds_a_class_by_itself(compared):
    promotion = compared["promotion"]
    assert promotion["promoted"], promotion
    assert any("Dice of nucleus" in check["check"] for check in promotion["checks"])


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
