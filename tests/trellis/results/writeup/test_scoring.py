import json

from tests.trellis.results.made import SLICES, an_estimate
from tests.trellis.results.writeup.parsed import cells
from tests.wording import says
from trellis.results.writeup import card, methods, tripod


def test_decisions_and_abstention_are_told_with_their_effects(gather, put):
    f = gather()
    for text in (methods.text(f), card.text(f)):
        assert "threshold" not in text
        assert "hands back" not in text
    board = f.board.to_document()
    (chosen,) = (c for c in board["contenders"] if c["selected"])
    half = {"accuracy": an_estimate(0.85, 0.75, 0.9)}
    spent = {
        "model": an_estimate(0.31, 0.25, 0.4),
        "at_half": an_estimate(0.41, 0.3, 0.5),
        "change": an_estimate(-0.1, -0.2, 0),
    }
    cost = {"missed": 10.0, "false_alarm": 1.0, "all": 0.7, "none": 3.0, **spent}
    found = {"rule": {"cost": {"missed": 10.0, "false_alarm": 1.0}}, "above": 0.0909}
    chosen["training"] |= {
        "threshold": {"class": "ill", "above": 0.0909},
        "decision": {**found, "at_half": half, "cost": cost},
        "abstention": {
            "share": 0.1,
            "answered": an_estimate(0.88, 0.8, 0.93),
            "risk": an_estimate(0.05, 0.02, 0.09),
            "risk_of_all": an_estimate(0.1, 0.06, 0.15),
            "cost": an_estimate(0.2, 0.1, 0.3),
        },
    }
    put("digits/runs/r/leaderboard/leaderboard.json", board)
    f = gather()
    checklist = {row[0]: row[2] for row in cells(tripod.text(f), "item")}
    for text in (methods.text(f), card.text(f), checklist["23a"]):
        for words in (
            "of least cost, where a missed `ill` costs 10 and a false alarm 1, on the validation",
            "`ill` was decided above 0.0909",
            "accuracy 0.9000 [0.8000, 0.9500] (0.8500 [0.7500, 0.9000] at a half)",
            "cost 0.3100 [0.2500, 0.4000], which is -0.1000 [-0.2000, +0.0000] against",
            "as `ill` would cost 0.7000, none 3.0000",
            "the least certain 10% of the validation split",
            "it answered a share of 0.8800 [0.8000, 0.9300]",
            "wrong in 0.0500 [0.0200, 0.0900] of these, and in 0.1000 [0.0600, 0.1500] of all",
            "An answered example cost 0.2000 [0.1000, 0.3000].",
        ):
            assert words in text
    for rule, words in (
        ({"sensitivity": 0.95}, "of highest specificity with a sensitivity of at least 0.95"),
        ({"maximize": "accuracy"}, "with the highest accuracy"),
    ):
        chosen["training"]["decision"] = {**found, "rule": rule, "at_half": half}
        put("digits/runs/r/leaderboard/leaderboard.json", board)
        text = methods.text(gather())
        assert words in text
        assert "A decision cost" not in text


def test_parts_of_the_test_split_and_calibration_are_told_where_there_are_any(gather, put):
    f = gather()
    assert "was also scored in" not in methods.text(f)
    board = f.board.to_document()
    (chosen,) = (c for c in board["contenders"] if c["selected"])
    lower = {"value": -0.02, "interval": [-0.03, -0.01]}
    before = {"log_loss": {"value": 0.12, "interval": [0.05, 0.2]}}
    change = {"log_loss": lower}
    calibration = {"method": "temperature", "examples": 55, "before": before, "change": change}
    chosen["training"]["calibration"] = calibration
    put("digits/runs/r/leaderboard/leaderboard.json", {**board, "slices": SLICES})
    f = gather()
    assert cells(methods.text(f), "part") == [
        ["`site = b`", "20", "0.5000 [0.3000, 0.7000]", "-0.4500 [-0.7000, -0.2000]"],
        ["`site = c`", "5", "", ""],
    ]
    told = {row[0]: row[2] for row in cells(tripod.text(f), "item")}
    for number in ("12d", "14", "23b"):
        assert "It was worse in `site = b`." in told[number]
    assert "It was worse in `site = b`." in told["23a"]
    assert "[OPEN: key subgroups" not in told["23a"]
    assert told["12f"] == told["24"]
    assert "calibrated by temperature on 55 examples" in told["12f"]
    assert "log loss by -0.0200 [-0.0300, -0.0100]" in told["12f"]


def test_a_training_that_went_on_from_the_served_model_is_told_beside_the_best_cold_one(
    gather, put
):
    board = gather().board.to_document()
    (cold,) = (c for c in board["contenders"] if c["selected"])
    warm = json.loads(json.dumps(cold)) | {"name": "training/2", "rank": 1, "selected": False}
    cold["rank"] = 3
    warm["training"]["start"] = "gs://b/digits/runs/q/training/1/checkpoints/s/best.npz"
    warm["metrics"]["accuracy"] = an_estimate(0.95, 0.9, 0.98)
    board["contenders"].append(warm)
    put("digits/runs/r/leaderboard/leaderboard.json", board)
    told = {row[0]: row[2] for row in cells(tripod.text(gather()), "item")}
    warmed, best = "0.9500 [0.9000, 0.9800]", "0.9000 [0.8000, 0.9500]"
    assert says(told["24"], "`training/2`", "served", "accuracy", warmed, best, "`training/1`")
