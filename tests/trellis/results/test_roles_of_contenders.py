"""Winner, selected training and served model are three, and each has its own score."""

from tests.trellis.results.made import a_board, a_contender, a_deployment, a_leaderboard, a_run
from trellis_contracts.deployment import Deployment

BASELINE = a_contender("baselines/bqml-logistic_reg", 0.97, 0.95, 0.98)
TRAINING = a_contender("training/1", 0.9, 0.85, 0.94, selected=True)
OTHER = a_contender("training/2", 0.93, 0.9, 0.95, selected=False)


def test_a_baseline_wins_and_the_selected_training_is_served():
    board = a_leaderboard(BASELINE, TRAINING, OTHER)
    assert board.first.to_document() == BASELINE
    assert board.selected.to_document() == TRAINING
    assert board.served(Deployment.from_document(a_deployment())) == board.selected
    retreated = a_deployment(state="retreated", reason="slow")
    assert board.served(Deployment.from_document(retreated)) is None
    assert board.served(None) is None


def test_without_a_training_nothing_is_selected():
    assert a_leaderboard(BASELINE, promoted=None).selected is None


def test_a_record_keeps_them_apart(digits):
    result = a_run(digits, "r", a_board(BASELINE, TRAINING), a_deployment()).result
    assert (result.first.name, result.first.value) == (BASELINE["name"], 0.97)
    assert (result.served.name, result.served.value, result.served.low) == ("training/1", 0.9, 0.85)
    assert a_run(digits, "r", a_board(BASELINE, TRAINING)).result.served is None
