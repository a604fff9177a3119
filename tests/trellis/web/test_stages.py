"""What each stage of a run is doing, and how long it still takes."""

from datetime import UTC, datetime, timedelta

import pytest

from trellis.web.stages import Span, stages

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def span(task, start=None, end=None, state="success"):
    """start, end: seconds since the run began."""
    at = [None if s is None else BEGAN + timedelta(seconds=s) for s in (start, end)]
    return Span(task, state, *at)


def usual(train):
    """An earlier run: plan 10 s, tune 100 s, train, then two baselines in one group."""
    return [
        span("plan", 0, 10),
        span("tune", 10, 110),
        span("train", 110, 110 + train),
        span("bqml.fit", 10, 40),
        span("bqml.predict", 40, 60),
        span("compare", 110 + train, 140 + train),
    ]


def test_what_is_left_by_earlier_runs():
    own = [
        span("compare", state=None),
        span("train", state=None),
        span("tune", 12, state="deferred"),
        span("bqml.fit", 12, 40),
        span("bqml.predict", state=None),
        span("plan", 0, 12),
    ]
    found = stages(own, [usual(50), usual(70), usual(60)], BEGAN + timedelta(seconds=52))
    assert [(s.name, s.state, s.seconds, s.usual, s.left) for s in found.stages] == [
        ("plan", "done", 12, 10, None),
        ("bqml", "running", 40, 50, 10),
        ("tune", "running", 40, 100, 60),
        ("train", "waiting", None, 60, None),
        ("compare", "waiting", None, 30, None),
    ]
    # tune takes 60 s on; after its end the earlier runs took 80, 90 and 100 s.
    assert (found.left, found.at_least, found.earlier) == (60 + 90, False, 3)


def test_of_a_stage_that_takes_longer_than_usually_only_what_comes_after_it_is_known():
    found = stages([span("plan", 0, state="running")], [usual(50)], BEGAN + timedelta(seconds=99))
    assert found.stages[0].left == 0
    assert (found.left, found.at_least) == (10 + 100 + 50 + 30 - 10, True)


def test_how_long_a_person_takes_is_not_told():
    own = [span("plan", 0, 10), span("approve", 10, state="awaiting_input")]
    earlier = [span("plan", 0, 10), span("approve", 10, 4000)]
    found = stages(own, [earlier], BEGAN + timedelta(seconds=70))
    asks = found.stages[1]
    assert (asks.state, asks.seconds, asks.left) == ("waits for a person", 60, None)
    assert found.left is None


def test_a_stage_beside_it_may_decide_what_is_left():
    """bqml takes longer than usually, but tune's end is later."""
    own = [span("tune", 50, state="running"), span("bqml.fit", 0, state="running")]
    found = stages(own, [usual(50)], BEGAN + timedelta(seconds=60))
    assert [stage.left for stage in found.stages] == [0, 90]
    assert (found.left, found.at_least) == (90 + 80, False)


def test_a_first_run_says_what_it_does_and_nothing_of_what_is_left():
    found = stages([span("plan", 0, state="running")], [], BEGAN + timedelta(seconds=9))
    assert (found.stages[0].state, found.stages[0].seconds, found.left) == ("running", 9, None)
    assert found.stages[0].usual is None


@pytest.mark.parametrize(
    ("states", "state"),
    [
        (["success", "skipped"], "done"),
        (["skipped", "skipped"], "skipped"),
        (["success", "failed"], "failed"),
        (["upstream_failed", None], "failed"),
        (["success", None], "running"),
        ([None, None], "waiting"),
        (["queued"], "running"),
    ],
)
def test_the_state_of_a_group_of_tasks(states, state):
    own = [span(f"deploy.{i}", 0, 1, state=each) for i, each in enumerate(states)]
    assert stages(own, [], BEGAN).stages[0].state == state
