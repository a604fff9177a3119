"""Filters of runs."""

import pytest

from tests.trellis.results.made import a_board, a_run
from trellis.results.selection import NoRunError, Selection, find


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
