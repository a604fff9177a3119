"""leaderboard.json keeps its published schema; the terminal's table says the same in plain text."""

import json

import numpy as np
import pytest

from tests.trainer.conftest import RunFolder
from tests.wording import says
from trainer import compare
from trainer.comparison import leaderboard
from trainer.metrics.decision import Threshold
from trellis_contracts import documents
from trellis_contracts.leaderboard import Leaderboard

pytestmark = pytest.mark.usefixtures("undrawn", "few_resamples")

LABELS = np.arange(120) % 3


@pytest.fixture(scope="module")
def board(tmp_path_factory, classifier):
    """Two scored contenders, a failed one, and their leaderboard.json."""
    run = RunFolder(tmp_path_factory.mktemp("board"), LABELS, ["a", "b", "c"])
    run.trial(1, 0.8, rank=2, layers=1.0).trial(2, 0.9, rank=1, layers=2.0)
    run.contender(1, classifier(LABELS, 3, skill=3, seed=1))
    run.contender(2, classifier(LABELS, 3, skill=1, seed=2))
    run.training(3)
    compare.compare(run.uri, "accuracy")
    return json.loads((run.path / "leaderboard" / "leaderboard.json").read_text())


def test_the_file_keeps_the_schema(board):
    documents.check("leaderboard", board, "leaderboard.json")


def test_a_run_without_interval_and_tuning_keeps_the_schema(run_folder, classifier):
    run = run_folder(LABELS, 3)
    run.plan({"data_interval": {"start": None, "end": None}})
    run.contender(1, classifier(LABELS, 3, skill=4, seed=1))
    (run.path / "training/2/checkpoints").mkdir(parents=True)
    compare.compare(run.uri, "log_loss")
    board = json.loads((run.path / "leaderboard" / "leaderboard.json").read_text())
    documents.check("leaderboard", board, "leaderboard.json")
    assert board["contenders"][1]["training"] is None


def test_contenders_stand_by_rank_and_the_failed_at_the_end(board):
    assert [(c["name"], c["rank"], c["status"]) for c in board["contenders"]] == [
        ("training/1", 1, "ok"),
        ("training/2", 2, "ok"),
        ("training/3", None, "failed"),
    ]
    assert board["winner"] == "training/1"
    assert board["contenders"][2]["reason"].startswith("no predictions.parquet")


def test_a_contender_is_described(board):
    winner = board["contenders"][0]
    assert winner["trial"] == "2"
    assert winner["hyperparameters"] == {
        "learning_rate": 0.003,
        "layers": 2.0,
        "optimizer": "adam",
    }
    assert winner["training"] == {
        "model": "convolutional",
        "parameters": 34826,
        "seed": 7,
        "strategy": "multi_worker",
        "epochs_run": 6,
        "best_epoch": 5,
        "validation": {"accuracy": 0.97},
        "replicas": 2,
        "weights_sha256": "ab" * 32,
    }


def test_the_threshold_by_which_a_training_decides_is_reported(run_folder, classifier):
    told = {"class": "b", "above": 0.125}
    run = run_folder(LABELS % 2, ["a", "b"])
    shares = classifier(LABELS % 2, 2, skill=2, seed=1)
    run.contender(1, shares, threshold=Threshold(0.125))
    run.training(1, threshold=told).contender(2, shares)
    compare.compare(run.uri, "accuracy")
    board = json.loads((run.path / "leaderboard" / "leaderboard.json").read_text())
    documents.check("leaderboard", board, "leaderboard.json")
    trainings = {c["name"]: c["training"] for c in board["contenders"]}
    assert trainings["training/1"]["threshold"] == told
    assert "threshold" not in trainings["training/2"]


def test_every_value_lies_in_its_interval(board):
    for contender in board["contenders"]:
        for estimate in contender["metrics"].values():
            low, high = estimate["interval"]
            assert low <= estimate["value"] <= high


def test_every_difference_lies_in_its_interval(board):
    for difference in board["contenders"][1]["difference"]["metrics"].values():
        low, high = difference["interval"]
        assert low <= difference["value"] <= high


def test_differences_add_up(board):
    winner, second = board["contenders"][:2]
    for name, difference in second["difference"]["metrics"].items():
        assert difference["value"] == pytest.approx(
            second["metrics"][name]["value"] - winner["metrics"][name]["value"], abs=2e-6
        )


def test_the_table_is_plain_and_complete(board):
    text = leaderboard.table(Leaderboard.from_document(board))
    assert text.isascii()
    lines = text.splitlines()
    assert lines[0] == (
        "digits, manual__2026-01-01: 120 test examples, 3 classes, "
        "ranked by accuracy (larger is better)"
    )
    assert " ".join(lines[2].split()) == "contender accuracy [95% interval]"
    assert lines[3].startswith("1  *  training/1  0.")
    assert lines[4].startswith("2  -  training/2  0.")
    assert lines[5].startswith("-  training/3  failed: no predictions.parquet")
    metrics = lines[lines.index("", 2) + 1 :][: len(board["metrics"]) + 1]
    assert metrics[0].split() == ["metric", "better", "#1", "#2", "chance"]
    for line, about in zip(metrics[1:], board["metrics"].values(), strict=True):
        assert line.startswith(about["title"])
        assert len(line.removeprefix(about["title"]).split()) == 4
    assert any(line.startswith("Note: The test split is small") for line in lines)


def board_of(run, metric):
    compare.compare(run.uri, metric)
    return json.loads((run.path / "leaderboard" / "leaderboard.json").read_text())


def test_baselines_stand_among_the_trainings_with_time_and_cost(table_run, classifier):
    labels = np.arange(80) % 2
    run = table_run(labels, ["false", "true"])
    run.plan({"rates": {"training": 400.0}, "baselines": ["bqml-logistic_reg", "automl"]})
    run.contender(1, classifier(labels, 2, skill=1, seed=1))
    run.baseline(
        "bqml-logistic_reg",
        run.exported(classifier(labels, 2, skill=4, seed=2)),
        evaluation={"roc_auc": 0.99, "log_loss": float("nan"), "confusionMatrix": {"rows": []}},
    )
    board = board_of(run, "auc")
    documents.check("leaderboard", board, "leaderboard.json")
    best, training, failed = board["contenders"]
    assert board["winner"] == best["name"] == "baselines/bqml-logistic_reg"
    assert (best["kind"], best["training"]) == ("bqml", None)
    assert (best["seconds"], best["cost_usd"]) == (41.3, 0.0512)
    assert best["baseline"].pop("model").endswith("/bqml-logistic_reg")
    assert best["baseline"] == {
        "options": {"model_type": "LOGISTIC_REG", "l2_reg": 0.1},
        "features_left_out": ["pulse"],
        "evaluation": {"roc_auc": 0.99},
    }
    # Six epochs of 1.5 s at 400 USD an hour.
    assert (training["seconds"], training["cost_usd"]) == (9.0, 1.0)
    assert (failed["name"], failed["status"], failed["kind"]) == (
        "baselines/automl",
        "failed",
        "automl",
    )
    assert board["dataset"]["label"] == "malignant"
    assert board["task"] == "binary_classification"


def test_a_regression_keeps_the_schema(table_run):
    labels = np.linspace(5e4, 9e4, 50)
    run = table_run(labels)
    noise = np.random.default_rng(1).normal(size=50)
    run.values(1, labels + 2000 * noise)
    run.baseline("bqml-linear_reg", run.exported_values(labels - 3000 * noise))
    run.baseline("automl", status="failed", reason="no quota")
    board = board_of(run, "loss")
    documents.check("leaderboard", board, "leaderboard.json")
    assert (board["task"], board["primary_metric"]) == ("regression", "rmse")
    assert list(board["metrics"]) == ["rmse", "mae", "median_absolute_error", "r2"]
    winner, second, failed = board["contenders"]
    assert (winner["name"], second["name"]) == ("training/1", "baselines/bqml-linear_reg")
    assert failed["reason"] == "no quota"
    assert second["difference"]["won_by_winner"] == 50
    text = leaderboard.table(Leaderboard.from_document(board))
    assert says(text.splitlines()[0], "50 test examples", "regression", "RMSE", "smaller")
    # Published to the hundredth, shown in whole units: the labels spread over thousands.
    assert board["metrics"]["rmse"]["decimals"] == 2
    assert f"{winner['metrics']['rmse']['value']:.0f} [" in text


DEPLOY = {
    "gate": {
        "require": {"accuracy": 0.5},
        "beat": "baselines",
        "margin": 0.0,
        "tolerance": None,
        "learned": True,
    },
    "smoke": {"examples": 3, "latency": 1000},
}


def test_a_promotion_keeps_the_schema_and_ends_the_table_in_one_line(run_folder, classifier):
    run = run_folder(LABELS, 3)
    run.plan({"configuration": {"deploy": DEPLOY}})
    run.contender(1, classifier(LABELS, 3, skill=4, seed=1))
    board = board_of(run, "accuracy")
    documents.check("leaderboard", board, "leaderboard.json")
    promotion = board["promotion"]
    assert (promotion["challenger"], promotion["promoted"]) == ("training/1", True)
    assert promotion["checks"][0]["check"] == "accuracy at least 0.5"
    assert promotion["served"] is None
    text = leaderboard.table(Leaderboard.from_document(board))
    assert text.endswith(f"\nPromoted: {promotion['reason']}.")


def test_a_refusal_keeps_the_schema_with_what_is_served(run_folder, classifier):
    run = run_folder(LABELS, 3)
    gate = {**DEPLOY["gate"], "tolerance": 0.0}
    run.plan({"configuration": {"deploy": {**DEPLOY, "gate": gate}}})
    run.contender(1, classifier(LABELS, 3, skill=4, seed=1))
    served = {"model": "projects/p/locations/l/models/m@3", "endpoint": None}
    (run.path / "served.json").write_text(
        json.dumps({"schema": 1, "artifact_uri": None, "traffic": 100} | served)
    )
    board = board_of(run, "accuracy")
    documents.check("leaderboard", board, "leaderboard.json")
    assert not board["promotion"]["promoted"]
    assert board["promotion"]["served"] == served
    assert (board["contenders"][1]["kind"], board["contenders"][1]["status"]) == (
        "served",
        "failed",
    )
    text = leaderboard.table(Leaderboard.from_document(board))
    assert text.endswith(f"\nNot promoted: {board['promotion']['reason']}.")


def test_without_a_deploy_section_nothing_is_decided(board):
    assert board["promotion"] is None
    assert "romoted" not in leaderboard.table(Leaderboard.from_document(board))
