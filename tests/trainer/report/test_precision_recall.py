"""Precision-recall curves: the area is the average precision, the dashed line is chance."""

import numpy as np
import pytest
from sklearn import metrics

from trainer.comparison.run_folder import Contender
from trainer.metrics.outcome import Outcome
from trainer.report.contenders import contender_styles
from trainer.report.precision_recall import _curve, precision_recall_section


def made(classes, labels, classifier):
    outcome = Outcome(labels, classifier(labels, classes, skill=1, seed=1))
    contenders = [Contender("training/1", "training", "gs://b/runs/r/training/1/")]
    styles = contender_styles(contenders, ["training/1"])
    names = [f"class {i}" for i in range(classes)]
    return outcome, precision_recall_section({"training/1": outcome}, styles, names)


def test_of_two_classes_the_area_is_the_positive_classs_average_precision(classifier):
    labels = np.repeat([0, 1], [380, 20])
    outcome, section = made(2, labels, classifier)
    recall, precision = _curve(outcome)
    expected = metrics.average_precision_score(labels, outcome.probabilities[:, 1])
    assert np.trapezoid(precision, recall) == pytest.approx(expected)
    assert (recall[0], recall[-1]) == (0, 1)
    assert section.positive == "class 1"
    assert section.chance == pytest.approx(20 / 400)
    assert list(section.figures) == ["precision_recall"]
    assert f"area {expected:.4f}" in section.figures["precision_recall"]["description"]


def test_of_many_classes_precision_is_averaged_at_each_recall(classifier):
    labels = np.repeat(np.arange(4), [200, 100, 60, 40])
    outcome, section = made(4, labels, classifier)
    recall, precision = _curve(outcome)
    macro = metrics.average_precision_score(np.eye(4)[labels], outcome.probabilities)
    assert np.mean(precision) == pytest.approx(macro, abs=0.02)
    assert section.chance == pytest.approx(0.25)
    rows = section.figures["precision_recall_by_class"]["data"]["values"]
    assert list(dict.fromkeys(row["curve"] for row in rows)) == [f"class {i}" for i in range(4)]
    assert len(recall) == len(precision)


def test_one_class_alone_has_no_curve(classifier):
    outcome = Outcome(np.zeros(5, int), np.tile([0.9, 0.1], (5, 1)))
    contenders = [Contender("a", "training", "gs://b/runs/r/a/")]
    styles = contender_styles(contenders, ["a"])
    assert precision_recall_section({"a": outcome}, styles, ["no", "yes"]) is None
