"""A request that finds all memory taken by the queries of others waits, and is not blamed."""

import json

import duckdb
import pytest

from local_gcp.bigquery import memory
from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.upload_api import UploadApi


@pytest.fixture
def waits(monkeypatch):
    """The seconds that a request has waited."""
    waited = []
    monkeypatch.setattr(memory.time, "sleep", waited.append)
    return waited


def short_of_memory(times, answer):
    left = iter(range(times))

    def function(*_arguments):
        for _ in left:
            raise duckdb.OutOfMemoryException("failed to allocate")
        return answer

    return function


@pytest.mark.parametrize("times", [0, 1, len(memory.WAITS)])
def test_it_is_answered_when_the_others_have_ended(waits, times):
    assert memory.patiently(short_of_memory(times, {"id": "a"})) == {"id": "a"}
    assert waits == list(memory.WAITS[:times])


def test_it_is_told_to_retry_if_they_do_not_end(waits):
    with pytest.raises(BigQueryError, match="local_gcp's memory") as caught:
        memory.patiently(short_of_memory(100, None))
    assert (caught.value.reason, caught.value.status) == ("backendError", 503)


def test_an_upload_waits_too_and_keeps_its_file(waits, tmp_path):
    class Jobs:
        """Stands in for the jobs, which find no memory at first."""

        resource = short_of_memory(0, None)
        refuse_used = short_of_memory(1, None)
        begin = short_of_memory(2, ({"id": "a"}, None))

    (tmp_path / ".sent").write_text("x")
    body = {"configuration": {"load": {}}, "jobReference": {"jobId": "job"}}
    response = UploadApi(Jobs(), tmp_path)._submit("project", body, tmp_path / ".sent")
    assert json.loads(response.body) == {"id": "a"}
    assert waits == [memory.WAITS[0], *memory.WAITS[:2]]
    assert (tmp_path / "job").read_text() == "x"
