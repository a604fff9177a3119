"""Runs side by side."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.trellis.results.made import a_contender, a_leaderboard, a_plan_of
from trellis.results.comparison import _differing, compare
from trellis.results.files import RunFiles
from trellis.workflow.contracts.layout import Run
from trellis.workflow.validation.file import with_changes
from trellis_contracts.leaderboard import Estimate
from trellis_contracts.plan import PlanFile


def files(experiment, *contenders, fingerprint="3f2a"):
    plan = a_plan_of(experiment)
    plan["dataset"]["fingerprint"] = fingerprint
    board = a_leaderboard(*contenders, fingerprint=fingerprint) if contenders else None
    return RunFiles(Run("bucket", "digits", "r"), PlanFile.from_document(plan), board, None)


def test_scores_with_intervals_on_the_same_test_examples(digits):
    one = files(digits, a_contender("training/1", 0.9, 0.8, 0.95))
    other = files(digits, a_contender("training/2", 0.95, 0.9, 0.99))
    found = compare([one, other])
    assert found.same_split
    assert [metric.name for metric in found.metrics] == ["accuracy", "log_loss"]
    assert found.metrics[0].primary
    assert found.metrics[0].scores == (Estimate(0.9, (0.8, 0.95)), Estimate(0.95, (0.9, 0.99)))


def test_trainings_are_compared_where_a_baseline_wins(digits):
    baseline = a_contender("baselines/bqml", 0.97, 0.95, 0.98)
    runs = [
        files(digits, baseline, a_contender("training/1", value, 0.8, 0.95, selected=True))
        for value in (0.9, 0.92)
    ]
    found = compare(runs)
    assert [score.value for score in found.metrics[0].scores] == [0.97, 0.97]
    assert [score.value for score in found.trainings[0].scores] == [0.9, 0.92]
    assert compare([files(digits, a_contender("training/1", 0.9, 0.8, 1))]).trainings == ()


def test_one_name_with_two_meanings_is_two_rows(digits):
    old = files(digits, a_contender("training/1", 0.9, 0.8, 0.95))
    new = files(digits, a_contender("training/1", 0.5, 0.4, 0.6))
    known = new.leaderboard.metrics
    renamed = replace(known["accuracy"], title="accuracy of yes")
    board = replace(new.leaderboard, metrics={**known, "accuracy": renamed})
    new = replace(new, leaderboard=board)
    rows = {metric.title: metric.scores for metric in compare([old, new]).metrics}
    assert rows["accuracy"] == (Estimate(0.9, (0.8, 0.95)), None)
    assert rows["accuracy of yes"] == (None, Estimate(0.5, (0.4, 0.6)))


def test_another_dataset_is_another_test_split(digits):
    one = files(digits, a_contender("training/1", 0.9, 0.8, 0.95))
    assert not compare([one, files(digits, fingerprint="beef")]).same_split
    gone = RunFiles(Run("bucket", "digits", "gone"), None, None, None)
    assert not compare([gone, gone]).same_split


def test_only_what_differs(digits):
    changed = with_changes(digits, {("tune", "trials"): 3, ("seed",): 7})
    one = files(digits, a_contender("training/1", 0.9, 0.8, 1, hyperparameters={"lr": 0.1}))
    other = files(changed, a_contender("training/1", 0.9, 0.8, 1, hyperparameters={"units": 3}))
    assert dict(compare([one, other]).parameters) == {
        "seed": (0, 7),
        "tune.trials": (6, 3),
        "winner.lr": (0.1, None),
        "winner.units": (None, 3),
    }


def test_a_run_without_a_leaderboard_has_no_scores(digits):
    found = compare([files(digits), files(digits, a_contender("training/1", 0.9, 0.8, 1))])
    assert found.metrics[0].scores == (None, Estimate(0.9, (0.8, 1)))
    assert compare([files(digits)]).metrics == ()


@given(st.lists(st.dictionaries(st.text(max_size=2), st.integers(0, 2)), min_size=1, max_size=4))
def test_a_parameter_is_told_exactly_if_two_runs_differ_in_it(runs):
    found = _differing(runs)
    for name in {name for run in runs for name in run}:
        values = [run.get(name) for run in runs]
        assert (name in found) == (len(set(values)) > 1)
        assert found.get(name, tuple(values)) == tuple(values)
