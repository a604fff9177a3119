"""A request that finds all memory taken by the queries of others waits, and is not blamed."""

import duckdb
import pytest

from local_gcp.bigquery import app
from local_gcp.bigquery.errors import BigQueryError


@pytest.fixture
def waits(monkeypatch):
    """The seconds that a request has waited."""
    waited = []
    monkeypatch.setattr(app.time, "sleep", waited.append)
    return waited


def short_of_memory(times):
    left = iter(range(times))

    def function(_call):
        for _ in left:
            raise duckdb.OutOfMemoryException("failed to allocate")
        return {"id": "a"}

    return function


@pytest.mark.parametrize("times", [0, 1, len(app.MEMORY_WAITS)])
def test_it_is_answered_when_the_others_have_ended(waits, times):
    assert app._guarded(short_of_memory(times), None) == {"id": "a"}
    assert waits == list(app.MEMORY_WAITS[:times])


def test_it_is_told_to_retry_if_they_do_not_end(waits):
    with pytest.raises(BigQueryError, match="local_gcp's memory") as caught:
        app._guarded(short_of_memory(100), None)
    assert (caught.value.reason, caught.value.status) == ("backendError", 503)
