"""The threshold that decides between two classes, and how it is chosen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import TunedThresholdClassifierCV

from trainer.metrics import decision
from trainer.metrics.decision import Threshold
from trellis_contracts.decision import Cost, Rule
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

    chosen = decision.choose(Rule(maximize=metric), labels, rows).above
    assert 0 <= chosen <= 1
    assert np.float32(chosen) == chosen
    assert value(chosen) >= max(map(value, {0.5, 0.0, *rows[:, 1]})) - 1e-12
    if value(chosen) == pytest.approx(value(0.5), abs=1e-12):
        assert chosen == 0.5


def test_a_rare_class_gets_a_low_threshold_for_balanced_accuracy():
    rows = pairs([0.1, 0.1, 0.2, 0.2, 0.3, 0.4])
    rule = Rule(maximize="balanced_accuracy")
    assert decision.choose(rule, np.array([0, 0, 0, 0, 1, 1]), rows) == Threshold(0.25)


LABELLED = st.lists(
    st.tuples(st.integers(0, 1), st.floats(0, 1, width=32)), min_size=2, max_size=14
).filter(lambda rows: len({label for label, _ in rows}) == 2)


def errors(labels, rows, above):
    """Missed examples and false alarms."""
    taken = decision.decide(rows, Threshold(above))
    return np.sum((labels == 1) & (taken == 0)), np.sum((labels == 0) & (taken == 1))


def every_decision(rows):
    return {0.5, 0.0, 1.0, *rows[:, 1].tolist()}


@given(LABELLED, st.floats(0.1, 50), st.floats(0.1, 50))
def test_no_threshold_costs_less_on_the_examples(labelled, missed, false_alarm):
    labels = np.array([label for label, _ in labelled])
    rows = pairs([score for _, score in labelled])
    cost = Cost(missed, false_alarm)

    def spent(above):
        return np.dot(errors(labels, rows, above), (missed, false_alarm))

    chosen = decision.choose(Rule(cost=cost), labels, rows).above
    assert spent(chosen) <= min(map(spent, every_decision(rows))) + 1e-9
    # Where all thresholds decide alike, what would cost least if the probabilities were right.
    if spent(np.float32(cost.above)) <= spent(chosen):
        assert chosen == np.float32(cost.above)


@given(LABELLED, st.floats(0.05, 0.95))
def test_no_threshold_of_that_sensitivity_is_more_specific(labelled, least):
    labels = np.array([label for label, _ in labelled])
    rows = pairs([score for _, score in labelled])
    positives = (labels == 1).sum()

    def reaches(above):
        return positives - errors(labels, rows, above)[0] >= least * positives - 1e-9

    chosen = decision.choose(Rule(sensitivity=least), labels, rows).above
    if not reaches(0.0):
        assert errors(labels, rows, chosen)[0] == errors(labels, rows, 0.0)[0]
        return
    assert reaches(chosen)
    alarms = [errors(labels, rows, above)[1] for above in every_decision(rows) if reaches(above)]
    assert errors(labels, rows, chosen)[1] <= min(alarms)


def test_the_threshold_of_right_probabilities_is_that_of_the_costs():
    """With 100,000 examples of known probabilities, what costs least is what theory says."""
    random = np.random.default_rng(0)
    scores = random.random(100_000).astype(np.float32)
    labels = (random.random(100_000) < scores).astype(int)
    for cost in (Cost(10, 1), Cost(1, 1), Cost(1, 4)):
        chosen = decision.choose(Rule(cost=cost), labels, pairs(scores)).above
        assert chosen == pytest.approx(cost.above, abs=0.03)


def test_scikit_learn_tunes_the_threshold_alike():
    random = np.random.default_rng(1)
    scores = random.random(400).astype(np.float32)
    labels = (random.random(400) < scores**2).astype(int)
    cost = Cost(5, 1)

    def gain(labels, taken):
        missed, alarms = (labels == 1) & (taken == 0), (labels == 0) & (taken == 1)
        return -(cost.missed * missed.sum() + cost.false_alarm * alarms.sum())

    tuned = TunedThresholdClassifierCV(
        FrozenEstimator(Given()),
        scoring=sklearn_metrics.make_scorer(gain),
        thresholds=np.unique(scores) - 1e-6,
        cv="prefit",
        refit=False,
    ).fit(scores[:, None], labels)
    ours = decision.choose(Rule(cost=cost), labels, pairs(scores))
    decided = decision.decide(pairs(scores), ours)
    assert gain(labels, decided) == pytest.approx(tuned.best_score_)


class Given(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose only feature is the probability."""

    classes_ = np.array([0, 1])

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, x, y):
        return self

    def predict(self, x):
        return x[:, 0] > 0.5

    def predict_proba(self, x):
        return pairs(x[:, 0])


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
