"""The threshold that decides between two classes, and how it is chosen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from trainer.metrics import decision
from trainer.metrics.decision import Threshold
from trellis_contracts.metrics import BY_DECISION

SCORE = {
    "accuracy": sklearn_metrics.accuracy_score,
    "balanced_accuracy": sklearn_metrics.balanced_accuracy_score,
    "f1": lambda labels, taken: sklearn_metrics.f1_score(labels, taken, average="macro"),
}


def pairs(scores):
    scores = np.asarray(scores, np.float32)
    return np.stack([1 - scores, scores], axis=1)


def test_the_metrics_are_those_that_depend_on_the_decision():
    assert set(BY_DECISION) == set(SCORE)


@settings(max_examples=50)
@given(
    # Both classes, as a validation split has them.
    scores=st.lists(st.floats(0, 1, width=32), min_size=2, max_size=12),
    metric=st.sampled_from(BY_DECISION),
    data=st.data(),
)
def test_no_threshold_is_better_on_the_examples_and_none_as_good_is_nearer_to_a_half(
    scores, metric, data
):
    n = len(scores)
    drawn = data.draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))
    labels = np.array([0, 1, *drawn])
    rows = pairs(scores)

    def value(threshold):
        return SCORE[metric](labels, decision.decide(rows, Threshold(threshold)))

    chosen = decision.best(metric, labels, rows).above
    assert 0 <= chosen <= 1
    assert np.float32(chosen) == chosen
    assert value(chosen) >= max(map(value, {0.5, 0.0, *rows[:, 1]})) - 1e-12
    if value(chosen) == pytest.approx(value(0.5), abs=1e-12):
        assert chosen == 0.5


def test_a_rare_class_gets_a_low_threshold_for_balanced_accuracy():
    rows = pairs([0.1, 0.1, 0.2, 0.2, 0.3, 0.4])
    assert decision.best("balanced_accuracy", np.array([0, 0, 0, 0, 1, 1]), rows) == Threshold(0.25)


def test_without_a_threshold_the_most_probable_class_is_decided():
    assert decision.decide(np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]]), None).tolist() == [1, 0]


@given(
    scores=st.lists(st.floats(0, 1, width=32), min_size=1),
    above=st.floats(0, 1, width=32),
    positive=st.integers(0, 1),
)
def test_the_order_of_the_classes_changes_nothing(scores, above, positive):
    rows, names = pairs(scores), ["benign", "malignant"]
    told = Threshold(above, positive).to_json(names)
    mirrored = names[::-1]
    assert told["class"] == names[positive]
    here = decision.decide(rows, Threshold.of(told, names))
    there = decision.decide(rows[:, ::-1], Threshold.of(told, mirrored))
    assert [names[i] for i in here] == [mirrored[i] for i in there]


@pytest.mark.parametrize(
    ("told", "classes"),
    [
        ({"class": "c", "above": 0.5}, ["a", "b"]),
        ({"class": "a", "above": 1.5}, ["a", "b"]),
        ({"class": "a", "above": 0.5}, ["a", "b", "c"]),
    ],
)
def test_what_is_no_threshold_between_these_classes_is_refused(told, classes):
    with pytest.raises(ValueError, match=f"a threshold of {told['above']} for '{told['class']}'"):
        Threshold.of(told, classes)
