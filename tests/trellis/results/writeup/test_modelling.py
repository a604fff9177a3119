import json

from tests.trellis.results.a_run import TRIALS, epochs, metrics
from tests.trellis.results.made import a_board, a_plan_of
from tests.trellis.results.writeup.parsed import cells
from tests.wording import says
from trellis.results.writeup import citation, methods, modelling


def test_what_a_run_used_is_told_with_versions_digests_seeds_and_hours(gather, put, digits, bucket):
    plan = a_plan_of(digits, "r", bucket)
    plan["images"] = {"example.com/trainer:7": f"sha256:{'c' * 64}"}
    put("digits/runs/r/plan.json", plan | {"contracts": plan["contracts"]})
    board = json.loads(json.dumps(a_board()))
    board["provenance"] = {
        "versions": {"python": "3.11.9", "numpy": "2.4.6"},
        "code_sha256": "ab" * 32,
    }
    board["uncertainty"] |= {"comparisons": 3, "resamples": 1234, "seed": 77}
    put("digits/runs/r/leaderboard/leaderboard.json", board)
    text = methods.text(gather())
    for told in ("python 3.11.9 and numpy 2.4.6", "ab" * 32, "`example.com/trainer:7` (sha256:cccc",
                 "1,234 resamples (seed 77)", "the 3 intervals", "(Bonferroni)"):  # fmt: skip
        assert told in text
    # Two trials of a minute each.
    assert "trials 0.033 hours on" in text
    assert "1 of 2 trials came to a result" in text
    for metric in board["metrics"].values():
        assert [metric["title"], metric["description"], metric["interval"]] in [
            row[:3] for row in cells(text, "metric")
        ]
    assert f"version = {{{plan['contracts']}}}" in citation.text(gather())


def test_the_hours_are_those_of_all_trials_and_trainings(gather, put, digits, bucket):
    """Each training counts once, whether it was in a fold, not selected, or had another seed."""
    plan = a_plan_of(digits, "r", bucket)
    plan["configuration"]["train"] |= {"folds": 3, "repeats": 2, "seeds": 2}
    plan["configuration"]["train"]["machines"] = {"type": "n1-standard-4", "workers": 2}
    put("digits/runs/r/plan.json", plan)
    parts = [f"{repeat}-{fold}" for repeat in (1, 2) for fold in (1, 2, 3)]
    for part in parts:
        put(f"digits/runs/r/folds/{part}/trials.json", TRIALS)
        for rank in (1, 2):
            put(f"digits/runs/r/folds/{part}/training/{rank}/metrics.json", metrics(epochs(100)))
        # Its time is that of the trial.
        put(f"digits/runs/r/folds/{part}/tuning/1/metrics.json", metrics(epochs(7000)))
    put("digits/runs/r/training/1/metrics.json", metrics(epochs(200)))
    put("digits/runs/r/training/2/metrics.json", metrics(epochs(200)))
    put("digits/runs/r/training/1/seeds/1/metrics.json", metrics(epochs(200)))
    put("digits/runs/r/tuning/1/metrics.json", metrics(epochs(7000)))
    told = modelling.hardware(gather())
    # 7 searches of two trials of a minute each; an epoch takes a second of both workers.
    assert says(told, "14 trials", "12 of them in folds", "0.23 hours")
    assert says(told, "15 full trainings", "12 in folds", "1 with other seeds", "1 machine hours")
    assert "lost attempts are left out" in told


def test_a_hyperparameter_is_told_with_who_set_it(gather, put, digits, bucket):
    plan = a_plan_of(digits, "r", bucket)
    plan["configuration"]["hyperparameters"] = {"batch_size": 64}
    plan["configuration"]["tune"]["search"] = {"units": {"choose": [8, 16]}}
    plan["configuration"]["model"] = "dense"
    put("digits/runs/r/plan.json", plan)
    board = gather().board.to_document()
    (chosen,) = (c for c in board["contenders"] if c["selected"])
    chosen["hyperparameters"] = {"units": 16, "batch_size": 64, "dropout": 0.25}
    put("digits/runs/r/leaderboard/leaderboard.json", board)
    assert cells(methods.text(gather()), "hyperparameter") == [
        ["`units`", "16", "searched"],
        ["`batch_size`", "64", "fixed"],
        ["`dropout`", "0.25", "default"],
    ]


def test_a_model_of_the_groups_own_is_not_described_as_ours(gather, put, digits, bucket):
    plan = a_plan_of(digits, "r", bucket)
    plan["configuration"] |= {"model": "forest.py", "other_models": {}}
    put("digits/runs/r/plan.json", plan)
    text = methods.text(gather())
    assert "`forest.py`, a program" in text
    assert "standardized" not in text
    assert "[OPEN: how]" in text
