"""History of served versions, and costs of runs by month."""

import pytest

from tests.trellis.results.made import (
    a_board,
    a_deployment,
    a_prediction,
    a_rollback,
    a_run,
    an_approval,
    with_cost,
)
from trellis.results import Index
from trellis.results.history import months, predicted, served
from trellis_contracts.approval import Approval


def test_who_put_which_version_into_service_and_why(digits):
    promoted = a_run(digits, "good", a_board(), a_deployment())
    newest, first = served(Index((promoted,), (a_rollback(),)))
    assert (first.how, first.version, first.before, first.run) == ("promoted", "2", "1", "good")
    assert (first.why, first.user) == ("training/1 passes all 2 checks", "ada")
    assert (newest.how, newest.version, newest.before) == ("rolled back", "1", "2")
    assert (newest.why, newest.user) == ("asked for version 'previous'", "ada")


def test_a_champion_that_other_images_serve_keeps_the_score_of_its_training(digits):
    promoted = a_run(digits, "good", a_board(), a_deployment())
    anew = [
        a_rollback(3, 2, at="2026-02-01T00:00:00+00:00", image="serve:2"),
        a_rollback(4, 3, at="2026-03-01T00:00:00+00:00", image="serve:3"),
    ]
    last, second, first = served(Index((promoted,), tuple(reversed(anew))))
    assert (last.how, last.version, last.before, last.run) == ("served anew", "4", "3", None)
    assert (last.why, second.why) == ("by serve:3", "by serve:2")
    assert first.score == second.score == last.score
    assert first.score is not None


def test_a_deployment_that_gave_up(digits):
    retreated = a_deployment(state="retreated", reason="smoke_10: too slow")
    (change,) = served(Index((a_run(digits, "bad", a_board(), retreated),)))
    assert (change.how, change.why) == ("retreated", "smoke_10: too slow")


@pytest.mark.parametrize("state", ["rejected", "expired", "overtaken"])
def test_a_training_that_nobody_approved_is_in_the_history_and_no_champion(digits, state):
    by = "olga" if state == "rejected" else None
    run = a_run(digits, "r", a_board(), approval=an_approval(state, by, "site B is worse"))
    (change,) = served(Index((run,)))
    assert (change.how, change.version, change.changed, change.user) == (state, None, False, by)
    assert change.why == Approval.from_document(an_approval(state, by, "site B is worse")).summary
    assert run.result.promoted is True
    assert not run.result.serves


def test_who_approved_is_named_beside_the_version_and_an_open_question_is_none(digits):
    agreed = an_approval("approved", "olga", None)
    run = a_run(digits, "r", a_board(), a_deployment(), approval=agreed)
    (change,) = served(Index((run,)))
    assert (change.how, change.version) == ("promoted", "2")
    assert change.why == f"{run.result.reason}; olga approved it"
    waits = a_run(digits, "r", a_board(), approval=an_approval("waiting", None, None))
    assert waits.result.approval is None
    assert served(Index((waits,))) == []


def test_runs_that_changed_nothing(digits):
    going_on = a_deployment(state="deploying")
    runs = (a_run(digits), a_run(digits, "b", a_board()), a_run(digits, "c", a_board(), going_on))
    assert served(Index(runs)) == []


def test_months(digits):
    january = "2026-01-31T23:59:59+00:00"
    runs = [
        a_run(digits, "a", a_board(), created="2026-02-01T00:00:00+00:00"),
        a_run(digits, "b", a_board(), created=january),
        a_run(digits, "c", created=january),
    ]
    february, first = months(runs)
    assert (february.month, february.runs) == ("2026-02", 1)
    assert (first.month, first.runs, first.at_most_usd) == ("2026-01", 2, 3.84)
    # By the jobs' own times; where these are not known, those of trainings and baselines.
    assert (february.spent_usd, first.spent_usd) == (0.25, 0.25)
    told = a_run(digits, "d", a_board(), begun="2026-02-03T00:00:00+00:00", created=january)
    told = with_cost(told, {"tune": 0.5, "train": 1.0})
    february, first = months([*runs, told])
    assert (february.runs, february.spent_usd) == (2, 1.75)
    assert (told.spent_usd, told.usd, runs[2].spent_usd, runs[2].usd) == (1.5, 1.5, None, 1.92)


def test_a_prediction_is_beside_the_score_of_its_model_at_promotion(digits):
    run = a_run(digits, "r", a_board(), a_deployment(), bucket="b")
    scored = a_prediction(score=(0.9, 0.85, 0.94))
    unscored = a_prediction("next", at="2026-01-03T00:00:00+00:00")
    of_another = a_prediction("other", run="gone", at="2026-01-01T00:00:00+00:00")
    found = predicted(Index.of((run,), (), (), "", (scored, unscored, of_another)))
    assert [one.record.run_id for one in found] == ["next", "daily", "other"]
    assert [one.promoted for one in found] == [run.result.selected, run.result.selected, None]
    assert (found[1].later.value, found[0].later) == (0.9, None)
    assert found[1].title == run.result.title
