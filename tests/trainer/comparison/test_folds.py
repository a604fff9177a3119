"""A cross-validation from frozen rows to its leaderboard: own programs, BigQuery ML's predictions.

Everything is made by the real programs, but for the services: trainings in this process.
"""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from testbed.trainings import arguments
from tests.trainer.exporting.tables.helpers import feature, run
from tests.trainer.exporting.tables.helpers import write_table as write_rows
from tests.trainer.table_run import TableRun
from tests.wording import says
from trainer import compare, folds
from trainer.comparison.fold_intervals import widening
from trainer.estimators import run as estimators
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts.dataset import SPLITS
from trellis_contracts.folds import EVERYTHING, FIRST, Folds, dataset, numbers

OWN = """
import pickle
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

INPUTS = ["table"]
HYPERPARAMETERS = {
    "strength": {"default": 1.0, "minimum": 0.01, "maximum": 100, "description": "inverse penalty"},
}

def fit(data, hyperparameters, report):
    model = LogisticRegression(C=hyperparameters.strength, max_iter=1000, tol=1e-8)
    return Fitted(make_pipeline(StandardScaler(), model).fit(data.train.numpy(), data.train.labels))

def load(folder):
    return Fitted(pickle.loads((folder / "model.pickle").read_bytes()))

class Fitted:
    def __init__(self, model):
        self.model = model
    def predict(self, batch):
        return self.model.predict_proba(batch.numpy())
    def save(self, folder):
        (folder / "model.pickle").write_bytes(pickle.dumps(self.model))
"""
pytestmark = pytest.mark.usefixtures("undrawn", "few_resamples")
MODEL = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, tol=1e-8))
COUNT, ROWS = 3, 240
NUMBERS, LABELS = (part[:ROWS] for part in load_breast_cancer(return_X_y=True))
NUMBERS = NUMBERS[:, :3].astype(np.float32)
KEYS = np.array([f"cell-{row:03d}" for row in range(ROWS)])
PATIENTS = np.array([f"p{row % 60}" for row in range(ROWS)])


def dealt(repeat, grouped):
    """Folds of the rows from 1: of groups, all rows of one alike."""
    units = np.unique(PATIENTS, return_inverse=True)[1] if grouped else np.arange(ROWS)
    order = np.random.default_rng(repeat).permutation(units.max() + 1)
    return order[units] % COUNT + 1


class Crossed(TableRun):
    """A run whose frozen rows have folds, exported for each."""

    def __init__(self, root, repeats, grouped=False, **configuration):
        self.folds = Folds(COUNT, repeats)
        self.of = {repeat: dealt(repeat, grouped) for repeat in range(1, repeats + 1)}
        self.dataset = root / "datasets/f00d"
        self.path = root / "runs/manual"
        splits = self.folds.splits(FIRST)
        names = ["radius", "texture", "perimeter"]
        columns = {
            "key": KEYS,
            "split": [SPLITS[splits[fold - 1]] for fold in self.of[1]],
            "label": np.array(["benign", "malignant"])[LABELS],
            "side": ["left", "right"] * (ROWS // 2),
            **({"split_by": PATIENTS} if grouped else {}),
            **{f"fold_{repeat}": fold for repeat, fold in self.of.items()},
            **dict(zip(names, NUMBERS.T.astype(float), strict=True)),
        }
        split = {"rule": self.folds.rule(FIRST), "folds": self.folds.to_document()}
        split |= {"by": "patient"} if grouped else {}
        source = self.dataset / "source/columns.json"
        write_rows(source.parent, columns, [feature(name) for name in names], split=split)
        assert run(source, self.dataset) == 0
        folds.make(f"{self.dataset}/", "f", 2)
        train = {"folds": COUNT, "repeats": repeats, "epochs": 1, "maximize": "auc", "top": 1}
        self.own = root / "mine.py"
        self.own.write_text(OWN)
        self.changed = {
            "configuration": {
                "model": "mine.py",
                "task": "binary_classification",
                "train": train,
                **configuration,
            },
            "baselines": [],
            "table": {"kept": [{"name": "side", "column": "side"}]},
        }
        self.write_plan()

    def write_plan(self, **changed):
        self.changed |= changed
        self.plan(self.changed)
        document = json.loads((self.path / "plan.json").read_text())
        del document["configuration"]["tune"]
        (self.path / "plan.json").write_text(json.dumps(document))

    def train(self, part, rank=1, **flags):
        """A full training of a part; EVERYTHING is the run's own."""
        folder = self.path if part == EVERYTHING else self.path / "folds" / part
        flags = {"model": self.own, "epochs": 1, "metric": "auc", **flags}
        argv = arguments(
            dataset(f"{self.dataset}/", part),
            output=folder / f"training/{rank}",
            task="binary_classification",
            **flags,
        )
        settings = parse_flags(argv, "")
        assert estimators.train(settings, checked_dataset(settings)) == 0

    def trained(self, **flags):
        for part in (EVERYTHING, *self.folds.parts):
            self.train(part, **flags)
        return self

    def bqml(self, part, probabilities):
        """The predictions of a baseline in a fold, as BigQuery exports them."""
        name = "logistic_reg"
        self.baseline(f"bqml-{name}")
        repeat, fold = numbers(part)
        tested = self.of[repeat] == fold
        rows = [
            [
                {"label": c, "prob": float(p)}
                for c, p in zip(("benign", "malignant"), row, strict=True)
            ]
            for row in np.column_stack([1 - probabilities, probabilities])[tested]
        ]
        folder = self.path / f"folds/{part}/baselines/bqml-{name}"
        folder.mkdir(parents=True)
        made = self.path / f"baselines/bqml-{name}/baseline.json"
        (folder / "baseline.json").write_text(made.read_text())
        (folder / "raw").mkdir()
        pq.write_table(
            pa.table({"key": KEYS[tested], "probabilities": rows}), folder / "raw/p.parquet"
        )

    def compared(self):
        compare.compare(self.uri, "auc")
        return json.loads((self.path / "leaderboard/leaderboard.json").read_text())


def cuts(of):
    """The folds as scikit-learn takes them: what trains, what is tested."""
    for fold in range(1, COUNT + 1):
        yield np.flatnonzero((of != fold) & (of != fold % COUNT + 1)), np.flatnonzero(of == fold)


@pytest.fixture(scope="module")
def once(tmp_path_factory, few_resamples_in_module):
    """A run of one repeat with a baseline, compared: its folder and leaderboard."""
    made = Crossed(tmp_path_factory.mktemp("once"), 1).trained()
    made.write_plan(baselines=["bqml-logistic_reg"])
    for part in made.folds.parts:
        made.bqml(part, np.full(ROWS, 0.4))
    return made, made.compared()


def scores(board, name="training/1"):
    (found,) = [c for c in board["contenders"] if c["name"] == name]
    return {metric: one["value"] for metric, one in found["metrics"].items()}


def test_the_scores_are_those_of_scikit_learns_cross_validation(once):
    made, board = once
    # Their folds partition, as cross_val_predict asks for.
    expected = cross_val_predict(
        clone(MODEL), NUMBERS, LABELS, cv=list(cuts(made.of[1])), method="predict_proba"
    )[:, 1]
    found = scores(board)
    assert found["auc"] == pytest.approx(roc_auc_score(LABELS, expected), abs=2e-6)
    assert found["accuracy"] == pytest.approx(accuracy_score(LABELS, expected > 0.5), abs=2e-6)
    assert found["log_loss"] == pytest.approx(log_loss(LABELS, expected), abs=2e-5)


def test_the_selected_training_has_the_score_of_the_procedure(once):
    made, board = once
    told = board["folds"]
    assert (told["count"], told["repeats"], told["rows"]) == (COUNT, 1, ROWS)
    assert told["deployed_examples"] == {"train": 160, "validation": 80, "test": 0}
    assert [one["part"] for one in told["choices"]] == list(made.folds.parts)
    spread = told["spread"]["training/1"]["auc"]
    for value, (_, tested) in zip(spread["values"], cuts(made.of[1]), strict=True):
        assert 0.5 < value <= 1
        assert len(tested) == 80
    assert spread["mean"] == pytest.approx(np.mean(spread["values"]), abs=1e-6)


def test_a_baseline_that_learned_in_the_same_folds_is_compared(once):
    _, board = once
    assert scores(board, "baselines/bqml-logistic_reg")["auc"] == 0.5
    assert [c["status"] for c in board["contenders"]] == ["ok", "ok"]


def test_intervals_are_wider_than_those_of_one_split(once, monkeypatch):
    made, board = once
    monkeypatch.setattr("trainer.comparison.fold_intervals.widening", lambda folds: 1.0)
    plain = made.compared()
    factor = widening(made.folds)
    assert board["folds"]["widening"] == pytest.approx(factor, abs=1e-6)
    for metric in ("log_loss", "brier"):
        wide, narrow = (
            next(c for c in one["contenders"] if c["name"] == "training/1")["metrics"][metric]
            for one in (board, plain)
        )
        value = narrow["value"]
        low, high = narrow["interval"]
        assert wide["interval"][1] - value == pytest.approx(factor * (high - value), abs=1e-5)
        assert value - wide["interval"][0] == pytest.approx(factor * (value - low), abs=1e-5)


def test_predictions_of_a_row_in_several_repeats_count_as_one(tmp_path):
    made = Crossed(tmp_path, 2).trained()
    board = made.compared()
    assert board["folds"]["rows"] == ROWS
    assert board["uncertainty"]["groups"] == ROWS
    assert any(f"few: each of the {ROWS} is" in note for note in board["notes"])
    each = [
        cross_val_predict(clone(MODEL), NUMBERS, LABELS, cv=list(cuts(of)), method="predict_proba")
        for of in made.of.values()
    ]
    expected = np.mean([log_loss(LABELS, one[:, 1]) for one in each])
    assert scores(board)["log_loss"] == pytest.approx(expected, abs=2e-5)


def test_rows_of_a_group_are_in_one_fold_and_intervals_count_groups(tmp_path):
    made = Crossed(tmp_path, 1, grouped=True, slices=["side"]).trained()
    board = made.compared()
    assert board["uncertainty"]["groups"] == 60
    assert any(says(note, "patient", "one fold", "60") for note in board["notes"])
    page = (made.path / "leaderboard/report.html").read_text()
    assert "on the same test split" not in page
    assert "trained in the same folds" in page
    sides = {one["name"]: one["examples"] for one in board["slices"]["slices"]}
    assert sides == {"side = left": 120, "side = right": 120}


def test_networks_learn_in_a_fold_and_are_calibrated_there(tmp_path):
    """A network of Keras learns by the same program as other files; `all` has no test split for
    its metrics.
    """
    made = Crossed(tmp_path, 1, model="dense")
    network = {"model": "dense", "epochs": 8, "learning_rate": 0.05}
    in_a_fold, *others = made.folds.parts
    for part in (EVERYTHING, *made.folds.parts):
        given = network if part == in_a_fold else {}
        made.train(part, **given, calibrate="temperature")
    board = made.compared()
    assert scores(board)["auc"] > 0.85
    choices = {one["part"]: one["model"] for one in board["folds"]["choices"]}
    assert choices == dict.fromkeys(others, made.own.name) | {in_a_fold: "dense"}
    for part in (EVERYTHING, in_a_fold):
        folder = made.path if part == EVERYTHING else made.path / "folds" / part
        metrics = json.loads((folder / "training/1/metrics.json").read_text())
        assert (metrics["test"] is None) == (part == EVERYTHING)
        done = json.loads((folder / "training/1/model/postprocessing.json").read_text())
        assert done["calibration"]["method"] == "temperature"


def test_without_a_training_in_each_fold_there_is_no_score(tmp_path):
    made = Crossed(tmp_path, 1)
    for part in (EVERYTHING, *made.folds.parts[:-1]):
        made.train(part)
    with pytest.raises(compare.ComparisonError, match="fold 1-3"):
        made.compared()
