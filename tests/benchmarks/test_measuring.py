"""Rounds, quartiles, ratios and lines of the benchmarks' table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.measuring import Aim, Row, Spread, failed, line, ratios, rounds, spread, verdict

ROW = Row("copy", "copy a file", "cp", "", "MB/s", True, Aim("peer", 2), "trainer", "m:f")
positive = st.floats(0.001, 1e6)


def test_candidates_take_turns_each_round_beginning_with_another_and_the_first_does_not_count():
    order = []

    def candidate(name):
        return lambda: order.append(name) or len(order)

    figures = rounds({name: candidate(name) for name in ("ours", "peer", "limit")}, 5)

    assert order[:9] == ["ours", "peer", "limit", "peer", "limit", "ours", "limit", "ours", "peer"]
    assert figures["ours"] == [6, 8, 10, 15, 17]
    assert {len(found) for found in figures.values()} == {5}


def test_fewer_than_five_rounds_or_no_candidate_of_ours_are_refused():
    with pytest.raises(ValueError, match="at least 5"):
        rounds({"ours": lambda: 1.0}, 4)
    with pytest.raises(ValueError, match="with 'ours'"):
        rounds({"peer": lambda: 1.0})


@given(st.lists(positive, min_size=2, max_size=20))
def test_quartiles_enclose_the_median_and_lie_within_the_values(values):
    found = spread(values)
    around = 1e-9 * max(values)
    assert min(values) - around <= found.low <= found.median + around
    assert found.median <= found.high + around <= max(values) + 2 * around


@given(st.lists(st.tuples(positive, positive, positive), min_size=5, max_size=9))
def test_a_ratio_is_that_of_one_round_so_a_slow_round_changes_none(values):
    ours, peer, slower = zip(*values, strict=True)
    slow = {
        "ours": [a / s for a, s in zip(ours, slower, strict=True)],
        "peer": [b / s for b, s in zip(peer, slower, strict=True)],
    }
    assert ratios(slow, "peer") == pytest.approx(ratios({"ours": ours, "peer": peer}, "peer"))


@pytest.mark.parametrize(
    ("low", "high", "more", "expected"),
    [
        (2, 3, True, "met"),
        (1, 1.9, True, "missed"),
        (1, 3, True, "unclear"),
        (1, 2, False, "met"),
        (2.1, 3, False, "missed"),
        (1, 3, False, "unclear"),
    ],
)
def test_an_aim_is_clear_if_the_quartiles_lie_on_one_side_of_it(low, high, more, expected):
    assert verdict(Spread(low, (low + high) / 2, high), 2, more) == expected


def test_a_line_shows_medians_quartiles_and_the_verdict():
    figures = {"ours": [300, 310, 320, 330, 340], "peer": [100] * 5}
    assert line(ROW, figures) == (
        "| copy | copy a file | 320 (310 to 330) MB/s | cp: 100 | none "
        "| 3.2 (3.1 to 3.3) x peer | ≥ 2 x peer | met |"
    )


def test_a_failed_row_says_why_on_one_line_of_the_table():
    text = failed(ROW, "no such file:\na|b")
    assert text.endswith("failed: no such file: a/b |")
    assert text.count("|") == 9
