"""Scores over time, as coordinates."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trellis.results.made import a_board, a_contender, a_run
from trellis.web.charts import HEIGHT, MOST, WIDTH, _ticks, history


def test_without_a_result_there_is_nothing_to_draw(digits):
    assert history([a_run(digits)]) is None


def test_only_runs_of_the_same_metric_are_compared(digits):
    other = a_board()
    other["primary_metric"] = "log_loss"
    drawn = history([a_run(digits, "new", a_board()), a_run(digits, "old", other)])
    assert (drawn.metric, len(drawn.points), drawn.left_out) == ("accuracy", 1, 1)


def test_of_many_runs_the_newest_are_drawn(digits):
    runs = [a_run(digits, f"r{n}", a_board()) for n in range(MOST + 5)]
    drawn = history(runs)
    assert (len(drawn.points), drawn.left_out) == (MOST, 5)
    assert drawn.points[-1].label.startswith("r0:")


numbers = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: round(x, 6))


@settings(deadline=None)
@given(st.lists(st.tuples(numbers, st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=20))
def test_every_interval_is_within_the_drawing(digits, scores):
    boards = [a_board(a_contender("training/1", v, v - a, v + b)) for v, a, b in scores]
    drawn = history([a_run(digits, f"r{n}", board) for n, board in enumerate(boards)])
    for point in drawn.points:
        assert 0 < point.x < WIDTH
        assert 0 <= point.high <= point.y <= point.low <= HEIGHT


@given(numbers, st.floats(0, 1e6))
def test_ticks_are_few_and_enclose_the_values(low, span):
    ticks = _ticks(low, low + span)
    slack = (ticks[1] - ticks[0]) * 1e-6
    assert 2 <= len(ticks) <= 8
    assert ticks[0] - slack <= low
    assert low + span <= ticks[-1] + slack
