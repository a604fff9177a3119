"""Loss of a model without the information of a feature."""

import dataclasses
import json
import shutil

import keras
import numpy as np
import pytest
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression

from testbed.predicting import predict
from testbed.tables import mixed_rows
from tests.trainer.raw_tables import write_with_source
from tests.wording import says
from trainer import compare, dataset_description, models
from trainer.comparison import importance
from trainer.comparison.held_out_split import read_held_out_split
from trainer.comparison.importance import ImportanceError, estimates
from trainer.comparison.run_folder import read_run
from trainer.comparison.scoreboard import metric_named
from trainer.metrics.groups import Groups
from trainer.metrics.outcome import Outcome
from trainer.metrics.regression import ValueOutcome
from trainer.training import saved_model
from trellis_contracts.hyperparameters import Hyperparameters
from trellis_contracts.tasks import REGRESSION

FILES = {"train": [120], "validation": [5], "test": [50, 30]}


def test_it_is_what_scikit_learn_has_with_an_interval_around_it():
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 3))
    y = x @ [2.0, 0.5, 0.0] + 0.3 * random.normal(size=400)
    model = LinearRegression().fit(x, y)
    model.coef_[2] = 0
    known = permutation_importance(
        model, x, y, scoring="neg_root_mean_squared_error", n_repeats=50, random_state=0
    ).importances_mean

    def outcome(columns):
        return ValueOutcome(y, model.predict(np.stack(list(columns.values()), axis=1)))

    columns = dict(zip("abc", x.T, strict=True))
    # Named in another order than they are important.
    inputs = {"unused": "c", "some": "b", "most": "a"}
    found = estimates(columns, inputs, outcome, metric_named("rmse", REGRESSION), 6)
    assert list(found) == ["most", "some", "unused"]
    for name, expected in zip(found, known, strict=True):
        assert found[name].value == pytest.approx(expected, rel=0.1)
        assert found[name].low <= found[name].value <= found[name].high
    assert found["some"].low > 0
    # The model does not look at it.
    assert (found["unused"].low, found["unused"].high) == (0, 0)


def test_intervals_count_groups_if_these_are_what_was_drawn():
    random = np.random.default_rng(1)
    of = np.repeat(np.arange(40), 8)
    x = random.normal(size=40)[of]
    labels = (x + random.normal(size=40)[of] > 0).astype(int)

    def width(groups):
        def outcome(columns):
            yes = 1 / (1 + np.exp(-columns["x"]))
            return Outcome(labels, np.stack([1 - yes, yes], 1), groups)

        found = estimates({"x": x}, {"x": "x"}, outcome, metric_named("auc"), 6)["x"]
        return found.high - found.low

    assert width(Groups.named(of)) > 1.7 * width(None)


def test_of_many_rows_and_features_some_are_asked():
    assert len(importance._rows_to_ask(50, 3)) == 50
    some = importance._rows_to_ask(10_000, 30)
    assert len(np.unique(some)) == 2000
    assert np.array_equal(some, importance._rows_to_ask(10_000, 30))
    assert len(importance._rows_to_ask(10_000, 100)) == 1000
    assert len(importance._rows_to_ask(10_000, 1000)) == 200
    of_pictures = [importance._rows_to_ask(10_000, 10, side * side) for side in (32, 128, 512)]
    assert [len(asked) for asked in of_pictures] == [2000, 655, 200]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Rows with every kind of feature and NULLs in each: 120 to train on, 80 to test."""
    columns, labels = mixed_rows(205, seed=1)
    folder = tmp_path_factory.mktemp("importance") / "rows"
    return write_with_source(folder, columns, labels, files=FILES)


@pytest.fixture(scope="module")
def model(tmp_path_factory, dataset):
    """The folder of an untrained model of them."""
    folder = tmp_path_factory.mktemp("importance") / "model"
    known = dataset_description.load(dataset)
    keras.utils.set_random_seed(1)
    built = models.build("dense", known, Hyperparameters(units=8))
    saved_model.export(built, known, folder)
    return folder


@pytest.fixture
def run(table_run, classifier, dataset, model):
    """A run whose training has left a model."""
    known = dataset_description.load(dataset)
    labels = np.array(mixed_rows(205, seed=1)[1][125:])
    keys = [str(row) for row in range(125, 205)]
    folder = table_run(labels, list(known.classes))
    folder.plan({"dataset": {"uri": f"{dataset}/", "previous": None}})
    folder.contender(
        1,
        classifier(labels, 2, skill=3, seed=1),
        keys=keys,
        dataset={"uri": f"{dataset}/", "fingerprint": known.fingerprint},
    )
    shutil.copytree(model, folder.path / "training/1/model")
    return folder


def test_rows_as_a_request_has_them_give_the_predictions_of_the_records(run, dataset):
    found = read_run(run.uri)
    split = read_held_out_split(dataset, found.dataset)
    rows = np.arange(len(split))[3::2]
    model = importance._load(f"{run.uri}/training/1/model")
    columns = importance._columns(model, found, split, rows)
    keys, _, known = predict(run.path / "training/1/model", dataset, found.dataset, "test")
    by_key = dict(zip(keys, known, strict=True))
    np.testing.assert_allclose(
        importance._answers(model, columns)["probabilities"],
        [by_key[key] for key in split.keys[rows]],
        atol=1e-6,
    )


def test_the_leaderboard_and_the_report_have_it_of_every_feature(run, dataset):
    compare.compare(run.uri, "auc")
    folder = run.path / "leaderboard"
    found = json.loads((folder / "leaderboard.json").read_text())["importance"]
    assert (found["of"], found["metric"], found["examples"]) == ("training/1", "auc", 80)
    assert {one["feature"] for one in found["features"]} == {
        feature.name for feature in dataset_description.load(dataset).features
    }
    values = [one["value"] for one in found["features"]]
    assert values == sorted(values, reverse=True)
    assert any(values)
    page = (folder / "report.html").read_text()
    assert says(page, "training/1", "AUC")


def test_without_its_model_or_the_raw_rows_there_is_none_and_the_comparison_goes_on(
    run, dataset, capsys, tmp_path
):
    found = read_run(run.uri)
    split = read_held_out_split(dataset, found.dataset)
    moved = dataclasses.replace(found.plan.dataset, uri=str(tmp_path))
    gone = dataclasses.replace(found, plan=dataclasses.replace(found.plan, dataset=moved))
    with pytest.raises(ImportanceError, match=r"there is no rows-\*\.parquet"):
        importance.measure(gone, found.contenders[0], split, metric_named("auc"))
    (run.path / "training/1/model/saved_model.pb").unlink()
    compare.compare(run.uri, "auc")
    assert says(capsys.readouterr().out, "importance", "training/1", "training/1/model/")
    board = json.loads((run.path / "leaderboard/leaderboard.json").read_text())
    assert "importance" not in board
