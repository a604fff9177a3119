"""Scores over time, as coordinates."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trellis.results.made import a_board, a_contender, a_deployment, a_run
from trellis.results.curves import Curve, Curves
from trellis.web.charts import HEIGHT, MOST, WIDTH, _ticks, history, learning


def test_without_a_result_there_is_nothing_to_draw(digits):
    assert history([a_run(digits)]) is None


def test_only_runs_of_the_same_metric_are_compared(digits):
    other = a_board()
    other["primary_metric"] = "log_loss"
    drawn = history([a_run(digits, "new", a_board()), a_run(digits, "old", other)])
    assert (drawn.metric, len(drawn.points), drawn.left_out) == ("accuracy", 1, 1)


def test_what_is_served_is_drawn_with_its_own_score(digits):
    """Also where a baseline wins; the winner is no filled point then."""
    baseline = a_contender("baselines/bqml", 0.97, 0.95, 0.98)
    training = a_contender("training/1", 0.9, 0.85, 0.94, selected=True)
    beaten = a_run(digits, "r1", a_board(baseline, training), a_deployment())
    winning = a_run(digits, "r2", a_board(training), a_deployment())
    drawn = history([winning, beaten])
    assert drawn.runs == 2
    assert [(p.served, p.label.split(" ")[1]) for p in drawn.points] == [
        (False, "baselines/bqml"),
        (True, "training/1"),
        (True, "training/1"),
    ]
    assert drawn.points[0].x == drawn.points[1].x
    assert drawn.points[0].y < drawn.points[1].y == drawn.points[2].y


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


def test_learning_curves_share_their_axes():
    short = Curve("training/1", ((1, 0.5), (2, 0.9)), best=2)
    long = Curve("training/2", ((1, 0.5), (2, 0.6), (3, 0.7)), best=3)
    drawn = learning(Curves("accuracy", (short, None, long)))
    assert [line.place for line in drawn.lines] == [1, 3]
    one, other = (line.points.split() for line in drawn.lines)
    assert one[0] == other[0]
    assert one[1].split(",")[0] == other[1].split(",")[0]
    assert f"{drawn.lines[1].best[0]},{drawn.lines[1].best[1]}" == other[-1]
    assert drawn.lines[0].label == "run 1, training/1: 0.9 in epoch 2, which was kept"
    assert drawn.epochs == 3


@given(st.lists(st.lists(numbers, min_size=1, max_size=5), min_size=1, max_size=8))
def test_every_learning_curve_is_within_the_drawing(values):
    curves = tuple(Curve("t", tuple(enumerate(one, 1)), best=1) for one in values)
    for line in learning(Curves("loss", curves)).lines:
        for point in line.points.split():
            x, y = map(float, point.split(","))
            assert 0 < x < WIDTH
            assert 0 <= y <= HEIGHT
