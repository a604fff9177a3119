"""Whole runs of masks: Otsu's threshold behind a gate, beaten by a U-Net on the same images, which
follows it by a canary, is rolled back to it and put forward again.
"""

import subprocess

import pytest

from tests.airflow_side import ROOT
from tests.trellis.workflow import platforms, succession
from tests.trellis.workflow.succession import read
from trellis.workflow.validation.file import load, with_changes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

BUCKET, IMAGES = "mask-runs", 160
OTSU = {("model",): "otsu.py", ("hyperparameters",): None}
UNET = {
    ("hyperparameters",): {
        "filters": 4,
        "blocks": 2,
        "batch_size": 8,
        "learning_rate": 0.01,
        "loss": "cross_entropy+dice",
    }
}


@pytest.fixture
def platform(google, group):
    """A platform with a bucket that has some of the example's pictures."""
    folder = google.buckets / BUCKET / "cells"
    (google.buckets / BUCKET).mkdir()
    program = [ROOT / ".venv/trainer/bin/python", "-m", "demo.cells_data", f"gs://{BUCKET}/cells/"]
    subprocess.run(program, cwd=ROOT, check=True, capture_output=True)
    lines = (folder / "manifest.csv").read_text().splitlines(keepends=True)
    (folder / "some.csv").write_text("".join(lines[:IMAGES]))
    return platforms.of_tests(group, bucket=BUCKET)


@pytest.fixture
def experiment():
    """A function: changes of the example, least Dice -> the experiment, without a search."""

    def made(changes, least):
        own = {
            ("source", "images"): "cells/some.csv",
            ("tune",): None,
            ("other_models",): None,
            ("train",): {"maximize": "dice", "epochs": 12},
            ("deploy",): {
                "gate": {"require": {"dice": least, "dice@cell": least}},
                "canary": [50, 100],
            },
            ("predict",): None,
        }
        shipped = load(ROOT / "dags/experiments/cells.yaml")
        return with_changes(shipped, own | changes).model_copy(update={"name": "some-cells"})

    return made


def test_a_unet_beats_otsus_threshold_follows_it_and_is_put_back(google, platform, experiment):
    otsu, unet = experiment(OTSU, 0.4), experiment(UNET, 0.8)
    ours, theirs = succession.follow(google, platform, otsu, unet)
    for folder, model, least in ((ours, "otsu.py", 0.4), (theirs, "unet", 0.8)):
        assert read(folder / "training/1/metrics.json")["model"] == model
        checks = read(folder / "leaderboard/leaderboard.json")["promotion"]["checks"]
        passed = {check["check"]: check["passed"] for check in checks}
        assert passed[f"Dice at least {least}"]
        assert passed[f"Dice of cell at least {least}"]
    # The threshold, which serves then, is scored again on the same test images.
    assert passed["Dice no worse than the served model's"]
    steps = read(theirs / "deployment.json")["steps"]
    assert [s["share"] for s in steps if s["step"].startswith("smoke")] == [50, 100]
