"""A segmentation, from files and masks to the answers of a server."""

import base64
import json
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from testbed.manifests import export_flags
from testbed.trainings import arguments
from tests.trainer.conftest import RunFolder
from trainer import compare, dataset_description, export, masks, predictions
from trainer.comparison import scoring
from trainer.estimators import run as estimator
from trainer.serving.model import Model
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts import layout
from trellis_contracts.columns import MaskClass

KNOWN = (MaskClass("ground", 0), MaskClass("cell", 255))
COUNT, FILE, SIDE = 100, 40, 32
FLAGS = {
    "model": "unet",
    "task": "segmentation",
    "metric": "dice",
    "epochs": 8,
    "batch_size": 8,
    "learning_rate": 0.01,
    "filters": 4,
    "blocks": 1,
    "loss": "cross_entropy+dice",
}


def write(folder):
    """Pictures of FILE x FILE pixels with a bright ellipse, and their masks; a manifest."""
    random = np.random.default_rng(3)
    (folder / "images").mkdir(parents=True)
    (folder / "masks").mkdir()
    lines = []
    for number in range(COUNT):
        mask = np.zeros((FILE, FILE), np.uint8)
        centre, axes = random.integers(10, 30, 2).tolist(), random.integers(4, 10, 2).tolist()
        cv2.ellipse(mask, centre, axes, int(random.integers(180)), 0, 360, 255, -1)
        picture = 60 + 0.4 * mask + random.normal(0, 12, mask.shape)
        for name, pixels in (
            ("images", np.clip(picture, 0, 255).astype(np.uint8)),
            ("masks", mask),
        ):
            (folder / name / f"{number}.png").write_bytes(cv2.imencode(".png", pixels)[1].tobytes())
        lines.append(f"images/{number}.png,masks/{number}.png\n")
    (folder / "manifest.csv").write_text("".join(lines))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A training's folder, as `training/1` of a run, and what came of it."""
    folder = tmp_path_factory.mktemp("segmentation")
    write(folder / "files")
    form = {"image_size": (SIDE, SIDE), "channels": 1, "encoding": "png", "shards": 1}
    form |= {"masks": KNOWN, "task": "segmentation", "split_fractions": (60, 15, 25)}
    address = folder / "dataset"
    flags = export_flags(folder / "files/manifest.csv", address, "f1", **form)
    assert export.main(flags) == 0
    output = folder / "runs/r/training/1"
    settings = parse_flags(arguments(str(address), output=output, **FLAGS), "")
    assert estimator.train(settings, checked_dataset(settings)) == 0
    return SimpleNamespace(
        files=folder / "files",
        address=str(address),
        dataset=dataset_description.load(str(address)),
        run=folder / "runs/r",
        output=output,
        metrics=json.loads(settings.places.metrics.read_text()),
        predicted=predictions.read(output / "predictions.parquet"),
    )


def test_a_network_finds_the_cells(trained):
    assert trained.metrics["test"]["dice"] > 0.85
    assert {"iou", "pooled_dice", "mask_recall", "boundary_distance"} <= {*trained.metrics["test"]}


def test_the_server_answers_every_file_with_the_mask_that_was_scored(trained):
    """The files as clients send them, which the server resizes as the export did."""
    model = Model.load(trained.output / "model")
    differing = 0
    for key, pixels in zip(trained.predicted.keys, trained.predicted.predicted, strict=True):
        data = (trained.files / key).read_bytes()
        instance = {"image": {"b64": base64.b64encode(data).decode()}}
        (row,) = model.rows.read(json.dumps({"instances": [instance]}).encode()).instances
        (answer,) = model.predict([model.rows.decoded(row)])
        served = masks.decode(base64.b64decode(answer["mask"]["b64"]), 2)
        with open(layout.mask(f"{trained.output}/", key), "rb") as file:
            offline = masks.decode(file.read(), 2)
        differing += not np.array_equal(served, offline)
        assert [*answer["shares"].values()] == pytest.approx(pixels / SIDE**2, abs=1e-6)
    assert (differing, len(trained.predicted)) == (0, trained.dataset.examples("test"))


@pytest.fixture(scope="module")
def compared(trained, tmp_path_factory):
    """The folder of the run's comparison."""
    plan = RunFolder(tmp_path_factory.mktemp("other"), [0, 1], ["a", "b"])
    plan.path = trained.run
    gate = {"require": {"dice": 0.7}, "margin": 0.0, "beat": "baselines"}
    gate |= {"tolerance": None, "learned": True}
    deploy = {"gate": gate, "smoke": {"examples": 6, "latency": 1000}}
    configuration = {"task": "segmentation", "deploy": deploy}
    dataset = {"uri": f"{trained.address}/", "fingerprint": trained.dataset.fingerprint}
    plan.plan({"configuration": configuration, "dataset": dataset})
    assert compare.main(["--run", plan.uri, "--metric", "dice"]) == 0
    return trained.run / "leaderboard"


def test_the_leaderboard_has_intervals_and_the_gate_takes_them(compared):
    board = json.loads((compared / "leaderboard.json").read_text())
    (contender,) = board["contenders"]
    for name in board["metrics"]:
        low, high = contender["metrics"][name]["interval"]
        assert low <= contender["metrics"][name]["value"] <= high
    assert board["promotion"]["promoted"], board["promotion"]


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
    for name in ("labels", "predicted", "both"):
        one, other = (getattr(each, name) for each in (again, trained.predicted))
        np.testing.assert_array_equal(one[order[0]], other[order[1]])
