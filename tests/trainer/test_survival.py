"""A time to an event, from BigQuery's files to the answers of a server."""

import base64
import json
from types import SimpleNamespace

import numpy as np
import pytest

from testbed.trainings import arguments
from tests.trainer.conftest import RunFolder
from tests.trainer.exporting.tables.helpers import feature, run, write_table
from tests.trainer.images.dicom import dicom
from tests.wording import says
from trainer import compare, dataset_description, predictions
from trainer.comparison import held_out_split, scoring
from trainer.estimators import run as estimator
from trainer.families import FAMILIES
from trainer.serving.model import Model
from trainer.serving.parameters import Explain
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts.dataset import SPLITS
from trellis_contracts.tasks import SURVIVAL

ROWS = 400
HORIZONS = (200.0, 600.0)
FEATURES = [feature("age"), feature("dose")]
TASK = {"task": "time_to_event", "event": {"name": "died", "horizons": [*HORIZONS]}}
FLAGS = {
    "model": "dense",
    "task": "time_to_event",
    "epochs": 12,
    "batch_size": 32,
    "learning_rate": 0.02,
    "units": 8,
}


def patients(rows=ROWS, seed=0):
    """Exponential times, whose rate rises with `age`; `dose` says nothing."""
    random = np.random.default_rng(seed)
    age, dose = random.normal(size=(2, rows))
    times = random.exponential(600 / np.exp(1.2 * age))
    left = random.exponential(1200, rows)
    return {
        "key": [f"patient {row}" for row in range(rows)],
        "label": np.ceil(np.minimum(times, left)),
        "label_event": (times <= left).astype(int),
        "age": age,
        "dose": dose,
    }


def train(dataset, output, **flags):
    """metrics.json of a training."""
    settings = parse_flags(arguments(dataset, output=output, **flags), "")
    assert estimator.train(settings, checked_dataset(settings)) == 0
    return json.loads(settings.places.metrics.read_text())


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A training's folder, as `training/1` of a run, and what came of it."""
    folder = tmp_path_factory.mktemp("survival")
    columns = patients()
    source = write_table(folder / "dataset/source", columns, FEATURES, **TASK)
    assert run(source, folder / "dataset", "--shards", "2") == 0
    address = str(folder / "dataset")
    output = folder / "runs/r/training/1"
    return SimpleNamespace(
        address=address,
        columns=columns,
        dataset=dataset_description.load(address),
        run=folder / "runs/r",
        output=output,
        metrics=train(address, output, **FLAGS),
        predicted=predictions.read(output / "predictions.parquet"),
    )


def test_the_dataset_tells_times_and_events(trained):
    dataset, event = trained.dataset, trained.dataset.label.of_event
    known = {
        key: (time, happened)
        for key, time, happened in zip(
            *(trained.columns[name] for name in ("key", "label", "label_event")), strict=True
        )
    }
    split = held_out_split.read_held_out_split(trained.address, dataset)
    assert [tuple(label) for label in split.labels] == [known[key] for key in split.keys]
    assert sum(map(event.count, SPLITS)) == trained.columns["label_event"].sum()
    assert event.horizons == HORIZONS
    assert {*HORIZONS} <= {*event.times}


def test_every_predictor_has_a_loss_by_which_equal_ones_are_chosen(trained):
    found = trained.predicted
    figures = FAMILIES[SURVIVAL].figures(
        trained.dataset, found.labels, FAMILIES[SURVIVAL].answers(found), None
    )
    assert figures["loss"] == figures["integrated_brier"]


def test_a_network_finds_who_dies_first(trained):
    test = trained.metrics["test"]
    assert test["concordance"] > 0.7
    assert test["integrated_brier"] < 0.2
    assert {"uno_concordance", "horizon_auc", "horizon_calibration"} <= test.keys()


@pytest.fixture(scope="module")
def compared(trained, tmp_path_factory, few_resamples_in_module):
    """The run's folder after its comparison."""
    plan = RunFolder(tmp_path_factory.mktemp("other"), [0, 1], ["a", "b"])
    plan.path = trained.run
    gate = {"require": {"concordance": 0.7, "horizon_calibration": 0.2}, "margin": 0.0}
    gate |= {"beat": "baselines", "tolerance": None, "learned": True}
    deploy = {"gate": gate, "smoke": {"examples": 8, "latency": 1000}}
    configuration = {"task": "time_to_event", "deploy": deploy}
    dataset = {"uri": f"{trained.address}/", "fingerprint": trained.dataset.fingerprint}
    plan.plan({"configuration": configuration, "dataset": dataset})
    assert compare.main(["--run", plan.uri, "--metric", "concordance"]) == 0
    return trained.run / "leaderboard"


def test_the_leaderboard_has_an_interval_for_every_metric_and_the_gate_takes_them(compared):
    board = json.loads((compared / "leaderboard.json").read_text())
    assert board["task"] == "time_to_event"
    (contender,) = board["contenders"]
    for name in board["metrics"]:
        low, high = contender["metrics"][name]["interval"]
        assert low <= contender["metrics"][name]["value"] <= high
    assert board["promotion"]["promoted"], board["promotion"]


def test_the_report_says_what_chance_is_of_a_time_to_an_event(compared):
    said = (compared / "report.html").read_text()
    assert says(said, "Chance: ", "random", "Kaplan and Meier")


def test_the_server_answers_what_was_scored(compared, trained):
    """Each example of challenger.json, through the server's reader."""
    document = json.loads((compared / "challenger.json").read_text())
    model = Model.load(trained.output / "model")
    body = json.dumps({"instances": [one["instance"] for one in document["examples"]]}).encode()
    answers = model.predict(model.rows.read(body).instances)
    for answer, example in zip(answers, document["examples"], strict=True):
        assert answer["survival"].keys() == {"200", "600"}
        assert answer["risk"] == pytest.approx(example["prediction"]["risk"], abs=1e-6)
        assert answer["survival"] == pytest.approx(example["prediction"]["survival"], abs=1e-6)


def test_the_served_model_is_scored_as_it_was(trained):
    again = scoring.score(str(trained.output / "model"), trained.address, trained.dataset)
    order = np.argsort(again.keys), np.argsort(trained.predicted.keys)
    pairs = zip((again, trained.predicted), order, strict=True)
    curves = [one.curves[place] for one, place in pairs]
    np.testing.assert_allclose(*curves, atol=1e-6)


def test_a_risk_is_explained_by_the_column_that_makes_it(trained):
    model = Model.load(trained.output / "model")
    body = json.dumps({"instances": [{"age": 2.0, "dose": 0.5}]}).encode()
    (row,) = model.rows.read(body).instances
    found = model.explainer.explain(row, None, Explain())
    assert found["attributions"]["age"] > 10 * abs(found["attributions"]["dose"])


SCAN = {"size": [8, 8], "channels": 1, "encoding": "png", "resize": "stretch"}
SCAN |= {"scale": "range:0,4095", "pages": "2"}
SCANS = 240


@pytest.fixture(scope="module")
def scanned(tmp_path_factory):
    """A training on DICOM files, the second of whose frames tells who dies first, and a column."""
    root = tmp_path_factory.mktemp("gcs")
    (root / "scans").mkdir()
    columns = patients(SCANS)
    random = np.random.default_rng(7)
    columns["scan"] = [f"gs://scans/{row}.dcm" for row in range(SCANS)]
    for row, age in enumerate(columns.pop("age")):
        bright = np.clip(2000 + 600 * age + random.normal(0, 100, (9, 11)), 0, 4095)
        frames = np.stack([random.integers(0, 4096, (9, 11)), bright]).astype(np.uint16)
        (root / f"scans/{row}.dcm").write_bytes(dicom(frames, bits=12, frames=2))
    features = [feature("dose"), feature("scan", "image", "STRING") | {"image": SCAN}]
    with pytest.MonkeyPatch.context() as patch:
        objects = "trainer.exporting.objects.Objects"
        patch.setattr(
            f"{objects}.read", lambda _, uri: (root / uri.removeprefix("gs://")).read_bytes()
        )
        patch.setattr(f"{objects}.require_bucket", lambda _, uri: None)
        source = write_table(root / "dataset/source", columns, features, **TASK)
        assert run(source, root / "dataset", "--shards", "2") == 0
    output = root / "training"
    flags = {name: value for name, value in FLAGS.items() if name != "units"}
    flags |= {"model": "convolutional", "blocks": 1, "filters": 4, "epochs": 8}
    metrics = train(str(root / "dataset"), output, **flags)
    return SimpleNamespace(root=root, output=output, metrics=metrics)


@pytest.mark.slow
def test_an_image_beside_a_column_tells_who_dies_first(scanned):
    assert scanned.metrics["test"]["concordance"] > 0.65


@pytest.mark.slow
def test_a_file_is_answered_with_the_curve_that_was_scored(scanned):
    offline = predictions.read(scanned.output / "predictions.parquet")
    dose = dict(zip(*(patients(SCANS)[name] for name in ("key", "dose")), strict=True))
    model = Model.load(scanned.output / "model")
    for key, curve in zip(offline.keys[:10], offline.curves, strict=False):
        data = (scanned.root / f"scans/{key.split()[1]}.dcm").read_bytes()
        instance = {"dose": dose[key], "scan": {"b64": base64.b64encode(data).decode()}}
        (row,) = model.rows.read(json.dumps({"instances": [instance]}).encode()).instances
        (answer,) = model.predict([model.rows.decoded(row)])
        places = [offline.times.index(horizon) for horizon in HORIZONS]
        assert [*answer["survival"].values()] == pytest.approx(curve[places].tolist(), abs=1e-5)
