"""Record of a run in the index."""

from hypothesis import given
from hypothesis import strategies as st

from tests.trellis.results.made import (
    a_board,
    a_contender,
    a_deployment,
    a_plan_of,
    a_rollback,
    a_run,
    with_cost,
)
from trellis.workflow.contracts.champion_record import ChampionRecord
from trellis.workflow.contracts.index_document import METADATA
from trellis.workflow.contracts.record import RunRecord
from trellis_contracts.plan import PlanFile


def test_a_run_that_was_planned(digits):
    record = RunRecord.planned(
        PlanFile.from_document(a_plan_of(digits)), "manual", "ada", {"research", "b"}
    )
    assert (record.experiment, record.folder, record.run_id) == ("digits", "r", "r")
    assert (record.trigger, record.user, record.owner) == ("manual", "ada", "trellis")
    assert record.tags == ("b", "research")
    assert record.at_most_usd == 1.92
    assert record.result is None


def test_its_result(digits):
    result = a_run(digits, board=a_board(), deployment=a_deployment()).result
    assert (result.winner, result.metric, result.goal) == ("training/1", "accuracy", "maximize")
    assert (result.value, result.low, result.high) == (0.97, 0.95, 0.98)
    assert (result.promoted, result.contenders_usd, result.failure) == (True, 0.25, None)
    # The champion's step counts, not what was cleaned up after it.
    assert result.deployment.at == "2026-01-01T02:00:00+00:00"


def test_the_winner_counts_and_every_contender_costs(digits):
    board = a_board(
        a_contender("baselines/bqml-x", 0.99, 0.98, 1.0, cost_usd=1.5),
        a_contender("training/1", 0.97, 0.95, 0.98, cost_usd=0.25),
        a_contender("training/2", 0.5, 0.4, 0.6),
        promoted=None,
    )
    result = a_run(digits, board=board).result
    assert (result.winner, result.value, result.contenders_usd) == ("baselines/bqml-x", 0.99, 1.75)
    assert result.promoted is None


def test_a_record_without_actual_cost_counts_at_most(digits):
    ended = with_cost(a_run(digits, board=a_board()), {"train": 0.5})
    assert RunRecord.model_validate_json(ended.text) == ended
    assert (ended.spent_usd, ended.usd) == (0.5, 0.5)
    found = a_run(digits, board=a_board())
    assert (found.spent_usd, found.usd, found.month) == (None, found.at_most_usd, "2026-01")


def test_a_deployment_without_a_step_has_no_time(digits):
    begun = {**a_deployment(state="deploying"), "steps": []}
    assert a_run(digits, board=a_board(), deployment=begun).result.deployment.at is None


@given(st.text(max_size=2000))
def test_a_record_survives_its_object(text):
    rollback = a_rollback(user=text)
    assert ChampionRecord.model_validate_json(rollback.text) == rollback
    assert rollback.text.isascii()
    size = sum(len(key) + len(value) for key, value in rollback.metadata.items())
    assert size <= 8192
    if len(text) < 1000:
        assert rollback.metadata == {METADATA: rollback.text}


def test_long_sentences_are_cut_so_that_a_record_fits(digits):
    record = a_run(digits, board=a_board(), failure="x" * 5000)
    assert len(record.result.failure) == 400
    assert record.metadata
