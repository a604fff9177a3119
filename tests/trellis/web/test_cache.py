"""Indexes are read once in a while, and nobody waits for it."""

import threading

import pytest

from trellis.results import Index
from trellis.web.access import Place
from trellis.web.cache import FRESH_SECONDS, OLDEST_SECONDS, IndexCache

PLACE = Place("bucket", "google_cloud_default")


class Times:
    """A cache whose reads are numbered, and whose clock and background stand still."""

    def __init__(self):
        self.now, self.reads, self.waiting, self.broken = 1000.0, 0, [], False
        self.cache = IndexCache(self.read, lambda: self.now, self.waiting.append)

    def read(self, place):
        if self.broken:
            raise OSError("no network")
        self.reads += 1
        return Index(at=str(self.reads))

    def get(self):
        return self.cache.get(PLACE).at


@pytest.fixture
def times():
    return Times()


def test_a_fresh_index_is_not_read_again(times):
    assert times.get() == "1"
    times.now += FRESH_SECONDS
    assert times.get() == "1"
    assert times.waiting == []


def test_an_older_one_is_shown_while_it_is_read_anew_once(times):
    times.get()
    times.now += FRESH_SECONDS + 1
    assert [times.get(), times.get()] == ["1", "1"]
    (work,) = times.waiting
    work()
    assert times.get() == "2"
    times.now += FRESH_SECONDS + 1
    times.get()
    assert len(times.waiting) == 2


def test_one_that_is_too_old_is_waited_for(times):
    times.get()
    times.now += OLDEST_SECONDS + 1
    assert times.get() == "2"
    assert times.waiting == []


def test_a_failure_is_not_kept(times):
    times.broken = True
    with pytest.raises(OSError, match="no network"):
        times.get()
    times.broken = False
    times.get()
    times.broken, times.now = True, times.now + FRESH_SECONDS + 1
    assert times.get() == "1"
    times.waiting.pop()()
    times.broken = False
    times.get()
    times.waiting.pop()()
    assert times.get() == "2"


def test_of_many_that_ask_at_once_one_reads():
    read, started = [], threading.Barrier(8)
    cache = IndexCache(lambda place: read.append(place) or Index())

    def ask():
        started.wait()
        cache.get(PLACE)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read) == 1
