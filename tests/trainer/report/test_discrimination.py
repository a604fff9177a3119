"""ROC curves run from corner to corner, and their close-up is the same curve."""

import itertools

import numpy as np
import pytest

from trainer.comparison.run_folder import Contender
from trainer.metrics.outcome import Outcome
from trainer.report.contenders import contender_styles
from trainer.report.discrimination import _within, roc_section
from trainer.report.reliability import reliability_section


def named(names):
    return [Contender(name, "training", f"gs://b/runs/r/{name}/") for name in names]


def section(classes, *skills, classifier, n=400):
    labels = np.random.default_rng(0).integers(0, classes, n)
    outcomes = {
        f"training/{i}": Outcome(labels, classifier(labels, classes, skill=skill, seed=i))
        for i, skill in enumerate(skills, start=1)
    }
    shown = contender_styles(named(outcomes), list(outcomes))
    names = [f"class {i}" for i in range(classes)]
    return roc_section(outcomes, shown, names), reliability_section(outcomes, shown, names)


def curves(figure):
    """Points of each curve by its name, in the order in which they are drawn."""
    found = {}
    for row in figure["data"]["values"]:
        found.setdefault(row["curve"], []).append((row["x"], row["y"]))
    return found


@pytest.mark.parametrize("classes", [2, 5, 30])
def test_every_contender_has_a_curve_from_corner_to_corner(classifier, classes):
    roc, _ = section(classes, 3, 1, classifier=classifier)
    drawn = curves(roc.figures["roc"])
    assert list(drawn) == ["training/2", "training/1"]  # the winner over the others
    for points in drawn.values():
        assert (points[0], points[-1]) == ((0, 0), (1, 1))
        assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in itertools.pairwise(points))


def test_of_few_classes_the_winners_are_drawn_apart(classifier):
    roc, _ = section(5, 3, classifier=classifier)
    assert list(curves(roc.figures["roc_by_class"])) == [f"class {i}" for i in range(5)]


def test_of_two_classes_a_good_contenders_corner_is_enlarged(classifier):
    assert "roc_corner" in section(2, 3, classifier=classifier)[0].figures
    assert "roc_corner" not in section(2, 0, classifier=classifier)[0].figures


def test_the_corner_holds_the_same_curve():
    xs, ys = np.array([0.0, 0.0, 0.1, 0.5, 1.0]), np.array([0.0, 0.6, 0.9, 0.95, 1.0])
    inside_x, inside_y = _within(xs, ys, 0.25)
    assert inside_y == pytest.approx(np.interp(inside_x, xs, ys))
    assert (inside_x[0], inside_y[0]) == pytest.approx((0.05, 0.75))
    assert inside_x[-1] == 0.25
    assert _within(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 0.25)[0].size == 0


def test_one_class_alone_has_no_curve():
    outcome = Outcome(np.zeros(5, int), np.tile([0.9, 0.1], (5, 1)))
    shown = contender_styles(named(["a"]), ["a"])
    assert roc_section({"a": outcome}, shown, ["no", "yes"]) is None


def test_the_curve_before_calibration_is_beside_the_one_after(classifier):
    labels = np.random.default_rng(0).integers(0, 2, 400)
    before = Outcome(labels, classifier(labels, 2, skill=1, seed=1, confidence=5))
    after = Outcome(labels, classifier(labels, 2, skill=1, seed=1))
    styles = contender_styles(named("ab"), ["a", "b"])
    found = reliability_section({"a": after, "b": after}, styles, ("x", "y"), {"a": before})
    assert found.calibrated
    layers = {name: len(figure["layer"]) for name, figure in found.figures.items()}
    assert layers["calibration/a"] > layers["calibration/b"]
    assert not reliability_section({"b": after}, styles[1:], ("x", "y")).calibrated


def test_calibration_of_two_classes_is_that_of_the_second(classifier):
    _, reliability = section(2, 2, classifier=classifier)
    (chart,) = reliability.figures.values()
    assert reliability.positive == "class 1"
    rows = chart["data"]["values"]
    assert 0 < len(rows) <= 10
    assert sum(row["examples"] for row in rows) == 400
    for row in rows:
        assert row["low"] <= row["observed"] <= row["high"]
        assert row["from"] < row["predicted"] < row["to"]


def test_the_seventh_contender_has_the_first_colour_dashed():
    names = [f"training/{i}" for i in range(1, 9)]
    styles = [style.style for style in contender_styles(named(names), names)]
    assert styles == ["s1", "s2", "s3", "s4", "s5", "s6", "s1 again", "s2 again"]


def test_the_served_model_is_black_and_takes_no_colour_from_the_others():
    served = Contender("served", "served", "gs://b/runs/r/served/")
    shown = contender_styles([*named(["training/1"]), served], ["served", "training/1"])
    assert [(style.style, style.winner) for style in shown] == [("served", True), ("s1", False)]
