"""The served model as a contender: scored once, reused, and never at the cost of the comparison."""

import dataclasses
import json
import shutil

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.wording import says
from trainer import dataset_description, predictions
from trainer.comparison.held_out_split import read_held_out_split
from trainer.comparison.run_folder import Contender, RunError, Served, read_run
from trainer.comparison.served import with_served
from trainer.metrics.decision import Threshold
from trainer.prediction_forms.classification import Predictions
from trellis_contracts.baseline import Baseline

LABELS = np.arange(40) % 2
CLASSES = ["dark", "light"]
MODEL = "projects/p/locations/europe-west4/models/shades@3"
ENDPOINT = "projects/p/locations/europe-west4/endpoints/shades"


@pytest.fixture
def run(run_folder):
    """Dark and light images, two trainings of them, the served model of an earlier run."""
    images = [
        cv2.imencode(".png", np.full((8, 8, 1), 200 * label + 20, np.uint8))[1].tobytes()
        for label in LABELS
    ]
    run = run_folder(LABELS, CLASSES, images=images)
    for rank in (1, 2):
        run.contender(rank, np.eye(2)[LABELS])
    return serves(run)


def serves(run, model=MODEL, artifact_uri=None):
    """Write served.json. The model is another run's first training unless said otherwise."""
    document = {"schema": 1, "endpoint": ENDPOINT, "model": model, "traffic": 100}
    artifact_uri = artifact_uri or f"{run.path.parent}/earlier/training/1/model/"
    (run.path / "served.json").write_text(json.dumps(document | {"artifact_uri": artifact_uri}))
    return run


def looked(run):
    """The run with its served model, and that contender."""
    found = read_run(run.uri)
    found = with_served(found, read_held_out_split(found.dataset_uri, found.dataset))
    return found, next((c for c in found.contenders if c.kind == "served"), None)


def left(run, probabilities, model=MODEL, classes=CLASSES, keys=None, **changed):
    """Leave the predictions of an earlier comparison; changed: fields of their origin."""
    artifact_uri = json.loads((run.path / "served.json").read_text())["artifact_uri"]
    origin = {"model": model, "artifact_uri": artifact_uri, "dataset": "f00d"} | changed
    (run.path / "served").mkdir(exist_ok=True)
    path = run.path / "served" / "predictions.parquet"
    predicted = Predictions(keys or run.keys, LABELS, probabilities, classes)
    predictions.write(path, predicted, origin)
    return path


def test_a_run_that_did_not_look_has_no_served_contender(run):
    (run.path / "served.json").unlink()
    found, contender = looked(run)
    assert (found.served, contender) == (None, None)


def test_where_nothing_is_served_there_is_no_contender(run):
    document = {"schema": 1, "endpoint": None, "model": None, "artifact_uri": None, "traffic": 0}
    (run.path / "served.json").write_text(json.dumps(document))
    found, contender = looked(run)
    assert (found.served, contender) == (Served(None, None), None)


def test_a_served_json_of_another_kind_is_an_error(run):
    (run.path / "served.json").write_text('{"schema": 1, "model": "m@1", "endpoint": null}')
    with pytest.raises(RunError, match=r"served\.json .*\n.*the key 'artifact_uri' is missing"):
        looked(run)


def test_predictions_that_are_there_are_reused(run):
    left(run, np.tile([0.25, 0.75], (40, 1)))
    found, contender = looked(run)
    assert (contender.name, contender.reason, len(found.contenders)) == ("served", None, 3)
    assert contender.predictions.probabilities.tolist() == [[0.25, 0.75]] * 40
    assert contender.uri == f"{run.path}/served/"
    assert found.served == Served(MODEL, ENDPOINT, "served")


@pytest.mark.parametrize(
    ("origin", "spoil"),
    [
        ({"model": "m@2"}, None),
        ({"dataset": "beef"}, None),
        ({"artifact_uri": "gs://b/m/"}, None),
        # Without an origin, and half a file.
        ({}, lambda path: predictions.write(path, predictions.read(path))),
        ({}, lambda path: path.write_bytes(path.read_bytes()[:-50])),
    ],
)
def test_predictions_of_something_else_are_not_reused(run, origin, spoil):
    path = left(run, np.eye(2)[LABELS], **origin)
    if spoil:
        spoil(path)
    _, contender = looked(run)
    # It was to be scored, and is not there.
    assert contender.predictions is None
    assert "saved_model.pb" in contender.reason


def test_predictions_for_another_split_make_it_a_failed_contender(run):
    left(run, np.eye(2)[LABELS], keys=["other", *run.keys[1:]])
    assert "1 missing" in looked(run)[1].reason


def test_a_model_without_artifacts_is_a_failed_contender(run):
    document = json.loads((run.path / "served.json").read_text()) | {"artifact_uri": None}
    (run.path / "served.json").write_text(json.dumps(document))
    assert says(looked(run)[1].reason, MODEL, "no files")


def test_this_runs_own_model_stands_among_the_contenders_already(run, monkeypatch):
    monkeypatch.setenv("GCS_ROOT", str(run.path.parents[2]))
    # A path and a gs:// address of the same folder.
    serves(run, artifact_uri=f"gs://digits/runs/{run.path.name}/training/2/model")
    found, contender = looked(run)
    assert contender is None
    assert found.served == Served(MODEL, ENDPOINT, "training/2")


def earlier_training(run, **split):
    """The metrics.json of the served model's training, and its dataset with another split."""
    dataset = dataset_description.load(str(run.dataset))
    dataset = dataclasses.replace(dataset, split=dataclasses.replace(dataset.split, **split))
    folder = run.dataset.with_name("beef")
    folder.mkdir()
    (folder / "dataset.json").write_text(dataset.to_json())
    training = run.path.parent / "earlier/training/1"
    training.mkdir(parents=True)
    run.training(9, dataset={"uri": f"{folder}/", "fingerprint": "beef"})
    (run.path / "training/9/metrics.json").rename(training / "metrics.json")
    (run.path / "training/9").rmdir()
    left(run, np.eye(2)[LABELS])


def test_equal_shares_of_the_splits_need_no_remark(run):
    earlier_training(run)
    assert looked(run)[0].served.remark is None


def test_a_model_that_may_have_been_trained_on_test_examples_is_remarked(run):
    earlier_training(run, ranges={"train": (0, 90), "validation": (90, 95), "test": (95, 100)})
    assert says(looked(run)[0].served.remark, "test 95-100", "here", "test 90-100")


@pytest.fixture(scope="module")
def shades(tmp_path_factory):
    """A model that tells dark from light, as a training leaves it."""
    from tests.trainer.conftest import RunFolder
    from tests.trainer.serving.conftest import brightness_model
    from trainer.training import saved_model

    folder = tmp_path_factory.mktemp("shades")
    run = RunFolder(folder, LABELS, CLASSES)
    dataset = dataset_description.load(str(run.dataset))
    saved_model.export(brightness_model(dataset), dataset, folder / "model")
    return folder / "model"


def test_a_served_model_is_scored_once(run, shades, tmp_path):
    model = shutil.copytree(shades, tmp_path / "model")
    serves(run, artifact_uri=f"{model}/")
    _, scored = looked(run)
    assert scored.reason is None
    assert (scored.predictions.probabilities.argmax(axis=1) == scored.predictions.labels).all()
    shutil.rmtree(model)
    assert len(looked(run)[1].predictions) == 40
    serves(run, model=MODEL.replace("@3", "@4"), artifact_uri=f"{model}/")
    assert f"the model {model}/ has been deleted" in looked(run)[1].reason


def test_it_decides_by_its_own_threshold_whatever_the_order_of_the_classes(run_folder, tmp_path):
    """All is dark but the lightest, to a model whose classes are ordered the other way."""
    from tests.trainer.serving.conftest import brightness_model
    from tests.trainer.serving.images import seen
    from trainer.serving.model import Model
    from trainer.training import saved_model

    images = [cv2.imencode(".png", np.full((8, 8, 1), i * 6, np.uint8))[1] for i in range(40)]
    files = [image.tobytes() for image in images]
    run = run_folder(LABELS, ["light", "dark"], images=files)
    dataset = dataset_description.load(str(run.dataset))
    mirrored = dataclasses.replace(dataset, classes=("dark", "light"))
    threshold = Threshold(float(np.float32(0.75)))
    saved_model.export(brightness_model(mirrored), mirrored, tmp_path / "model", threshold)
    model = Model.load(tmp_path / "model")
    labels = [answer["label"] for answer in model.predict([seen(model, file) for file in files])]
    serves(run, artifact_uri=f"{tmp_path}/model/")
    for _ in ("scored", "reused"):
        found, scored = looked(run)
        split = read_held_out_split(found.dataset_uri, dataset)
        outcome = split.outcome(scored.predictions)
        decided = dict(zip(split.keys, outcome.predicted, strict=True))
        assert [dataset.classes[decided[key]] for key in run.keys] == labels
        assert scored.predictions.threshold.to_json(dataset.classes) == model.threshold
        shutil.rmtree(tmp_path / "model", ignore_errors=True)
    at_a_half = outcome.probabilities.argmax(axis=1)
    assert 0 < np.count_nonzero(outcome.predicted != at_a_half) < 20


def test_a_model_that_tells_other_classes_apart_is_a_failed_contender(run_folder, shades):
    run = serves(run_folder(LABELS, ["dark", "bright"]), artifact_uri=str(shades))
    assert says(looked(run)[1].reason, "2 classes", "2 classes")


def of_a_service(run, service="automl", **fields):
    """Write served.json of a service's model, which has no files."""
    document = {"schema": 1, "endpoint": ENDPOINT, "model": MODEL, "artifact_uri": None}
    document |= {"traffic": 100, "service": service, **fields}
    (run.path / "served.json").write_text(json.dumps(document))


def test_a_model_of_a_service_is_scored_by_what_the_service_has_predicted(run):
    of_a_service(run)
    raw = run.path / "served/raw"
    raw.mkdir(parents=True)
    shares = [[{"label": CLASSES[label], "prob": 1.0}] for label in LABELS]
    pq.write_table(pa.table({"key": run.keys, "probabilities": shares}), raw / "a.parquet")
    _, contender = looked(run)
    assert (contender.scorable.probabilities.argmax(axis=1) == LABELS).all()
    assert (run.path / "served/predictions.parquet").is_file()


def test_its_own_run_has_its_predictions_if_the_dataset_is_the_same(run):
    earlier = run.path.parent / "earlier"
    folder = earlier / "baselines/automl"
    folder.mkdir(parents=True)
    of_a_service(run, origin=f"{folder}/")
    predictions.write(
        folder / "predictions.parquet", Predictions(run.keys, LABELS, np.eye(2)[LABELS], CLASSES)
    )
    plan = json.loads((run.path / "plan.json").read_text())
    (earlier / "plan.json").write_text(json.dumps(plan))
    assert looked(run)[1].reason is None
    plan["dataset"]["fingerprint"] = "0" * 16
    (earlier / "plan.json").write_text(json.dumps(plan))
    reason = looked(run)[1].reason
    assert says(reason, [MODEL, "automl", "deploy.allow"])


def test_a_baseline_of_this_run_that_is_served_is_no_second_contender(run):
    folder = run.path / "baselines/bqml-logistic_reg"
    of_a_service(run, "bqml", origin=f"{folder}/")
    found = read_run(run.uri)
    baseline = Baseline("bqml-logistic_reg", "bqml", "succeeded")
    own = Contender("baselines/bqml-logistic_reg", "bqml", f"{folder}/", baseline=baseline)
    found = dataclasses.replace(found, contenders=[*found.contenders, own])
    found = with_served(found, read_held_out_split(found.dataset_uri, found.dataset))
    assert found.served.contender == "baselines/bqml-logistic_reg"
    assert [c.name for c in found.contenders if c.kind == "served"] == []
