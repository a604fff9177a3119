"""The winner's section: what it confuses, and where it is surely wrong."""

import numpy as np
import pytest

from trainer.comparison.held_out_split import HeldOutSplit
from trainer.metrics.decision import Threshold
from trainer.metrics.outcome import Outcome
from trainer.report.contenders import ContenderStyle
from trainer.report.mistakes import mistake_section

CLASSES = ("cat", "dog", "owl")
TRUE = [0, 0, 0, 1, 1, 1]
PREDICTED = [0, 1, 1, 1, 0, 1]  # nothing of owl, neither true nor predicted
CONFIDENCE = [0.9, 0.6, 0.8, 0.9, 0.7, 0.5]


@pytest.fixture
def section():
    probabilities = np.full((6, 3), 0.0)
    for row, (predicted, confidence) in enumerate(zip(PREDICTED, CONFIDENCE, strict=True)):
        probabilities[row] = (1 - confidence) / 2
        probabilities[row, predicted] = confidence
    keys = np.array(list("abcdef"), dtype=object)
    split = HeldOutSplit(keys, np.array(TRUE), CLASSES, records=())
    outcomes = {"training/1": Outcome(np.array(TRUE), probabilities)}
    return mistake_section(outcomes, [ContenderStyle("training/1", "s1", True)], split, features=[])


def test_mistakes_stand_with_the_most_confident_first(section):
    assert [(e.key, e.true, e.predicted) for e in section.examples] == [
        ("c", "cat", "dog"),
        ("e", "dog", "cat"),
        ("b", "cat", "dog"),
    ]
    assert section.examples[0].confidence == 0.8
    assert section.examples[0].true_probability == pytest.approx(0.1)
    assert section.errors == 3


def test_the_most_frequent_confusion_stands_first(section):
    assert [(c.true, c.predicted, c.count) for c in section.confusions] == [
        ("cat", "dog", 2),
        ("dog", "cat", 1),
    ]


def test_scores_by_class_are_undefined_where_nothing_is_there(section):
    cat, dog, owl = section.classes
    assert (cat.precision, cat.recall, cat.confused_with) == (0.5, pytest.approx(1 / 3), "dog (2)")
    assert (dog.precision, dog.recall) == (0.5, pytest.approx(2 / 3))
    assert (owl.examples, owl.predicted, owl.precision, owl.recall) == (0, 0, None, None)


def test_cells_hold_counts_and_shares_of_the_true_class(section):
    rows = section.matrix.figure["data"]["values"]
    cells = {(row["true"], row["predicted"]): (row["count"], row["share"]) for row in rows}
    assert cells == {
        ("cat", "cat"): (1, 0.3333),
        ("cat", "dog"): (2, 0.6667),
        ("dog", "cat"): (1, 0.3333),
        ("dog", "dog"): (2, 0.6667),
    }


def test_with_a_threshold_mistakes_have_the_probability_of_what_is_predicted():
    shares = np.array([0.05, 0.3, 0.2, 0.9, 0.15])
    true = np.array([0, 0, 1, 1, 1])
    outcome = Outcome(true, np.stack([1 - shares, shares], 1), threshold=Threshold(0.25))
    split = HeldOutSplit(np.array(list("abcde"), dtype=object), true, ("no", "yes"), records=())
    styles = [ContenderStyle("training/1", "s1", True)]
    section = mistake_section({"training/1": outcome}, styles, split, features=[])
    found = [(e.key, e.predicted, round(e.confidence, 2)) for e in section.examples]
    assert found == [("e", "no", 0.85), ("c", "no", 0.8), ("b", "yes", 0.3)]
    assert section.threshold == "yes above 0.25"
