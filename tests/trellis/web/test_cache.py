"""Indexes are read once in a while."""

import threading

import pytest

from trellis.results import Index
from trellis.web.access import Place
from trellis.web.cache import SECONDS, IndexCache

PLACE = Place("bucket", "google_cloud_default")


def test_an_index_is_read_again_when_it_is_old():
    now, read = [1000.0], []
    cache = IndexCache(lambda place: read.append(place) or Index(), clock=lambda: now[0])
    cache.get(PLACE)
    now[0] += SECONDS
    cache.get(PLACE)
    assert read == [PLACE]
    now[0] += 1
    cache.get(PLACE)
    cache.get(Place("other", "google_cloud_default"))
    assert len(read) == 3


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


def test_a_failure_is_not_kept():
    answers = [OSError("no network"), Index()]

    def read(place):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    cache = IndexCache(read)
    with pytest.raises(OSError, match="no network"):
        cache.get(PLACE)
    assert cache.get(PLACE) == Index()
