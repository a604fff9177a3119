"""Scores over time, and learning curves on common axes."""

import re
import sys
import xml.etree.ElementTree as ET

import pytest

from tests.trellis.results.made import a_board, a_contender, a_deployment, a_prediction, a_run
from trellis.results import Index
from trellis.results.curves import Curve, Curves
from trellis.results.history import predicted
from trellis.web.charts import HEIGHT, MOST, WIDTH, drawn, history, learning, performance
from trellis_contracts.charts import PALETTE

pytestmark = pytest.mark.one_airflow


def rows(figure):
    return figure["data"]["values"]


def test_without_a_result_there_is_nothing_to_draw(digits):
    assert history([a_run(digits)]) is None


def test_only_runs_of_the_same_metric_are_compared(digits):
    other = a_board()
    other["primary_metric"] = "log_loss"
    found = history([a_run(digits, "new", a_board()), a_run(digits, "old", other)])
    assert (found.metric, len(rows(found.figure)), found.left_out) == ("accuracy", 1, 1)


def test_what_is_served_is_drawn_with_its_own_score(digits):
    """Also where a baseline wins; the winner is no filled point then."""
    baseline = a_contender("baselines/bqml", 0.97, 0.95, 0.98)
    training = a_contender("training/1", 0.9, 0.85, 0.94, selected=True)
    beaten = a_run(digits, "r1", a_board(baseline, training), a_deployment())
    winning = a_run(digits, "r2", a_board(training), a_deployment())
    found = history([winning, beaten])
    assert len({row["run"] for row in rows(found.figure)}) == 2
    points = rows(found.figure)
    assert [(p["served"], p["label"].split(" ")[1]) for p in points] == [
        (False, "baselines/bqml"),
        (True, "training/1"),
        (True, "training/1"),
    ]
    assert [(p["place"], p["value"]) for p in points] == [(1, 0.97), (1, 0.9), (2, 0.9)]


def test_of_many_runs_the_newest_are_drawn(digits):
    runs = [a_run(digits, f"r{n}", a_board()) for n in range(MOST + 5)]
    found = history(runs)
    assert (len(rows(found.figure)), found.left_out) == (MOST, 5)
    assert rows(found.figure)[-1]["run"] == "r0"


def test_a_few_runs_make_a_figure_that_a_narrow_screen_has_whole(digits):
    few, many = ([a_run(digits, f"r{n}", a_board()) for n in range(count)] for count in (2, 50))
    svg = ET.fromstring(drawn(history(few).figure))
    assert float(svg.get("width")) <= 400 - 24  # the page's margins
    assert history(many).figure["width"] == WIDTH


def test_a_line_marks_each_change_of_the_dataset(digits):
    runs = [a_run(digits, f"r{n}", a_board()) for n in range(3)]
    assert history(runs).changes == 0
    runs[1] = runs[1].model_copy(update={"dataset": "beef"})
    assert history(runs).changes == 2


@pytest.mark.parametrize(
    "scores",
    [
        [(0.9, 0.8, 0.95)],
        [(0.9, 0.9, 0.9)] * 2,
        [(1e-9, 0, 1e-8), (1e6, 0, 2e6)],
        [(-3, -4, -2)],
        # An interval need not enclose the value that it belongs to.
        [(0.5, 0.6, 0.7)],
    ],
)
def test_every_point_and_interval_is_within_the_drawing(digits, scores):
    boards = [a_board(a_contender("training/1", *score)) for score in scores]
    found = history([a_run(digits, f"r{n}", board) for n, board in enumerate(boards)])
    svg = ET.fromstring(drawn(found.figure))
    points = [e for e in svg.iter("path") if (e.get("d") or "").count("A") >= 2]
    assert len(points) == len(scores)
    for point in points:
        x, y = map(float, re.findall(r"-?[\d.]+", point.get("transform")))
        assert x > 0
        assert 0 <= y <= HEIGHT


def test_learning_curves_share_their_axes():
    short = Curve("training/1", ((1, 0.5), (2, 0.9)), best=2)
    long = Curve("training/2", ((1, 0.5), (2, 0.6), (3, 0.7)), best=3)
    figure = learning(Curves("accuracy", (short, None, long)))
    names = list(dict.fromkeys(row["run"] for row in rows(figure)))
    assert names[0] == "run 1, training/1: 0.9 in epoch 2, which was kept"
    assert names[1].startswith("run 3, training/2: 0.7 ")
    lines, circles = figure["layer"]
    assert lines["encoding"]["x"]["scale"]["domain"] == [1, 3]
    assert [(row["epoch"], row["value"]) for row in circles["data"]["values"]] == [
        (2, 0.9),
        (3, 0.7),
    ]
    # The third run has the third colour, whoever has no curve.
    assert lines["encoding"]["color"]["scale"]["range"][1] == PALETTE[2]


def test_a_training_whose_kept_epoch_has_no_value_is_drawn_without_a_mark():
    figure = learning(Curves("loss", (Curve("training/1", ((1, 0.5),), best=2),)))
    assert [row["run"] for row in rows(figure)] == ["run 1, training/1"]
    assert "<svg" in drawn(figure)


def test_without_the_program_that_draws_the_page_says_what_it_lacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    figure = learning(Curves("loss", (Curve("training/1", ((1, 0.5),), best=1),)))
    assert "vl-convert-python" in drawn(figure)


def test_the_score_on_later_labels_is_drawn_beside_that_at_promotion(digits):
    run = a_run(digits, "r", a_board(), a_deployment(), bucket="b")
    older = a_prediction(score=(0.95, 0.9, 0.98))
    newer = a_prediction("next", score=(0.8, 0.75, 0.85), at="2026-01-03T00:00:00+00:00")
    index = Index.of((run,), (), (), "", (older, newer, a_prediction("unlabelled")))
    figure = performance(predicted(index))
    points = [(round(row["place"]), row["served"], row["value"]) for row in rows(figure)]
    at_promotion = run.result.selected.value
    assert points == [
        (1, True, 0.95),
        (1, False, at_promotion),
        (2, True, 0.8),
        (2, False, at_promotion),
    ]
    assert run.result.title in drawn(figure)
    assert performance(predicted(Index())) is None
