"""The mean of a run's trainings as one model: scored, compared, served and explained."""

import base64
import copy
import dataclasses
import functools
import json
import shutil

import cv2
import keras
import numpy as np
import pytest

from testbed.tables import mixed_rows
from testbed.trainings import arguments, write_dataset
from tests.trainer.comparison.plans import plan_of
from tests.trainer.raw_tables import write_with_source
from tests.trainer.serving.images import of_file
from trainer import compare, dataset_description, ensemble, models, predictions
from trainer.comparison import scoring
from trainer.estimators import run
from trainer.estimators.ensemble import EnsemblePredictor
from trainer.prediction_forms.regression import Values
from trainer.serving import integrated_gradients
from trainer.serving.model import Model
from trainer.serving.parameters import Explain
from trainer.training import saved_model
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts import layout
from trellis_contracts.hyperparameters import Hyperparameters

LINEAR = """
import pickle
import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

def fit(data, hyperparameters, report, run):
    learner = LogisticRegression(max_iter=1000) if data.classes else Ridge()
    return Linear(learner.fit(np.nan_to_num(data.train.numpy()), data.train.labels))

def load(folder):
    return Linear(pickle.loads((folder / "model.pickle").read_bytes()))

class Linear:
    def __init__(self, model):
        self.model = model

    def predict(self, batch):
        x = np.nan_to_num(batch.numpy())
        found = getattr(self.model, "predict_proba", self.model.predict)
        return found(x)

    def save(self, folder):
        (folder / "model.pickle").write_bytes(pickle.dumps(self.model))
"""


READ = ("size", "smoker", "site")
FILES = {"train": [120, 41], "validation": [37], "test": [44]}


class Trained:
    """A run's folder with trainings of one dataset of rows."""

    def __init__(self, folder, task):
        columns, labels = mixed_rows(242)
        columns = {name: columns[name] for name in READ}
        address = write_with_source(folder / "d", columns, labels, FILES, task=task)
        self.address, self.task, self.path = address, task, folder / "run"
        self.path.mkdir()
        (folder / "linear.py").write_text(LINEAR)
        self.linear = folder / "linear.py"
        plan = plan_of(f"{self.address}/")
        configuration = {"model": "dense", "train": {"epochs": 2, "ensemble": True}}
        plan = dataclasses.replace(plan, configuration=configuration)
        (self.path / "plan.json").write_text(plan.to_json("plan.json"))

    def copy(self, folder):
        """Copy the trainings to another folder, where their mean has not been made."""
        found = copy.copy(self)
        found.path = folder / "run"
        shutil.copytree(self.path, found.path, ignore=shutil.ignore_patterns(layout.ENSEMBLE))
        return found

    def train(self, name, **flags):
        """Train in the folder of a training's name."""
        metric = "rmse" if self.task == "regression" else "accuracy"
        output = {"output": self.path / name}
        flags = {"task": self.task, "metric": metric, "epochs": 1, **output, **flags}
        settings = parse_flags(arguments(self.address, **flags), "")
        assert run.train(settings, checked_dataset(settings)) == 0

    def predicted(self, name):
        return predictions.read(self.path / name / "predictions.parquet")

    @property
    def model(self):
        return self.path / layout.ENSEMBLE / "model"

    def metrics(self):
        return json.loads((self.path / layout.ENSEMBLE / "metrics.json").read_text())


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A function: task -> a network and another library's model, whose mean has been made."""

    @functools.cache
    def made(task):
        found = Trained(tmp_path_factory.mktemp(task), task)
        found.train("training/1", epochs=3)
        found.train("training/2", model=found.linear)
        assert ensemble.main(["--run", str(found.path)]) == 0
        return found

    return made


@pytest.fixture(params=["binary_classification", "regression"])
def trained(request, runs):
    """Train for a task."""
    return runs(request.param)


def answers(found):
    return found.values if isinstance(found, Values) else found.probabilities


def test_its_answers_are_the_mean_of_its_members(trained):
    first, second, mean = (
        trained.predicted(name) for name in ("training/1", "training/2", layout.ENSEMBLE)
    )
    assert list(first.keys) == list(second.keys) == list(mean.keys)
    expected = (answers(first).astype(np.float64) + answers(second)) / 2
    np.testing.assert_allclose(answers(mean), expected, rtol=1e-6)
    assert not np.allclose(answers(first), answers(second), atol=1e-3)


def test_its_figures_are_those_of_the_mean(trained):
    metrics, found = trained.metrics(), trained.predicted(layout.ENSEMBLE)
    if trained.task == "regression":
        errors = found.values - found.labels
        assert metrics["test"]["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-6)
    else:
        right = np.mean(found.probabilities.argmax(1) == found.labels)
        assert metrics["test"]["accuracy"] == pytest.approx(right)
    assert metrics["model"] == "ensemble"
    assert metrics["hyperparameters"] == {"members": "training/1, training/2"}
    assert {"loss", metrics["metric"]} <= metrics["validation"].keys()


def test_the_server_answers_raw_rows_as_it_was_scored(trained):
    dataset = dataset_description.load(trained.address)
    served = scoring.score(f"{trained.model}/", f"{trained.address}/", dataset)
    offline = trained.predicted(layout.ENSEMBLE)
    order = [list(served.keys).index(key) for key in offline.keys]
    np.testing.assert_allclose(answers(served)[order], answers(offline), rtol=1e-5, atol=1e-6)


def test_it_is_explained_as_one_model(trained):
    model = Model.load(trained.model)
    index = None if trained.task == "regression" else 1
    found = model.explainer.explain(model.example, index, Explain(paths=8))
    (answer,) = model.predict([model.example])
    score = answer["value"] if index is None else answer["probabilities"][model.classes[1]]
    assert found["score"] == pytest.approx(score, rel=1e-5)
    total = found["baseline_score"] + sum(found["attributions"].values())
    assert total == pytest.approx(found["score"], rel=1e-4, abs=1e-4)


@pytest.mark.usefixtures("undrawn", "few_resamples")
def test_it_is_on_the_leaderboard_and_selected_if_it_validates_best(trained):
    metric = trained.metrics()["metric"]
    assert compare.main(["--run", str(trained.path), "--metric", metric]) == 0
    board = json.loads((trained.path / "leaderboard/leaderboard.json").read_text())
    found = {contender["name"]: contender for contender in board["contenders"]}
    assert found.keys() == {"training/1", "training/2", layout.ENSEMBLE}
    sign = -1 if metric == "rmse" else 1

    def validated(name):
        text = (trained.path / name / "metrics.json").read_text()
        figures = json.loads(text)["validation"]
        return sign * figures[metric], -figures["loss"]

    (selected,) = [name for name, contender in found.items() if contender["selected"]]
    assert selected == max(found, key=validated)
    page = (trained.path / "leaderboard/report.html").read_text()
    assert layout.ENSEMBLE.replace("/", "/<wbr>") in page or layout.ENSEMBLE in page


def test_of_one_training_its_seeds_are_the_members(tmp_path):
    found = Trained(tmp_path, "binary_classification")
    found.train("training/1", model=found.linear)
    assert ensemble.main(["--run", str(found.path)]) == 0
    assert not (found.path / layout.ENSEMBLE).exists()
    found.train("training/1/seeds/1", model=found.linear, seed=1)
    assert ensemble.main(["--run", str(found.path)]) == 0
    assert found.metrics()["hyperparameters"] == {"members": "training/1, training/1/seeds/1"}
    assert Model.load(found.model).classes


@pytest.mark.usefixtures("undrawn", "few_resamples")
def test_one_that_was_not_made_has_failed(tmp_path):
    found = Trained(tmp_path, "binary_classification")
    found.train("training/1", model=found.linear)
    assert compare.main(["--run", str(found.path), "--metric", "accuracy"]) == 0
    board = json.loads((found.path / "leaderboard/leaderboard.json").read_text())
    (failed,) = [one for one in board["contenders"] if one["status"] == "failed"]
    assert failed["name"] == layout.ENSEMBLE
    assert "fewer than two trainings" in failed["reason"]


def test_it_has_a_threshold_and_a_share_to_hand_back_of_its_own(runs, tmp_path):
    found = runs("binary_classification").copy(tmp_path)
    asked = {"decide": '{"maximize": "f1"}', "abstain": 0.2}
    flags = [f"--{name}={value}" for name, value in asked.items()]
    assert ensemble.main(["--run", str(found.path), *flags]) == 0
    above = found.metrics()["threshold"]["above"]
    model = Model.load(found.model)
    assert model.threshold["above"] == pytest.approx(above)
    assert found.predicted(layout.ENSEMBLE).threshold.above == pytest.approx(above)
    (answer,) = model.predict([model.example])
    assert answer["abstained"] in (True, False)


def test_its_intervals_are_of_its_own_errors(runs, tmp_path):
    found = runs("regression").copy(tmp_path)
    assert ensemble.main(["--run", str(found.path), "--coverage=0.8"]) == 0
    model = Model.load(found.model)
    (answer,) = model.predict([model.example])
    margin = model.postprocessing.conformal.margin
    assert answer["interval"] == pytest.approx([answer["value"] - margin, answer["value"] + margin])


def test_a_training_of_another_dataset_is_no_member(runs, tmp_path):
    found = runs("binary_classification").copy(tmp_path)
    shutil.copytree(found.path / "training/1", found.path / "training/3")
    path = found.path / "training/2/metrics.json"
    other = json.loads(path.read_text())
    other["dataset"]["fingerprint"] = "other"
    path.write_text(json.dumps(other))
    assert ensemble.main(["--run", str(found.path)]) == 0
    assert found.metrics()["hyperparameters"] == {"members": "training/1, training/3"}


def test_a_folder_that_is_no_run_is_refused(tmp_path, capsys):
    assert ensemble.main(["--run", str(tmp_path)]) == 1
    assert "plan.json" in capsys.readouterr().err


def test_the_pixels_of_an_image_are_explained_by_the_mean_of_the_gradients(tmp_path):
    """The networks are as they begin, before they have learned."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (242, 8, 8, 1), np.uint8)
    address = write_dataset(tmp_path / "d", images, random.integers(0, 2, 242), files=FILES)
    dataset = dataset_description.load(address)
    keras.utils.set_random_seed(1)
    folders = {name: tmp_path / name for name in ("convolutional", "dense")}
    for name, folder in folders.items():
        network = models.build(name, dataset, Hyperparameters(blocks=1, filters=4))
        saved_model.export(network, dataset, folder)
    EnsemblePredictor(folders, dataset).save(tmp_path / "mean", None)
    whole = Model.load(tmp_path / "mean")
    members = [Model.load(folder) for folder in folders.values()]
    row = of_file(cv2.imencode(".png", images[0])[1].tobytes())
    # Each chooses its own places along the way, so the sums agree where these are many.
    asked = [model.explainer.explain(row, 1, Explain(steps=300)) for model in (whole, *members)]
    scores = [one["score"] for one in asked]
    assert scores[0] == pytest.approx((scores[1] + scores[2]) / 2, rel=1e-5)
    mean, first, second = (one["pixels"]["image"]["attributions"] for one in asked)
    pixels = [
        integrated_gradients.from_png(base64.b64decode(one["b64"]), one["scale"])
        for one in (mean, first, second)
    ]
    np.testing.assert_allclose(pixels[0], (pixels[1] + pixels[2]) / 2, atol=1e-3)
    assert np.abs(pixels[0]).max() > 1e-3
