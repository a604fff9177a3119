"""Filters of runs."""

import pytest

from tests.trellis.results.made import a_board, a_contender, a_run, with_cost
from trellis.results.selection import ORDERS, NoRunError, Selection, find
from trellis.workflow.contracts.record import Note


@pytest.fixture
def runs(digits, breast_cancer):
    """Newest first."""
    return [
        a_run(digits, "new"),
        a_run(digits, "old", a_board(), tags=["nightly"]),
        a_run(breast_cancer, "rows", a_board()),
    ]


def folders(found):
    return [run.folder for run in found]


def test_filters(runs):
    assert folders(Selection().of(runs)) == ["new", "old", "rows"]
    assert folders(Selection(experiment="digits").of(runs)) == ["new", "old"]
    assert folders(Selection(task="binary_classification").of(runs)) == ["rows"]
    assert folders(Selection(tag="nightly").of(runs)) == ["old"]
    assert folders(Selection(owner="trellis", dataset="3f").of(runs)) == ["new", "old", "rows"]
    assert folders(Selection(owner="somebody else").of(runs)) == []
    assert folders(Selection(dataset="beef").of(runs)) == []


def test_a_search_looks_for_all_words_in_what_is_known(runs):
    noted = Note(at="2026-01-01T00:00:00+00:00", by="grace", name="halved", text="rate is 0.1")
    runs[0] = runs[0].model_copy(update={"notes": (noted,)})
    assert folders(Selection(search="RATE grace").of(runs)) == ["new"]
    assert folders(Selection(search="halved").of(runs)) == ["new"]
    assert folders(Selection(search="nightly training/1").of(runs)) == ["old"]
    assert folders(Selection(search="rate nightly").of(runs)) == []
    assert find(runs, "digits/halved").folder == "new"


def test_orders(digits, breast_cancer):
    good, bad = (a_board(a_contender("training/1", v, 0.1, 1)) for v in (0.9, 0.8))
    runs = [
        a_run(digits, "c", bad),
        a_run(digits, "b"),
        with_cost(a_run(breast_cancer, "a", good), {"train": 1.0}),
    ]
    orders = {order: "".join(folders(Selection(sort=order).of(runs))) for order in ORDERS}
    assert orders == {
        "newest": "cba",
        "oldest": "abc",
        "name": "abc",
        "score": "acb",
        "spent": "acb",
    }


def test_the_lowest_loss_is_the_best_score(digits):
    board = a_board()
    runs = []
    for folder, value in (("worse", 0.9), ("better", 0.1)):
        run = a_run(digits, folder, board)
        result = run.result.model_copy(update={"goal": "minimize", "value": value})
        runs.append(run.model_copy(update={"result": result}))
    assert folders(Selection(sort="score").of(runs)) == ["better", "worse"]


def test_a_run_by_its_name_and_an_experiments_newest_result(runs):
    assert find(runs, "digits/new").folder == "new"
    assert find(runs, "digits").folder == "old"


def test_what_there_is_instead(runs):
    with pytest.raises(NoRunError, match=r"'digit'.*'digits'"):
        find(runs, "digit")
    with pytest.raises(NoRunError, match="no run 'x'; its newest are new, old"):
        find(runs, "digits/x")
    with pytest.raises(NoRunError, match="no run with a result"):
        find(runs[:1], "digits")
