from research.stages.result import champion, failed, summary

BOARD = {
    "primary_metric": "accuracy",
    "champion": "training/2",
    "contenders": [
        {"name": "training/1", "status": "ok", "metrics": {"accuracy": {"value": 0.95}}},
        {"name": "training/2", "status": "ok", "metrics": {"accuracy": {"value": 0.97}}},
        {"name": "training/3", "status": "failed", "reason": "no metrics.json", "metrics": {}},
    ],
}


def test_the_champion_comes_first():
    assert summary(BOARD) == [
        "Champion: training/2",
        "training/2: accuracy 0.9700",
        "training/1: accuracy 0.9500",
        "training/3: failed, no metrics.json",
    ]
    assert champion(BOARD) == {"champion": "training/2", "metric": "accuracy", "value": 0.97}


def test_who_is_missing_and_why():
    assert failed(BOARD) == "training/3 failed (no metrics.json)"
    assert failed({**BOARD, "contenders": BOARD["contenders"][:2]}) == ""
