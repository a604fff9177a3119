"""Serving that normalises in another way than training did is caught at the first share."""

import json

import pytest

from testbed.local_run import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

BETTER = {"trials": 2, "parallel": 2, "top": 1, "tune_epochs": 1, "train_epochs": 20}


@pytest.fixture
def skewed_serving(demo, served_run):
    """Whatever is deployed from now on normalises pixels in a way of its own."""
    bin_folder = str(ROOT / "tests" / "end_to_end" / "skewed_image")
    demo.replace_images(
        [
            {
                "image": "*/trellis/serve:*",
                "bin": bin_folder,
                "workdir": str(ROOT),
                "env": {"PYTHONPATH": str(ROOT)},
            }
        ]
    )
    yield
    demo.replace_images([])


def test_a_skewed_challenger_is_taken_back(demo, skewed_serving):
    before = demo.serving()
    with demo.watched() as watch:
        done = demo.run(BETTER)
    print(done.stdout)
    assert done.returncode == 1
    assert "Train/serve skew" in done.stdout
    # It got its first share, no more, and everything is as it was.
    challengers = set().union(*(change["deployed"] for change in watch.changes)) - {
        model["version"] for model in before["models"]
    }
    (challenger,) = challengers
    assert watch.shares(challenger) == [0, 10, 0]
    assert watch.wrong == []
    assert demo.serving() == before
    record = json.loads((demo.runs()[-1] / "deployment.json").read_text())
    assert record["state"] == "retreated"
    assert "skew" in record["reason"]
