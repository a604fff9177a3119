"""Jobs as resources: ids, listing, cancelling, and one that does not hold up the others."""

import datetime
import functools
import operator
import time
import uuid

import pytest
from google.api_core import exceptions
from google.cloud.bigquery import QueryJobConfig
from google.cloud.bigquery.enums import JobCreationMode

SLOW = """SELECT SUM(a * b) FROM UNNEST(GENERATE_ARRAY(1, 60000)) AS a,
    UNNEST(GENERATE_ARRAY(1, 60000)) AS b WHERE MOD(a * b + a, 7) = 3"""


def begin(client, query, job_id=None, **config):
    """A query job whose id is used once and never retried."""
    job_id = job_id or f"test_{uuid.uuid4().hex}"
    config = QueryJobConfig(**config)
    return client.query(query, job_id=job_id, job_config=config, retry=None, job_retry=None)


def test_an_id_is_used_once(client):
    job_id = f"given_{uuid.uuid4().hex}"
    begin(client, "SELECT 1", job_id).result()
    with pytest.raises(exceptions.Conflict, match=f"Already Exists: Job local-gcp:US.{job_id}"):
        client._call_api(  # the client itself would turn the answer into the job that is there
            None,
            method="POST",
            path=f"/projects/{client.project}/jobs",
            data={
                "jobReference": {"projectId": client.project, "jobId": job_id},
                "configuration": {"query": {"query": "SELECT 2", "useLegacySql": False}},
            },
        )
    assert [tuple(r.values()) for r in client.get_job(job_id).result()] == [(1,)]


@pytest.mark.parametrize("job_id", ["a b", "a/b", "x" * 1025, "ü"])
def test_ids_that_cannot_be(client, job_id):
    with pytest.raises(exceptions.BadRequest, match="Invalid job ID"):
        begin(client, "SELECT 1", job_id)


def test_jobs_are_listed_newest_first(client):
    since = datetime.datetime.now(datetime.UTC)
    ids = []
    for number in range(3):
        ids.append(begin(client, f"SELECT {number}", labels={"n": str(number)}).job_id)
        client.get_job(ids[-1]).result()
        time.sleep(0.002)  # creation times are milliseconds
    with pytest.raises(exceptions.BadRequest):
        begin(client, "SELECT nothing").result()
    jobs = list(client.list_jobs(min_creation_time=since, page_size=2))
    assert [j.job_id for j in jobs][1:] == ids[::-1]
    assert jobs[0].error_result["reason"] == "invalidQuery"
    assert [j.labels for j in jobs[1:]] == [{"n": "2"}, {"n": "1"}, {"n": "0"}]
    until = jobs[2].created
    later = client.list_jobs(min_creation_time=since, max_creation_time=until)
    assert [j.job_id for j in later] == [ids[1], ids[0]]
    assert list(client.list_jobs(min_creation_time=since, state_filter="running")) == []


def test_an_unknown_job(client):
    with pytest.raises(exceptions.NotFound, match="Not found: Job local-gcp"):
        client.get_job("nothing")


def test_deleting_a_job(client):
    job = begin(client, "SELECT 1")
    job.result()
    client.delete_job_metadata(job)
    with pytest.raises(exceptions.NotFound):
        client.get_job(job.job_id)


def test_a_slow_query_holds_nobody_up_and_can_be_cancelled(client):
    slow = begin(client, SLOW)
    time.sleep(0.3)
    started = time.monotonic()
    assert [tuple(r.values()) for r in client.query("SELECT 40 + 2").result()] == [(42,)]
    assert time.monotonic() - started < 5
    assert client.get_job(slow.job_id).state == "RUNNING"
    assert [j.job_id for j in client.list_jobs(state_filter="running")] == [slow.job_id]

    started = time.monotonic()
    slow.cancel()
    with pytest.raises(exceptions.GoogleAPICallError, match="cancelled: User requested"):
        slow.result()
    assert time.monotonic() - started < 5
    assert client.get_job(slow.job_id).error_result["reason"] == "stopped"


def test_more_slow_queries_than_threads(client):
    slow = [begin(client, SLOW) for _ in range(10)]
    try:
        states = sorted(client.get_job(job.job_id).state for job in slow)
        assert states.count("PENDING") == 2
        client.list_datasets()  # requests are answered
    finally:
        for job in slow:
            job.cancel()


def test_a_job_ends_at_its_timeout(client):
    config = QueryJobConfig()
    config.job_timeout_ms = 300
    with pytest.raises(exceptions.GoogleAPICallError, match="timed out after 300 ms"):
        client.query(SLOW, job_config=config).result()


def test_short_queries_without_waiting_for_a_job(client):
    client.default_job_creation_mode = JobCreationMode.JOB_CREATION_OPTIONAL
    rows = client.query_and_wait("SELECT x FROM UNNEST([3, 1, 2]) AS x ORDER BY x")
    assert [row.x for row in rows] == [1, 2, 3]
    assert rows.total_rows == 3


def test_results_in_pages(client):
    job = client.query("SELECT x FROM UNNEST(GENERATE_ARRAY(1, 25)) AS x ORDER BY x")
    pages = [[row.x for row in page] for page in job.result(page_size=10).pages]
    assert [len(page) for page in pages] == [10, 10, 5]
    assert functools.reduce(operator.iadd, pages, []) == list(range(1, 26))
    again = client.get_job(job.job_id)  # the client keeps the first page of the one above
    assert [row.x for row in again.result(start_index=23)] == [24, 25]
    assert [r.x for r in client.list_rows(job.destination, max_results=2)] == [1, 2]
