"""Whole runs of other libraries, as of the examples: tuned, trained in full beside a Keras network,
compared, deployed after a Keras network by a canary, rolled back to it and forward again,
explained, and predicted in bulk. XGBoost and PyTorch in the environments of their images.
"""

import shutil
import subprocess

import pytest

from tests.airflow_side import ROOT
from tests.trellis.workflow import platforms, succession
from tests.trellis.workflow.succession import read
from trellis.workflow.spec.prediction import ImagePredict
from trellis.workflow.validation.file import load, with_changes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROWS = """
    SELECT CONCAT('s', CAST(n AS STRING)) AS sample_id, LABEL,
      SIN(n) AS radius, COS(n * 3) AS texture
    FROM UNNEST(GENERATE_ARRAY(1, 400)) AS n
"""
SCORE = "0.4 * SIN(n) + ABS(COS(n * 3)) + 0.1 * SIN(n * 7.1)"
CLASSES = ROWS.replace("LABEL", f"IF({SCORE} > 0.64, 'yes', 'no') AS malignant")
VALUES = ROWS.replace("LABEL", f"{SCORE} AS progression")
WEAK = {"learning_rate": 1e-6}
TUNED = {("tune", "trials"): 2, ("tune", "parallel"): 1}

LIBRARIES = {
    "gradient-boosting": {
        ("source", "query"): CLASSES,
        ("predict",): {"query": CLASSES},
        ("train", "epochs"): 10,
        ("other_models",): {"dense": {"hyperparameters": WEAK}},
    },
    "boosted-trees": {
        ("source", "query"): VALUES,
        ("source", "key"): "sample_id",
        ("predict",): {"query": VALUES},
        ("train", "epochs"): 60,
        ("other_models",): {"dense": {"hyperparameters": WEAK}},
        ("baselines",): None,
    },
    "torch-digits": {
        ("source", "images"): "digits/manifest.csv",
        ("predict",): {"images": "digits/some"},
        ("tune", "epochs"): 1,
        ("train", "epochs"): 6,
        ("other_models",): {"convolutional": {"hyperparameters": {"filters": 4, **WEAK}}},
    },
}
NETWORKS = {
    "gradient-boosting": ("dense", {"units": 64, "learning_rate": 0.01}),
    "boosted-trees": ("dense", {"units": 64, "learning_rate": 0.01}),
    "torch-digits": ("convolutional", {"filters": 16, "learning_rate": 0.003}),
}


@pytest.fixture
def platform(google, group):
    return platforms.of_tests(group, bucket="library-runs", registry="example.com/made")


@pytest.fixture(params=LIBRARIES)
def library(request, google, upload_digits):
    """An example on few rows, under a name of its own."""
    shipped = load(ROOT / f"dags/experiments/{request.param}.yaml")
    bucket = google.buckets / "library-runs"
    if shipped.image is not None:
        make = ["make", "--silent", "image", f"NAME={shipped.image}"]
        subprocess.run(make, cwd=ROOT, check=True)
    if request.param == "torch-digits":
        shutil.rmtree(bucket, ignore_errors=True)
        folder = upload_digits("library-runs")
        (folder / "some").mkdir()
        for image in sorted((folder / "images").iterdir())[::90]:
            shutil.copy(image, folder / "some")
    else:
        bucket.mkdir(exist_ok=True)
    of_rows = {("source", "bigquery"): None, ("source", "partition"): None}
    changes = TUNED | LIBRARIES[request.param]
    # Which of the two is better is not the question here.
    gate = {"require": {"r2" if shipped.task == "regression" else shipped.tune.maximize: 0.5}}
    changes[("deploy",)] = {"gate": gate | {"tolerance": None}, "canary": [50, 100]}
    if "images" not in changes[("predict",)]:
        changes = of_rows | changes
    return with_changes(shipped, changes).model_copy(update={"name": f"a-{request.param}"})


def test_it_follows_a_network_is_rolled_back_to_it_and_forward_again(google, platform, library):
    model, hyperparameters = NETWORKS[library.name.removeprefix("a-")]
    best = {"minimize": "rmse"} if library.task == "regression" else {}
    changes = {
        ("model",): model,
        ("hyperparameters",): hyperparameters,
        ("image",): None,
        ("tune",): None,
        ("other_models",): None,
        ("train",): {"epochs": 30, **(best or {"maximize": library.tune.maximize})},
    }
    ours, theirs = succession.follow(google, platform, with_changes(library, changes), library)
    assert read(ours / "training/1/metrics.json")["model"] == model

    board = read(theirs / "leaderboard/leaderboard.json")
    scored = {c["name"]: c["status"] for c in board["contenders"]}
    # The second training is the network beside it.
    assert scored == {"training/1": "ok", "training/2": "ok", "served": "ok"}
    assert board["promotion"]["challenger"] == "training/1"
    metrics = read(theirs / "training/1/metrics.json")
    assert metrics["model"] == library.own_model.name
    (chosen,) = read(theirs / "trials.json")["chosen"]
    assert chosen["parameters"].keys() == library.tune.search.keys()
    workers = library.train.machines.workers
    assert metrics["strategy"] == ("multi_worker" if workers > 1 else "single")
    assert succession.shares(theirs) == [50, 100]

    example = succession.challenger_of(theirs).examples[0]
    answer = succession.explained(platform, library.name, example.instance)
    assert answer["explanation"]["attributions"].keys() == example.instance.keys()
    instances = 20 if isinstance(library.prediction, ImagePredict) else 400
    succession.in_bulk(google, platform, library, "champion", instances)
