"""What a training chooses on the validation split: in its model, its metrics and what is served."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from testbed.tables import write_table
from testbed.trainings import arguments
from tests.trainer.training.imbalanced import SPARSE, imbalanced
from trainer import calibration, dataset_description, estimators, postprocessing, predictions
from trainer.metrics import classification, decision
from trainer.serving.model import Model
from trainer.stored import batches
from trainer.training import TrainingError, results
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags
from trellis_contracts.dataset_features import NUMERIC

FLAGS = {**SPARSE, "epochs": 4, "metric": "auc", "task": "binary_classification"}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """1,400 rows, of which 300 are rare."""
    files = {"train": [600], "validation": [400], "test": [400]}
    return imbalanced(tmp_path_factory.mktemp("d") / "d", 1400, 300, files)


@pytest.fixture(scope="module")
def ends(address, tmp_path_factory):
    """The end of a training on them, by class_weights."""
    found = {}
    for weights in ("none", "balanced"):
        flags = FLAGS | {"class_weights": weights, "output": tmp_path_factory.mktemp(weights)}
        settings = parse_flags(arguments(address, **flags), "")
        finish = functools.partial(found.__setitem__, weights)
        estimator, dataset = estimators.of(settings), checked_dataset(settings)
        assert estimator.fit(settings, dataset, finish, at_end=lambda: None) == 0
    return found


@pytest.fixture
def write(address, ends, tmp_path):
    """A function that writes what one of the trainings leaves: output folder, class_weights, flags
    of what is chosen -> metrics.json.
    """

    def write(output="out", class_weights="none", **flags):
        flags = {**FLAGS, **flags, "class_weights": class_weights, "output": tmp_path / output}
        settings = parse_flags(arguments(address, **flags), "")
        dataset, end = checked_dataset(settings), ends[class_weights]
        results.write(settings, dataset, estimators.of(settings), end)
        return json.loads(settings.places.metrics.read_text())

    return write


def test_a_threshold_chosen_on_validation_decides_for_all_that_follows(write, address, tmp_path):
    metrics = write(decide='{"maximize": "balanced_accuracy"}')
    stored = predictions.read(tmp_path / "out/predictions.parquet")
    labels, probabilities = stored.labels, stored.probabilities
    # The same training at a half: the probabilities are the same.
    at_a_half = classification.exact(labels, probabilities)
    assert metrics["test"]["balanced_accuracy"] > at_a_half["balanced_accuracy"] + 0.02
    assert metrics["test"]["auc"] == at_a_half["auc"]
    best = metrics["history"][metrics["best_epoch"] - 1]
    assert metrics["validation"]["balanced_accuracy"] > best["val_balanced_accuracy"]
    assert metrics["validation"]["loss"] == best["val_loss"]
    told = metrics["threshold"]
    assert told["class"] == "rare"
    assert 0 < told["above"] < 0.5
    assert stored.threshold.to_json(stored.classes) == told
    # The server's own reading of the model.
    assert Model.load(tmp_path / "out/model").threshold == told
    signatures = tf.saved_model.load(str(tmp_path / "out/model")).signatures
    (file,) = Path(address).glob("test-*")
    records = list(tf.data.TFRecordDataset(str(file)))
    served = signatures["stored"](examples=tf.stack(records))["label"].numpy()
    decided = decision.decide(probabilities, stored.threshold)
    assert [label.decode() for label in served] == [stored.classes[i] for i in decided]
    assert (decided != probabilities.argmax(axis=1)).any()


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_what_is_served_is_calibrated_and_its_predictions_are(write, address, tmp_path, method):
    # Weights of the rare class make the probabilities too high by far.
    metrics = write(class_weights="balanced", calibrate=method)
    after = predictions.read(tmp_path / "out/predictions.parquet")
    before = predictions.read(tmp_path / "out/uncalibrated.parquet")
    fitted = postprocessing.read(tmp_path / "out/model").calibration
    assert (fitted.method, fitted.examples) == (method, 400)
    assert fitted.temperature != 1
    assert list(after.keys) == list(before.keys)
    expected = calibration.apply(fitted, before.probabilities, before.classes, sets=False)
    np.testing.assert_allclose(after.probabilities, expected, atol=1e-6)
    assert np.abs(after.probabilities - before.probabilities).max() > 0.01
    of_test = classification.exact(after.labels, after.probabilities)
    assert metrics["test"]["brier"] == pytest.approx(of_test["brier"])
    # What selects trainings is not what was fitted on the same examples.
    best = metrics["history"][metrics["best_epoch"] - 1]
    assert metrics["validation"]["loss"] == best["val_loss"]
    # The SavedModel itself, of stored examples and of what a server gets.
    signatures = tf.saved_model.load(str(tmp_path / "out/model")).signatures
    (file,) = Path(address).glob("test-*")
    records = list(tf.data.TFRecordDataset(str(file)))
    answered = signatures["stored"](examples=tf.stack(records))["probabilities"].numpy()
    np.testing.assert_allclose(answered, after.probabilities, atol=1e-6)


def test_a_threshold_is_chosen_of_calibrated_probabilities(write, tmp_path):
    above, rule = {}, '{"maximize": "accuracy"}'
    for name, more in (("raw", {}), ("calibrated", {"calibrate": "temperature"})):
        told = write(name, class_weights="balanced", decide=rule, **more)
        above[name] = told["threshold"]["above"]
        stored = predictions.read(tmp_path / name / "predictions.parquet")
        decided = decision.decide(stored.probabilities, stored.threshold)
        assert told["test"]["accuracy"] == pytest.approx((decided == stored.labels).mean())
    temperature = postprocessing.read(tmp_path / "calibrated/model").calibration.temperature
    # The same decisions, by the threshold that calibration has moved.
    logit = np.log(above["raw"] / (1 - above["raw"])) / temperature
    assert above["calibrated"] == pytest.approx(1 / (1 + np.exp(-logit)), abs=0.02)


def test_what_is_handed_back_and_sets_are_served_as_they_are_compared(write, address, tmp_path):
    rule = '{"cost": {"missed": 3, "false_alarm": 1}}'
    metrics = write(calibrate="temperature", decide=rule, abstain=0.2, coverage=0.8)
    made = postprocessing.read(tmp_path / "out/model")
    # The sets are made of the half that the calibration has not seen.
    assert (made.calibration.examples, made.conformal.examples) == (200, 200)
    stored = predictions.read(tmp_path / "out/predictions.parquet")
    assert metrics["threshold"]["above"] == stored.threshold.above
    certainty = postprocessing.certainty(stored.probabilities, stored.threshold)
    assert (certainty < made.abstention.below).mean() == pytest.approx(0.2, abs=0.08)
    sets = postprocessing.members(made.conformal, stored.probabilities)
    assert sets[np.arange(400), stored.labels].mean() == pytest.approx(0.8, abs=0.09)

    model = Model.load(tmp_path / "out/model")
    records = dataset_description.load(address)
    (batch,) = batches(address, records, "test", 400)
    numbers = np.array([list(one["numeric"].float_list.value) for one in batch.features])
    rows = [{f"x{i}": value for i, value in enumerate(row)} for row in numbers[:200].tolist()]
    asked = model.rows.read(json.dumps({"instances": rows}).encode()).instances
    expected = postprocessing.of_probabilities(
        made, stored.probabilities, stored.classes, stored.threshold
    )
    near = np.abs(certainty - made.abstention.below) < 1e-5
    for answer, one, edge in zip(model.predict(asked), expected, near, strict=False):
        assert answer["set"] == one["set"]
        assert edge or answer["abstained"] == one["abstained"]


def test_a_number_is_served_with_its_interval(train, tmp_path):
    random = np.random.default_rng(0)
    x = random.normal(size=900)
    labels = 20 * x + random.normal(scale=4, size=900)
    columns = {"x": (NUMERIC, x.tolist())}
    files = {"train": [500], "validation": [200], "test": [200]}
    address = write_table(tmp_path / "d", columns, labels, task="regression", files=files)
    train(address, task="regression", metric="rmse", epochs=10, coverage=0.9, learning_rate=0.01)
    made = postprocessing.read(tmp_path / "out/model").conformal
    stored = predictions.read(tmp_path / "out/predictions.parquet")
    inside = np.abs(stored.labels - stored.values) <= made.margin
    assert inside.mean() == pytest.approx(0.9, abs=0.08)
    model = Model.load(tmp_path / "out/model")
    (answer,) = model.predict(model.rows.read(b'{"instances": [{"x": 0.5}]}').instances)
    value = answer["value"]
    assert answer["interval"] == pytest.approx([value - made.margin, value + made.margin])


def test_a_validation_split_that_is_too_small_is_refused(train, rare):
    with pytest.raises(TrainingError, match="isotonic needs 20 examples of the validation split"):
        train(rare, calibrate="isotonic", **SPARSE)
