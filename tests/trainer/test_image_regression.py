"""A number of each picture, from the manifest to the answers of a server."""

import base64
import csv
import io
import json
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from testbed.manifests import export_flags
from testbed.trainings import arguments
from tests.trainer import discs
from tests.trainer.conftest import RunFolder
from tests.trainer.serving.images import of_file, seen
from trainer import compare, dataset_description, export, predictions
from trainer.comparison import held_out_split, scoring
from trainer.estimators import run
from trainer.serving.model import Model
from trainer.serving.parameters import Explain
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

PICTURES = 400
TRAINING = {"task": "regression", "learning_rate": 0.01, "batch_size": 32}
FLAGS = TRAINING | {"model": "convolutional", "epochs": 5, "filters": 8, "batch_size": 16}


def train(dataset, output, **flags):
    """metrics.json of a training."""
    settings = parse_flags(arguments(dataset, output=output, **flags), "")
    assert run.train(settings, checked_dataset(settings)) == 0
    return json.loads(settings.places.metrics.read_text())


def exported(folder, **changed):
    """The address of the dataset of the manifest in a folder."""
    form = {"image_size": discs.SIDE, "channels": 1, "encoding": "png", "shards": 2}
    form |= {"task": "regression"} | changed
    source, output = folder / "manifest.csv", folder / "dataset"
    assert export.main(export_flags(source, output, "f00d", **form)) == 0
    return str(folder / "dataset")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A training's folder, as `training/1` of a run, and what came of it."""
    folder = tmp_path_factory.mktemp("discs")
    discs.write(folder, PICTURES)
    address = exported(folder)
    output = folder / "runs/r/training/1"
    metrics = train(address, output, **FLAGS)
    return SimpleNamespace(
        address=address,
        dataset=dataset_description.load(address),
        run=folder / "runs/r",
        output=output,
        metrics=metrics,
        predicted=predictions.read(output / "predictions.parquet"),
        numbers=numbers_of(folder),
    )


def numbers_of(folder):
    """The manifest's labels by key."""
    lines = csv.reader(io.StringIO((folder / "manifest.csv").read_text()))
    return {key: float(number) for key, number in lines}


def test_the_dataset_says_what_the_numbers_are(trained):
    dataset = trained.dataset
    assert (dataset.inputs, dataset.task, dataset.classes) == ({"image"}, "regression", ())
    assert sum(dataset.examples(split) for split in dataset.files) == PICTURES
    statistics = dataset.label.number_statistics
    assert statistics.count == dataset.examples("train")
    assert (statistics.min, statistics.max) == (1, discs.MOST)
    assert statistics.mean == pytest.approx(np.mean([*trained.numbers.values()]), abs=0.2)


def test_counting_beats_the_mean_clearly(trained):
    assert trained.metrics["test"]["loss"] < 0.3  # 1: predicting the train split's mean


def test_predictions_are_numbers_of_the_manifest_and_not_standardized(trained):
    predicted = trained.predicted
    assert predicted.labels.tolist() == [trained.numbers[key] for key in predicted.keys]
    assert trained.metrics["test"]["mae"] == pytest.approx(
        np.abs(predicted.values - predicted.labels).mean()
    )
    assert predicted.values.mean() == pytest.approx(predicted.labels.mean(), abs=0.7)


@pytest.fixture(scope="module")
def compared(trained, tmp_path_factory, few_resamples_in_module):
    """The run's folder after its comparison."""
    plan = RunFolder(tmp_path_factory.mktemp("other"), [0, 1], ["a", "b"])
    plan.path = trained.run
    gate = {
        "require": {"rmse": 1.2},
        "beat": "baselines",
        "margin": 0.0,
        "tolerance": None,
        "learned": True,
    }
    deploy = {"gate": gate, "smoke": {"examples": 8, "latency": 1000}}
    configuration = {"task": "regression", "deploy": deploy}
    dataset = {"uri": f"{trained.address}/", "fingerprint": "f00d"}
    plan.plan({"configuration": configuration, "dataset": dataset})
    assert compare.main(["--run", plan.uri, "--metric", "rmse"]) == 0
    return trained.run / "leaderboard"


def test_the_report_shows_the_pictures_that_were_told_worst(compared, trained):
    board = json.loads((compared / "leaderboard.json").read_text())
    assert board["promotion"]["promoted"], board["promotion"]
    page = (compared / "report.html").read_text()
    gallery = page.partition('<div class="gallery">')[2].partition("</section>")[0]
    worst = np.argsort(-np.abs(trained.predicted.values - trained.predicted.labels), kind="stable")
    shown = [gallery.find(key) for key in trained.predicted.keys[worst[:24]]]
    assert min(shown) > 0
    assert shown[0] == min(shown)
    assert gallery.count('<img class="pixels" src="data:image/png;base64,') == 24


def test_a_server_gives_the_predictions_that_the_comparison_scored(compared, trained):
    examples = json.loads((compared / "challenger.json").read_text())["examples"]
    assert len(examples) == 8
    model = Model.load(trained.output / "model")
    for example in examples:
        data = base64.b64decode(example["instance"]["image"]["b64"])
        (served,) = model.predict([seen(model, data)])
        assert served["value"] == pytest.approx(example["prediction"]["value"], abs=1e-4)


def test_a_served_model_is_scored_on_the_next_dataset(trained):
    again = scoring.score(str(trained.output / "model"), trained.address, trained.dataset)
    order = [again.keys.tolist().index(key) for key in trained.predicted.keys]
    assert again.labels[order].tolist() == trained.predicted.labels.tolist()
    np.testing.assert_allclose(again.values[order], trained.predicted.values, atol=1e-4)


def test_a_value_is_explained_by_its_pixels(trained):
    model = Model.load(trained.output / "model")
    pixels = discs.pictures(1)[0][0]
    data = cv2.imencode(".png", pixels)[1].tobytes()
    found = model.explainer.explain(of_file(data), None, Explain())
    (answer,) = model.predict([seen(model, data)])
    assert found["score"] == pytest.approx(answer["value"], abs=1e-4)
    assert found["approximation_error"] < 0.2 * abs(found["score"] - found["baseline_score"])


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """2,000 pictures: the dataset's address, and the error of ridge regression on its pixels."""
    folder = tmp_path_factory.mktemp("many")
    images, numbers = discs.write(folder, 2000)
    address = exported(folder, image_size=32)
    test = {
        record.key for record in held_out_split.records(address, dataset_description.load(address))
    }
    held_out = np.array([key in test for key in numbers_of(folder)])
    pixels = images.reshape(len(images), -1) / 255
    ridge = RidgeCV(np.logspace(-2, 4, 13)).fit(pixels[~held_out], numbers[~held_out])
    errors = ridge.predict(pixels[held_out]) - numbers[held_out]
    return address, np.sqrt((errors**2).mean()), numbers[held_out].std()


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        {"model": "convolutional", "filters": 8, "epochs": 15},
        {"model": "vision_transformer", "learning_rate": 0.002, "epochs": 25},
        {"model": "residual", "learning_rate": 0.002, "epochs": 25},
    ],
    ids=lambda flags: flags["model"],
)
def test_beside_ridge_regression_on_the_pixels(many, tmp_path, flags, capsys):
    address, ridge, spread = many
    rmse = train(address, tmp_path / "out", **TRAINING | flags)["test"]["rmse"]
    with capsys.disabled():
        name = flags["model"]
        print(f"\n{name}: RMSE {rmse:.3f}, ridge regression {ridge:.3f}, the mean {spread:.3f}")
    assert rmse < 0.8 * spread
