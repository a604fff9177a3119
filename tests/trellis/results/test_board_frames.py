"""Frames of a leaderboard: scores, slices, folds, and what trainings have chosen."""

import pandas as pd
import pytest

import trellis
from tests.trellis.results.a_run import SHARES, TRAINED, predictions
from tests.trellis.results.made import SLICES, a_board, a_contender, a_deployment, a_plan_of
from trellis.results.selection import NoRunError


def test_the_leaderboard_has_scores_with_intervals_and_parameters(run, client):
    board = trellis.load_run(run, client).leaderboard()
    assert list(board.index) == ["training/1", "baselines/bqml-logistic_reg"]
    first = board.loc["training/1"]
    assert (first["accuracy"], first["accuracy.low"], first["accuracy.high"]) == (0.9, 0.8, 0.95)
    assert first["parameters.units"] == 16


def test_winner_selected_and_served_are_three(digits, client, bucket, put):
    baseline = a_contender("baselines/bqml", 0.97, 0.95, 0.98, rank=1)
    board = a_board(baseline, a_contender("training/1", 0.9, 0.8, 0.95, rank=2, selected=True))
    board["positive"] = "ill"
    board["metrics"]["accuracy"] |= {"average": "examples", "chance": 0.7}
    put("digits/runs/r/plan.json", a_plan_of(digits, "r", bucket))
    put("digits/runs/r/leaderboard/leaderboard.json", board)
    uri = f"gs://{bucket}/digits/runs/r/"
    before = trellis.load_run(uri, client)
    assert (before.winner, before.selected, before.served) == ("baselines/bqml", "training/1", None)
    with pytest.raises(NoRunError, match="this run's is training/1"):
        before.download()
    put("digits/runs/r/deployment.json", a_deployment())
    assert trellis.load_run(uri, client).served == "training/1"
    about = before.metrics()
    assert about.loc["accuracy", ["average", "chance"]].tolist() == ["examples", 0.7]
    assert about.attrs["positive"] == "ill"


def test_slices_are_of_every_contender_and_gaps_of_one(run, client, put):
    with pytest.raises(NoRunError, match="has no slices"):
        trellis.load_run(run, client).slices()
    first = a_contender("training/1", 0.9, 0.8, 0.95, rank=1, training=TRAINED)
    board = a_board(first, a_contender("baselines/bqml", 0.8, 0.7, 0.9, rank=2))
    board |= {"slices": SLICES}
    put("digits/runs/r/leaderboard/leaderboard.json", board)
    found = trellis.load_run(run, client).slices()
    assert found.index.names == ["slice", "contender"]
    worst = found.loc[("site = b", "training/1")]
    assert worst[["accuracy", "accuracy.low", "accuracy.high"]].tolist() == [0.5, 0.3, 0.7]
    assert worst[["gap", "gap.low", "gap.high", "examples"]].tolist() == [-0.45, -0.7, -0.2, 20]
    assert pd.isna(found.loc[("site = b", "baselines/bqml"), "gap"])
    assert not found.loc[("site = c", "training/1"), "judged"]
    assert found.attrs == {
        "of": "training/1",
        "metric": "accuracy",
        "comparisons": 1,
        "level": 0.95,
    }


def a_fold(part, **chosen):
    trained = {"training": "training/1", "trial": "2", "model": "dense", "best_epoch": 3}
    chosen = {"part": part, "examples": 2, "hyperparameters": {"units": 16}} | chosen
    return trained | chosen | {"validation": {"accuracy": 0.9}}


FOLDS = {
    "count": 3,
    "repeats": 1,
    "rows": 6,
    "deployed_on": "fold 1 of 3 validates, the others train",
    "deployed_examples": {"train": 4, "validation": 2, "test": 0},
    "widening": 1.58,
    # The second fold has no training.
    "choices": [a_fold("1-1"), a_fold("1-3", hyperparameters={"units": 64})],
    "spread": {"baselines/bqml": {"accuracy": {"mean": 0.6, "sd": 0.3, "values": [0.3, 0.6, 0.9]}}},
}


def test_folds_have_what_was_chosen_in_each_and_its_scores(run, client, put):
    with pytest.raises(NoRunError, match="has no folds"):
        trellis.load_run(run, client).folds()
    first = a_contender("baselines/bqml", 0.9, 0.8, 0.95, rank=1)
    put("digits/runs/r/leaderboard/leaderboard.json", a_board(first) | {"folds": FOLDS})
    put("digits/runs/r/folds/baselines/bqml/predictions.parquet", predictions())
    loaded = trellis.load_run(run, client)
    found = loaded.folds()
    assert found["parameters.units"].to_dict() == {"1-1": 16, "1-3": 64}
    assert found["baselines/bqml accuracy"].to_dict() == {"1-1": 0.3, "1-3": 0.9}
    assert found.attrs["rows"] == 6
    assert list(loaded.predictions("baselines/bqml")["p.ill"]) == pytest.approx(SHARES[:, 1])
    # All rows are tested in some fold.
    assert len(loaded.rows()) > len(loaded.rows("train"))


def test_importance_is_of_the_selected_training(run, client, put):
    with pytest.raises(NoRunError, match="has no permutation importance"):
        trellis.load_run(run, client).importance()
    features = [
        {"feature": "site", "value": 0.2, "interval": [0.1, 0.3]},
        {"feature": "age at visit", "value": 0.0, "interval": [-0.1, 0.1]},
    ]
    told = {"of": "training/1", "metric": "accuracy", "examples": 6, "permutations": 5}
    board = a_board(a_contender("training/1", 0.9, 0.8, 0.95, rank=1, training=TRAINED))
    board |= {"importance": told | {"features": features}}
    put("digits/runs/r/leaderboard/leaderboard.json", board)
    found = trellis.load_run(run, client).importance()
    assert found.index.tolist() == ["site", "age at visit"]
    assert found.loc["site"].tolist() == [0.2, 0.1, 0.3]
    assert found.attrs == told


def estimate(value, low, high):
    return {"value": value, "interval": [low, high]}


CHOSEN = {
    "calibration": {
        "method": "temperature",
        "examples": 90,
        "temperature": 1.5,
        "before": {"log_loss": estimate(0.3, 0.2, 0.4)},
        "change": {"log_loss": estimate(-0.2, -0.25, -0.15)},
    },
    "decision": {
        "rule": {"cost": {"missed": 10, "false_alarm": 1}},
        "above": 0.09,
        "at_half": {"accuracy": estimate(0.95, 0.9, 0.97)},
        "cost": {
            "missed": 10,
            "false_alarm": 1,
            "model": estimate(0.3, 0.2, 0.4),
            "at_half": estimate(0.5, 0.3, 0.7),
            "change": estimate(-0.2, -0.4, 0.0),
            "all": 0.6,
            "none": 4.0,
        },
    },
    "abstention": {
        "share": 0.1,
        "answered": estimate(0.88, 0.8, 0.93),
        "risk": estimate(0.05, 0.02, 0.1),
        "risk_of_all": estimate(0.1, 0.06, 0.15),
    },
    "conformal": {
        "coverage": 0.9,
        "examples": 90,
        "groups": 30,
        "reached": estimate(0.91, 0.85, 0.95),
        "of_class": {"ill": estimate(0.8, 0.6, 0.9)},
        "size": 1.2,
    },
}


@pytest.fixture
def chosen(run, client, put):
    """The run with a training that has chosen all that can be, before a baseline."""
    first = a_contender("training/1", 0.9, 0.8, 0.95, rank=1, training=TRAINED | CHOSEN)
    board = a_board(first, a_contender("baselines/bqml", 0.8, 0.7, 0.9, rank=2))
    put("digits/runs/r/leaderboard/leaderboard.json", board | {"positive": "ill"})
    return trellis.load_run(run, client)


def test_calibration_has_scores_before_it_and_the_change_of_proper_ones(chosen):
    found = chosen.calibration()
    assert found.index.tolist() == ["training/1"]
    first = found.loc["training/1"]
    assert first[["method", "temperature"]].tolist() == ["temperature", 1.5]
    assert first[["log_loss", "log_loss.before"]].tolist() == pytest.approx([0.1, 0.3])
    assert first[["log_loss.change.low", "log_loss.change.high"]].tolist() == [-0.25, -0.15]


def test_decisions_have_what_the_threshold_does_and_costs(chosen):
    found = chosen.decisions()
    first = found.loc["training/1"]
    assert first[["above", "accuracy", "accuracy.at_half"]].tolist() == [0.09, 0.9, 0.95]
    assert first[["cost", "cost.at_half", "cost.change", "cost.all", "cost.none"]].tolist() == [
        0.3,
        0.5,
        -0.2,
        0.6,
        4.0,
    ]
    rule = {"cost": {"missed": 10, "false_alarm": 1}}
    assert found.attrs == {"positive": "ill", "rule": rule}


def test_what_is_handed_back_and_what_sets_cover(chosen):
    handed = chosen.abstention().loc["training/1"]
    assert handed[["share", "answered", "risk", "risk_of_all.high"]].tolist() == [
        0.1,
        0.88,
        0.05,
        0.15,
    ]
    assert "cost" not in handed
    covered = chosen.coverage().loc["training/1"]
    assert covered[["coverage", "reached", "reached.low", "reached.ill"]].tolist() == [
        0.9,
        0.91,
        0.85,
        0.8,
    ]
    assert covered[["examples", "groups", "size"]].tolist() == [90, 30, 1.2]


def test_of_what_the_experiment_does_not_ask_there_is_no_frame(run, client):
    loaded = trellis.load_run(run, client)
    keys = {"calibration": "calibrate", "decisions": "decision", "abstention": "abstain"}
    for frame, key in {**keys, "coverage": "coverage"}.items():
        with pytest.raises(NoRunError, match=f"no training has a `{key}`"):
            getattr(loaded, frame)()
