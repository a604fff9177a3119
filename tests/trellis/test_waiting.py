"""Short waits stay in the task, and triggers begin with a pause."""

import asyncio
import logging
import time

import pytest
from airflow.configuration import conf

from trellis import waiting

LOG = logging.getLogger(__name__)
# The other tests have no pause.
FIRST_POLL_SECONDS = waiting.FIRST_POLL_SECONDS


def looks(*answers):
    """A function that gives these answers one after the other; an exception is raised."""
    remaining = list(answers)

    def look():
        answer = remaining.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    look.remaining = remaining
    return look


def in_trigger(look, poll_interval=0.01):
    async def patient():
        return look()

    return asyncio.run(waiting.in_trigger(patient, "the job", poll_interval, LOG))


@pytest.fixture
def moment(monkeypatch):
    monkeypatch.setattr(waiting, "IN_TASK_SECONDS", 2.0)


@pytest.mark.usefixtures("moment")
def test_what_ends_soon_is_waited_for_in_the_task():
    assert waiting.in_task(looks(None, None, "done")) == "done"


@pytest.mark.usefixtures("moment")
def test_what_takes_longer_is_left_to_the_trigger():
    began = time.monotonic()
    assert waiting.in_task(lambda: None) is None
    assert time.monotonic() - began < 2.5


@pytest.mark.usefixtures("moment")
def test_a_look_that_fails_leaves_the_wait_to_the_trigger():
    look = looks(None, ConnectionError("reset"), "never asked for")
    assert waiting.in_task(look) is None
    assert look.remaining == ["never asked for"]


def test_a_trigger_fires_no_sooner_than_the_scheduler_has_read_its_events(monkeypatch):
    monkeypatch.setattr(waiting, "FIRST_POLL_SECONDS", 0.5)
    began = time.monotonic()
    assert in_trigger(looks("done")) == "done"
    assert time.monotonic() - began >= 0.5


def test_the_pause_outlasts_the_interval_at_which_airflow_looks_for_the_end_of_a_process():
    assert conf.getfloat("workers", "min_heartbeat_interval") + 2 < FIRST_POLL_SECONDS


def test_a_long_poll_interval_is_pause_enough(monkeypatch):
    monkeypatch.setattr(waiting, "FIRST_POLL_SECONDS", 0.1)
    began = time.monotonic()
    assert in_trigger(looks("done"), poll_interval=0.4) == "done"
    assert 0.4 <= time.monotonic() - began < 0.9


def test_a_trigger_outlasts_failures():
    assert in_trigger(looks(OSError("down"), None, OSError("down"), "done")) == "done"
