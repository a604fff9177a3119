"""Net benefit by counting, and against what a model of no skill and a perfect one have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.metrics import net_benefit

AT = np.array([0.05, 0.2, 0.5, 0.8])


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=30),
    st.floats(0.01, 0.99),
)
def test_it_counts_true_and_false_positives(rows, at):
    positive = np.array([label for label, _ in rows])
    scores = np.array([score for _, score in rows])
    hits, alarms = ((of & (scores > at)).sum() for of in (positive, ~positive))
    expected = (hits - alarms * at / (1 - at)) / len(rows)
    (found,) = net_benefit.net_benefit(positive, scores, np.array([at]))
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_perfect_model_has_the_share_of_the_positives_and_all_positive_is_a_model():
    positive = np.arange(100) < 30
    np.testing.assert_allclose(net_benefit.net_benefit(positive, positive * 1.0, AT), 0.3)
    everyone = net_benefit.net_benefit(positive, np.ones(100), AT)
    np.testing.assert_allclose(everyone, net_benefit.of_all(positive, AT))
    # At the share of the positives, it is as good to treat all as none.
    np.testing.assert_allclose(net_benefit.of_all(positive, np.array([0.3])), 0, atol=1e-12)


def test_right_probabilities_are_never_worse_than_all_or_none():
    random = np.random.default_rng(0)
    scores = random.beta(1, 3, 50_000)
    positive = random.random(50_000) < scores
    model = net_benefit.net_benefit(positive, scores, AT)
    assert (model > np.maximum(net_benefit.of_all(positive, AT), 0) - 0.005).all()
