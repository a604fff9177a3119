"""Any number of classes of each row, from the Parquet files to the comparison."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier

from testbed.trainings import arguments
from tests.trainer.conftest import RunFolder
from tests.trainer.exporting.tables.helpers import feature, run, write_table
from trainer import compare, dataset_description, predictions
from trainer.comparison import scoring
from trainer.comparison.held_out_split import read_held_out_split
from trainer.estimators import run as training
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

TASK = "multilabel_classification"
CLASSES = ("anaemia", "diabetes", "gout")
ROWS = 1200
FEATURES = [feature(name) for name in "abc"]


def rows():
    """Columns of Parquet, features (n, 3), and which class each row has (n, 3)."""
    random = np.random.default_rng(1)
    x = random.normal(size=(ROWS, 3))
    has = x @ np.array([[2, 0, 1], [0, 2, -1], [0, 0, 1]]) + random.normal(size=x.shape) > (0, 1, 2)
    # Of a person's hand: spaces, any order, a name twice.
    labels = [
        " | ".join([*np.array(CLASSES)[row], *np.array(CLASSES)[row][:1]][::-1]) for row in has
    ]
    columns = {"key": [f"k{i}" for i in range(ROWS)], "label": labels}
    return columns | dict(zip("abc", x.T.tolist(), strict=True)), x, has


def train(address, output, **flags):
    """A training's settings, when it has ended."""
    flags = {"task": TASK, "metric": "auc", "model": "dense", "units": 16, "epochs": 12, **flags}
    flags |= {"learning_rate": 0.01, "output": output}
    settings = parse_flags(arguments(address, **flags), "")
    assert training.train(settings, checked_dataset(settings)) == 0
    return settings


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A training's folder, as `training/1` of a run, and what came of it."""
    folder = tmp_path_factory.mktemp("sets")
    columns, x, has = rows()
    source = write_table(folder / "dataset/source", columns, FEATURES, task=TASK)
    assert run(source, folder / "dataset") == 0
    address = str(folder / "dataset")
    settings = train(address, folder / "runs/r/training/1")
    return SimpleNamespace(
        address=address,
        dataset=dataset_description.load(address),
        run=folder / "runs/r",
        output=settings.places.model.parent,
        metrics=json.loads(settings.places.metrics.read_text()),
        x=x,
        has=has,
    )


def test_the_text_becomes_a_set_of_classes(trained):
    dataset = trained.dataset
    assert (dataset.task, dataset.classes) == (TASK, CLASSES)
    totals = {
        name: sum(counts.classes[name] for counts in dataset.counts.values()) for name in CLASSES
    }
    assert totals == dict(zip(CLASSES, trained.has.sum(axis=0).tolist(), strict=True))
    split = read_held_out_split(trained.address, dataset)
    for key, label in zip(split.keys, split.labels.tolist(), strict=True):
        assert label == sum(1 << i for i in np.flatnonzero(trained.has[int(key[1:])]))


def test_it_learns_as_much_as_a_logistic_regression_of_each_class(trained):
    test = [int(key[1:]) for key in read_held_out_split(trained.address, trained.dataset).keys]
    others = np.setdiff1d(np.arange(ROWS), test)
    linear = OneVsRestClassifier(LogisticRegression()).fit(trained.x[others], trained.has[others])
    known = roc_auc_score(trained.has[test], linear.predict_proba(trained.x[test]))
    assert trained.metrics["test"]["auc"] > known - 0.02


def test_a_class_that_counts_more_than_its_absence_is_found_more_often(trained, tmp_path):
    """What named weights are, is in training/test_class_weights.py."""
    weighted = train(trained.address, tmp_path / "out", class_weights="balanced")
    gout = CLASSES.index("gout")

    def found(model):
        told = predictions.read(model / "predictions.parquet")
        has = told.labels >> gout & 1 == 1
        return (told.probabilities[has, gout] > 0.5).mean()

    assert found(trained.output) < 0.7
    assert found(weighted.places.model.parent) > 0.75


def test_features_matter_and_the_report_names_errors_by_key(trained, tmp_path):
    plan = RunFolder(tmp_path, [0, 1], ["a", "b"])
    plan.path = trained.run
    dataset = {"uri": f"{trained.address}/", "fingerprint": trained.dataset.fingerprint}
    plan.plan({"configuration": {"task": TASK}, "dataset": dataset})
    assert compare.main(["--run", plan.uri, "--metric", "auc"]) == 0
    board = json.loads((trained.run / "leaderboard/leaderboard.json").read_text())
    importance = {one["feature"]: one["value"] for one in board["importance"]["features"]}
    assert min(importance["a"], importance["b"]) > importance["c"] > 0
    page = (trained.run / "leaderboard/report.html").read_text()
    errors = page.partition('<section id="mistakes">')[2].partition("</section>")[0]
    assert errors.count("<td><code>k") == 12


def test_a_served_model_is_scored_from_the_raw_rows(trained):
    again = scoring.score(str(trained.output / "model"), trained.address, trained.dataset)
    known = predictions.read(trained.output / "predictions.parquet")
    order = [again.keys.tolist().index(key) for key in known.keys]
    assert again.labels[order].tolist() == known.labels.tolist()
    np.testing.assert_allclose(again.probabilities[order], known.probabilities, atol=1e-4)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([None, "gout", "diabetes"], "the label (finding) is NULL: of a row without a class it is"),
        (["gout", "", "gout"], "has 1 classes, which are separated by '|'"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(tmp_path, capsys, labels, message):
    columns, *_ = rows()
    columns["label"] = [labels[i % 3] for i in range(ROWS)]
    source = write_table(
        tmp_path / "source", columns, FEATURES, task=TASK, label={"name": "finding"}
    )
    assert run(source, tmp_path / "dataset") == 1
    assert message in capsys.readouterr().err
