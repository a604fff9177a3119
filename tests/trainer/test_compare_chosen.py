"""What trainings have chosen on the validation split, measured by the command on the test split."""

import json

import numpy as np
import pytest

from tests.trainer.test_compare import DEPLOY, board_of
from tests.wording import says
from trainer import calibration, compare, postprocessing, predictions
from trainer.metrics.decision import Threshold
from trainer.metrics.outcome import Outcome
from trainer.prediction_forms.classification import Predictions
from trellis_contracts.charts import DECISION_CURVE, TREAT_ALL
from trellis_contracts.postprocessing import (
    Abstention,
    Calibration,
    Conformal,
    Postprocessing,
)

pytestmark = pytest.mark.usefixtures("undrawn", "few_resamples")

LABELS = np.random.default_rng(0).integers(0, 10, 180)


@pytest.fixture
def run(run_folder, classifier):
    """Digits: two trainings."""
    folder = run_folder(LABELS, 10)
    folder.contender(1, classifier(LABELS, 10, skill=6, seed=1))
    folder.contender(2, classifier(LABELS, 10, skill=3, seed=2))
    return folder


def calibrated(run, rank, before, temperature):
    """Give a training a calibration: its probabilities before, and what makes those of after."""
    fitted = Calibration(method="temperature", examples=180, temperature=temperature)
    folder = run.path / "training" / str(rank)
    (folder / "model").mkdir()
    postprocessing.write(folder / "model", Postprocessing(calibration=fitted))
    classes = tuple(run.classes)
    predictions.write(
        folder / "uncalibrated.parquet",
        Predictions(run.keys, run.labels, before, classes),
    )
    return calibration.apply(fitted, before.astype(np.float32), classes, sets=False)


def test_what_calibration_changes_is_measured_on_the_test_split(run, classifier, capsys):
    before = classifier(LABELS, 10, skill=3, seed=2, confidence=12)
    run.contender(2, before)
    run.contender(2, calibrated(run, 2, before, temperature=4.0))
    compare.main(["--run", run.uri, "--metric", "accuracy"])
    found = {one["name"]: one for one in board_of(run)["contenders"]}
    assert "calibration" not in found["training/1"]["training"]
    told = found["training/2"]["training"]["calibration"]
    assert (told["method"], told["temperature"]) == ("temperature", 4.0)
    for name, of in (("brier", Outcome(LABELS, before).brier),):
        assert told["before"][name]["value"] == pytest.approx(of.mean(), abs=1e-6)
    after = found["training/2"]["metrics"]
    for name, change in told["change"].items():
        assert change["value"] == pytest.approx(
            after[name]["value"] - told["before"][name]["value"], abs=1e-9
        )
        assert change["value"] < 0
    assert after["ece"]["value"] < told["before"]["ece"]["value"]
    assert says(capsys.readouterr().out, "Calibrated: training/2", "temperature 4", "180")


@pytest.fixture
def ill(run_folder, classifier):
    """Two classes; one training with a threshold by costs, that hands back, and with sets."""
    labels = (np.arange(300) % 4 == 0).astype(int)
    folder = run_folder(labels, ["well", "ill"])
    cost = {"missed": 5.0, "false_alarm": 1.0}
    folder.plan({"configuration": {"decision": {"cost": cost}}})
    shares = classifier(labels, 2, skill=1, seed=1).astype(np.float32)
    folder.contender(1, shares, threshold=Threshold(0.25))
    done = Postprocessing(
        abstention=Abstention(0.1, 0.05),
        conformal=Conformal(coverage=0.9, examples=300, above=0.2),
    )
    (folder.path / "training/1/model").mkdir()
    postprocessing.write(folder.path / "training/1/model", done)
    return folder


def test_what_was_chosen_on_validation_is_measured_on_the_test_split(ill, capsys):
    assert compare.main(["--run", ill.uri, "--metric", "auc"]) == 0
    (contender,) = board_of(ill)["contenders"]
    training = contender["training"]
    assert training["decision"]["rule"] == {"cost": {"missed": 5.0, "false_alarm": 1.0}}
    assert training["decision"]["cost"]["none"] == pytest.approx(5 / 4)
    assert training["abstention"]["share"] == 0.1
    assert set(training["conformal"]["of_class"]) == {"well", "ill"}
    printed = capsys.readouterr().out
    for beginning in ("Cost: training/1", "Handed back: training/1", "Coverage: training/1"):
        assert beginning in printed
    figures = json.loads((ill.path / "leaderboard/figures.json").read_text())["figures"]
    assert {DECISION_CURVE, "risk"} < set(figures)
    (of_all,) = (one for one in figures[DECISION_CURVE]["layer"] if one.get("name") == TREAT_ALL)
    at = {round(row["x"], 2): row["y"] for row in of_all["data"]["values"]}
    # A quarter is ill: all are decided so at the price of 1 / 3 false alarm for each at 0.25.
    assert (at[0.25], at[0.5]) == pytest.approx((0.25 - 0.75 / 3, 0.25 - 0.75))


def test_a_challengers_answers_have_what_is_served(ill):
    ill.plan({"configuration": {"decision": {"maximize": "f1"}, "deploy": DEPLOY}})
    assert compare.main(["--run", ill.uri, "--metric", "auc"]) == 0
    found = json.loads((ill.path / "leaderboard/challenger.json").read_text())
    assert (found["abstain_below"], found["set_above"]) == (0.05, 0.2)
    for example in found["examples"]:
        answer = example["prediction"]
        assert set(answer) == {"label", "probabilities", "abstained", "set"}
        far = abs(answer["probabilities"]["ill"] - 0.25) >= 0.05
        assert answer["abstained"] != far
        assert answer["label"] in answer["probabilities"]


def test_a_sensitivity_that_the_test_split_does_not_reach_is_noted(ill):
    ill.plan({"configuration": {"decision": {"sensitivity": 0.999}}})
    compare.main(["--run", ill.uri, "--metric", "auc"])
    assert any("reaches a sensitivity of" in note for note in board_of(ill)["notes"])


def test_a_calibrated_training_without_its_predictions_before_is_an_error(run, classifier, capsys):
    before = classifier(LABELS, 10, skill=3, seed=2)
    calibrated(run, 2, before, temperature=2.0)
    (run.path / "training/2/uncalibrated.parquet").unlink()
    assert compare.main(["--run", run.uri, "--metric", "accuracy"]) == 1
    assert "training/2/uncalibrated.parquet" in capsys.readouterr().err
