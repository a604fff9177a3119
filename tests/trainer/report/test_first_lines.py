"""First lines of the report: whose score it is, what it is of, and whether anything was learned."""

import json

import numpy as np

from tests.trainer.report.test_page import Page
from tests.wording import says
from trainer import compare

DEPLOY = {
    "gate": {
        "require": {"auc": 0.5},
        "beat": "nothing",
        "margin": 0.0,
        "tolerance": None,
        "learned": True,
    },
    "smoke": {"examples": 3, "latency": 1000},
}
LABELS = np.repeat([0, 1], [140, 20])


def made(run, metric):
    compare.compare(run.uri, metric)
    folder = run.path / "leaderboard"
    return json.loads((folder / "leaderboard.json").read_text()), (folder / "report.html")


def test_a_baseline_wins_and_the_selected_training_has_its_own_score_and_command(
    table_run, classifier
):
    run = table_run(LABELS, ["no", "yes"])
    run.plan({"baselines": ["bqml-logistic_reg"], "configuration": {"deploy": DEPLOY}})
    run.contender(1, classifier(LABELS, 2, skill=1, seed=1), model="dense")
    run.baseline("bqml-logistic_reg", run.exported(classifier(LABELS, 2, skill=4, seed=2)))
    board, page = made(run, "average_precision")
    assert board["winner"] == "baselines/bqml-logistic_reg"
    assert board["positive"] == "yes"
    about = board["metrics"]["average_precision"]
    assert (about["average"], about["chance"]) == ("positive class", 0.125)
    text = Page(page.read_text(encoding="utf-8")).text
    training = next(c for c in board["contenders"] if c["selected"])
    value = training["metrics"]["average_precision"]["value"]
    assert says(text, "of yes of", board["winner"], "the winner", "training/1", f" {value:.4f}")
    assert "chance 0.1250" in text
    # The promise of a command is kept.
    assert "the command of training/1 has the others" in text or "Only searched" not in text
    assert "Train training/1 again" in text
    assert "--output training/1/" in text


def test_an_auc_near_1_of_a_constant_model_is_alarmed_of_and_not_promoted(table_run):
    """All probabilities are within half a thousandth, as of images that lost their lower bits."""
    near = 0.32745 + 0.0002 * (LABELS - 0.5)
    near += np.random.default_rng(1).uniform(-0.0001, 0.0001, len(LABELS))
    run = table_run(LABELS, ["no", "yes"])
    run.plan({"configuration": {"deploy": DEPLOY}})
    run.contender(1, np.stack([1 - near, near], axis=1).astype(np.float32), model="dense")
    board, page = made(run, "auc")
    (contender,) = board["contenders"]
    assert contender["metrics"]["auc"]["value"] > 0.9
    assert "nearly constant" in contender["learned_nothing"]
    assert not board["promotion"]["promoted"]
    assert "has learned something" in board["promotion"]["reason"]
    assert board["notes"][0].startswith("training/1 has learned nothing")
    text = Page(page.read_text(encoding="utf-8")).text
    assert text.index("has learned nothing") < text.index("AUC of training/1")


def test_the_gate_can_say_otherwise(table_run):
    constant = np.tile(np.float32([0.875, 0.125]), (len(LABELS), 1))
    run = table_run(LABELS, ["no", "yes"])
    allowed = {**DEPLOY, "gate": {**DEPLOY["gate"], "learned": False}}
    run.plan({"configuration": {"deploy": allowed}})
    run.contender(1, constant, model="dense")
    board, _ = made(run, "auc")
    assert "learned_nothing" in board["contenders"][0]
    assert all("learned" not in check["check"] for check in board["promotion"]["checks"])
