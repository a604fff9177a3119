"""Measurements of a trial: merged from a file that forgets, and the one that counts."""

import math

from hypothesis import given
from hypothesis import strategies as st

from local_gcp.vertex.tuning.trials import Measurement, merge, select_final

measurements = st.builds(Measurement, st.integers(0, 20), st.floats(0, 100), st.floats(-10, 10))


@given(st.lists(measurements), st.integers(1, 5))
def test_merge_reads_a_sliding_window_without_loss(reported, window):
    known = ()
    for end in range(1, len(reported) + 1):
        known = merge(known, reported[max(0, end - window) : end])
    assert known == tuple(sorted(set(reported)))


def test_merge_keeps_what_a_restarted_replica_does_not_report_again():
    before = (Measurement(1, 1.0, 0.5), Measurement(2, 2.0, 0.6))
    after_restart = [Measurement(2, 9.0, 0.6)]
    assert [m.step for m in merge(before, after_restart)] == [1, 2, 2]


def test_merge_ignores_what_cannot_be_compared():
    assert merge((), [Measurement(1, 1.0, math.nan), Measurement(2, 2.0, math.inf)]) == ()


@given(st.lists(measurements, min_size=1).map(lambda ms: merge((), ms)), st.booleans())
def test_the_final_measurement_is_the_last_or_the_best(ms, maximize):
    assert select_final(ms, best=False, maximize=maximize) == ms[-1]
    best = select_final(ms, best=True, maximize=maximize)
    values = [m.value for m in ms]
    assert best.value == (max(values) if maximize else min(values))
    assert best == next(m for m in ms if m.value == best.value)  # the earliest of equals


def test_without_measurements_there_is_no_final_one():
    assert select_final((), best=True, maximize=True) is None
