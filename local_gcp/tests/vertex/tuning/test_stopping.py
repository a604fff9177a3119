"""Early stopping of trials against a direct numpy reading of the rule; conditions of a study."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_gcp.vertex.tuning.stopping import MedianStopping, StudyStopping, TimeConstraint
from local_gcp.vertex.tuning.trials import Measurement, State, Trial, merge

curves = st.lists(
    st.builds(Measurement, st.integers(1, 3), st.integers(1, 3).map(float), st.integers(-1, 1)),
    max_size=4,
).map(lambda ms: merge((), ms))


def trial(number, curve, state=State.SUCCEEDED, end=None):
    curve = tuple(curve)
    final = curve[-1] if curve and state is State.SUCCEEDED else None
    return Trial(str(number), {}, state, curve, final, start=0.0, end=end)


@given(
    curves,
    st.lists(st.tuples(curves, st.sampled_from(State)), max_size=5),
    st.booleans(),
    st.booleans(),
)
def test_median_rule_is_what_the_documentation_says(curve, others, elapsed, maximize):
    rule = MedianStopping(use_elapsed_duration=elapsed)
    pending = trial(1, curve, State.ACTIVE)
    trials = [trial(i, c, state) for i, (c, state) in enumerate(others, 2)]

    stop = rule.should_stop(pending, trials, maximize=maximize)

    axis = [m.elapsed if elapsed else m.step for m in curve]
    means = []
    for other, state in others:
        positions = np.array([m.elapsed if elapsed else m.step for m in other])
        values = np.array([m.value for m in other], dtype=float)
        if state is State.SUCCEEDED and curve and (positions <= axis[-1]).any():
            means.append(values[positions <= axis[-1]].mean())
    if not curve or not means:
        assert stop is False
    elif maximize:
        assert stop == (max(m.value for m in curve) < np.median(means))
    else:
        assert stop == (min(m.value for m in curve) > np.median(means))


def line(*values):
    """One measurement for each step, a second apart."""
    return [Measurement(step, float(step), value) for step, value in enumerate(values, 1)]


@pytest.mark.parametrize(
    ("pending", "completed", "stops"),
    [
        (line(0.4), [line(0.5)], True),
        (line(0.5), [line(0.5)], False),  # strictly below the median
        (line(0.4, 0.5), [line(0.5)], False),  # the best value counts, not the last
        (line(0.4), [line(0.3, 0.9)], False),  # only what was reported up to the same step
        (line(0.1, 0.5), [line(0.3, 0.9)], True),  # the running average: 0.6
        (line(0.4), [line(0.1), line(0.5), line(0.5)], True),
        (line(0.4), [line(0.1), line(0.6)], False),  # between two: their mean, 0.35
        (line(), [line(0.5)], False),
        (line(0.4), [], False),
    ],
)
def test_the_median_rule_by_example(pending, completed, stops):
    trials = [trial(i, curve) for i, curve in enumerate(completed, 2)]
    pending = trial(1, pending, State.ACTIVE)
    assert MedianStopping().should_stop(pending, trials, maximize=True) == stops


def reason(rule, trials, now=100.0, maximize=True):
    return rule.reason(trials, created=0.0, now=now, maximize=maximize)


def finished(*values):
    return [
        trial(i, [Measurement(1, 1.0, value)], end=10.0 * i) for i, value in enumerate(values, 1)
    ]


@pytest.mark.parametrize(
    ("rule", "values", "now", "expected"),
    [
        (StudyStopping(), (1, 1, 1), 1e9, None),
        (StudyStopping(max_trials=3), (1, 1), 100, None),
        (StudyStopping(max_trials=3), (1, 1, 1), 100, "max_num_trials"),
        (StudyStopping(maximum_runtime=TimeConstraint(100)), (), 99, None),
        (
            StudyStopping(maximum_runtime=TimeConstraint(100)),
            (),
            100,
            "maximum_runtime_constraint",
        ),
        (
            StudyStopping(maximum_runtime=TimeConstraint(end=50)),
            (),
            50,
            "maximum_runtime_constraint",
        ),
        # The minima hold every other condition back.
        (StudyStopping(max_trials=1, min_trials=2), (1,), 100, None),
        (StudyStopping(max_trials=1, min_trials=2), (1, 1), 100, "max_num_trials"),
        (StudyStopping(max_trials=1, minimum_runtime=TimeConstraint(100)), (1,), 99, None),
        # No progress: equal values are none.
        (StudyStopping(max_trials_no_progress=2), (1, 3, 2), 100, None),
        (StudyStopping(max_trials_no_progress=2), (1, 3, 2, 3), 100, "max_num_trials_no_progress"),
        (StudyStopping(max_trials_no_progress=2), (1, 3, 2, 4), 100, None),
        (StudyStopping(max_duration_no_progress=30), (1, 3, 2), 49, None),
        (StudyStopping(max_duration_no_progress=30), (1, 3, 2), 50, "max_duration_no_progress"),
        (StudyStopping(max_duration_no_progress=30), (), 1e9, None),
    ],
)
def test_conditions_that_end_a_study(rule, values, now, expected):
    assert reason(rule, finished(*values), now) == expected


def test_progress_follows_the_goal():
    trials = finished(3, 2, 4)
    rule = StudyStopping(max_trials_no_progress=2)
    assert reason(rule, trials, maximize=True) is None
    assert reason(rule, finished(3, 4, 5), maximize=False) == "max_num_trials_no_progress"
