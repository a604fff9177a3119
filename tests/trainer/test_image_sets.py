"""Any number of classes of each picture, from the manifest to the answers of a server."""

import base64
import json
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier

from demo import chest_xrays_data as xrays
from testbed.manifests import export_flags
from testbed.trainings import arguments
from tests.trainer.conftest import RunFolder
from tests.trainer.serving.images import of_file, seen
from trainer import compare, dataset_description, export, label_sets, predictions
from trainer.comparison import held_out_split, scoring
from trainer.estimators import run
from trainer.serving import explaining
from trainer.serving.model import Model
from trainer.serving.parameters import Explain
from trainer.training import TrainingError
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

SIDE = xrays.SIDE // 2
TASK = "multilabel_classification"
FLAGS = {"task": TASK, "metric": "auc", "model": "convolutional", "epochs": 8}
FLAGS |= {"learning_rate": 0.01, "filters": 8, "batch_size": 16}


def train(dataset, output, **flags):
    """metrics.json of a training."""
    settings = parse_flags(arguments(dataset, output=output, **flags), "")
    assert run.train(settings, checked_dataset(settings)) == 0
    return json.loads(settings.places.metrics.read_text())


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """The dataset's address, and by key the pixels and the findings."""
    folder = tmp_path_factory.mktemp("xrays")
    lines, found = [], {}
    for name, after, pixels in xrays.pictures_of_patients():
        cv2.imwrite(str(folder / f"{name}.png"), pixels)
        lines.append(f"{name}.png,{after}\n")
        *findings, _ = after.split(",")
        found[f"{name}.png"] = pixels, set(findings)
    (folder / "manifest.csv").write_text("".join(lines))
    flags = export_flags(
        folder / "manifest.csv",
        folder / "dataset",
        "f00d",
        image_size=SIDE,
        channels=1,
        encoding="png",
        shards=2,
        split_by="patient",
        task=TASK,
    )
    assert export.main(flags) == 0
    return str(folder / "dataset"), found


@pytest.fixture(scope="module")
def trained(pictures, tmp_path_factory):
    """A training's folder, as `training/1` of a run, and what came of it."""
    address, _ = pictures
    folder = tmp_path_factory.mktemp("runs") / "r"
    output = folder / "training/1"
    metrics = train(address, output, **FLAGS)
    return SimpleNamespace(
        address=address,
        dataset=dataset_description.load(address),
        run=folder,
        output=output,
        metrics=metrics,
        predicted=predictions.read(output / "predictions.parquet"),
    )


def test_the_dataset_counts_each_class(pictures, trained):
    _, found = pictures
    dataset = trained.dataset
    assert (dataset.task, dataset.classes) == (TASK, tuple(sorted(xrays.SHARES)))
    counted = dict.fromkeys(dataset.classes, 0)
    for counts in dataset.counts.values():
        for name, number in counts.classes.items():
            counted[name] += number
    findings = [name for _, names in found.values() for name in names]
    assert counted == {name: findings.count(name) for name in dataset.classes}
    assert sum(dataset.examples(split) for split in dataset.files) == len(found)


def test_predictions_have_the_manifests_labels(pictures, trained):
    _, found = pictures
    true = label_sets.members(trained.predicted.labels, len(trained.dataset.classes))
    for key, row in zip(trained.predicted.keys, true, strict=True):
        names = {name for name, one in zip(trained.dataset.classes, row, strict=True) if one}
        assert names == found[key][1]


def test_findings_are_told_better_than_by_a_linear_model_of_the_pixels(pictures, trained):
    address, found = pictures
    test = {record.key for record in held_out_split.records(address, trained.dataset)}
    classes = trained.dataset.classes
    held_out = np.array([key in test for key in found])
    smaller = [
        cv2.resize(image, (SIDE, SIDE), None, 0, 0, cv2.INTER_AREA) for image, _ in found.values()
    ]
    pixels = np.array([image.ravel() / 255 for image in smaller])
    true = np.array([[name in names for name in classes] for _, names in found.values()])
    linear = OneVsRestClassifier(LogisticRegression(C=0.01, max_iter=500))
    linear.fit(pixels[~held_out], true[~held_out])
    shares = linear.predict_proba(pixels[held_out])
    area = roc_auc_score(true[held_out], shares, average="macro")
    assert trained.metrics["test"]["auc"] > max(0.9, area)


@pytest.fixture(scope="module")
def compared(trained, tmp_path_factory, few_resamples_in_module):
    """The run's folder after its comparison."""
    plan = RunFolder(tmp_path_factory.mktemp("other"), [0, 1], ["a", "b"])
    plan.path = trained.run
    gate = {
        "require": {"auc": 0.8},
        "margin": 0.0,
        "tolerance": None,
        "recall": 0.0,
        "learned": True,
    }
    deploy = {"gate": gate, "smoke": {"examples": 8, "latency": 1000}}
    configuration = {"task": TASK, "deploy": deploy}
    dataset = {"uri": f"{trained.address}/", "fingerprint": "f00d"}
    plan.plan({"configuration": configuration, "dataset": dataset})
    assert compare.main(["--run", plan.uri, "--metric", "auc"]) == 0
    return trained.run / "leaderboard"


def test_the_leaderboard_counts_patients_and_the_report_shows_errors(compared, trained):
    board = json.loads((compared / "leaderboard.json").read_text())
    assert board["task"] == TASK
    assert board["promotion"]["promoted"], board["promotion"]
    assert board["uncertainty"]["groups"] < board["dataset"]["examples"]["test"] / 3
    scores = board["contenders"][0]["metrics"]
    low, high = scores["auc"]["interval"]
    assert low < scores["auc"]["value"] < high
    assert scores["auc"]["value"] == pytest.approx(trained.metrics["test"]["auc"], abs=1e-6)
    page = (compared / "report.html").read_text()
    errors = page.partition('<section id="mistakes">')[2].partition("</section>")[0]
    wrong = round((1 - scores["exact_match"]["value"]) * len(trained.predicted))
    assert f"rightly for {len(trained.predicted) - wrong} of {len(trained.predicted)}" in errors
    assert errors.count('src="data:image/png;base64,') == min(24, wrong)
    assert all(f'<th scope="row">{name}</th>' in errors for name in trained.dataset.classes)
    assert "Each class against its absence" in page


def test_a_server_gives_the_predictions_that_the_comparison_scored(compared, trained):
    examples = json.loads((compared / "challenger.json").read_text())["examples"]
    assert len(examples) == 8
    model = Model.load(trained.output / "model")
    for example in examples:
        data = base64.b64decode(example["instance"]["image"]["b64"])
        (served,) = model.predict([seen(model, data)])
        assert served["labels"] == example["prediction"]["labels"]
        expected = example["prediction"]["probabilities"]
        assert served["probabilities"] == pytest.approx(expected, abs=1e-4)


def test_a_served_model_is_scored_on_the_next_dataset(trained):
    again = scoring.score(str(trained.output / "model"), trained.address, trained.dataset)
    order = [again.keys.tolist().index(key) for key in trained.predicted.keys]
    assert again.labels[order].tolist() == trained.predicted.labels.tolist()
    np.testing.assert_allclose(
        again.probabilities[order], trained.predicted.probabilities, atol=1e-4
    )


def test_the_most_probable_class_is_explained_unless_another_is_asked_for(pictures, trained):
    _, found = pictures
    model = Model.load(trained.output / "model")
    image, _ = next(iter(found.values()))
    encoded = of_file(cv2.imencode(".png", image)[1].tobytes())
    (answer,) = model.predict([model.rows.decoded(encoded)])
    shares = answer["probabilities"]
    for how, name in ((Explain(), max(shares, key=shares.get)), (Explain(label="mass"), "mass")):
        (one,) = explaining.of(model, how, [encoded], [answer])
        told = one.explain()
        assert told["class"] == name
        assert told["score"] == pytest.approx(shares[name], abs=1e-4)


@pytest.mark.parametrize("task", ["multiclass_classification", "regression"])
def test_another_task_is_refused(trained, tmp_path, task):
    metric = "rmse" if task == "regression" else "accuracy"
    flags = FLAGS | {"task": task, "metric": metric}
    settings = parse_flags(arguments(trained.address, output=tmp_path / "out", **flags), "")
    with pytest.raises(TrainingError, match=r"has sets of classes as labels .*use --task mul"):
        checked_dataset(settings)
