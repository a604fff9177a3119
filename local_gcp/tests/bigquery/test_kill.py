"""kill -9 while jobs run: every job that was acknowledged is done exactly once."""

import contextlib
import threading
import time

import pytest
from google.api_core import exceptions
from google.cloud import bigquery


@pytest.fixture
def server(new_local_gcp, monkeypatch):
    server = new_local_gcp()
    server.up()
    for name, value in server.client_env.items():
        monkeypatch.setenv(name, value)
    return server


def begin(client, job_id, query):
    client.query(query, job_id=job_id, retry=None, job_retry=None, timeout=10)


def test_acknowledged_jobs_are_done_exactly_once(server):
    client = bigquery.Client()
    client.create_dataset("d")
    client.query("CREATE TABLE d.t (job STRING)").result()
    acknowledged = []

    def submit():
        for number in range(200):
            try:
                begin(client, f"job_{number}", f"INSERT d.t VALUES ('job_{number}')")
            except Exception:  # the connection breaks off
                return
            acknowledged.append(f"job_{number}")

    long = """CREATE TABLE d.long AS SELECT a, COUNT(*) AS n
        FROM UNNEST(GENERATE_ARRAY(1, 3000)) AS a, UNNEST(GENERATE_ARRAY(1, 10000)) AS b
        WHERE MOD(a * b, 7) = 3 GROUP BY a"""
    begin(client, "long", long)
    request = {
        "query": "INSERT d.t VALUES ('a request')",
        "useLegacySql": False,
        "requestId": "a request's id",
    }
    query = {"method": "POST", "path": f"/projects/{client.project}/queries", "data": request}
    first = client._connection.api_request(**query)
    thread = threading.Thread(target=submit)
    thread.start()
    while len(acknowledged) < 10:
        time.sleep(0.01)
    server.kill()
    thread.join()
    server.up()

    client = bigquery.Client()
    for job_id in [*acknowledged, "long"]:
        client.get_job(job_id).result(timeout=60)  # and none has failed
    assert client._connection.api_request(**query)["jobReference"] == first["jobReference"]
    rows = [row.job for row in client.query("SELECT job FROM d.t").result()]
    assert len(rows) == len(set(rows))
    assert {*acknowledged, "a request"} <= set(
        rows
    )  # one whose acknowledgement got lost may be there too
    assert client.get_table("d.long").num_rows == 2572  # b meets it for each a but multiples of 7
    with contextlib.suppress(exceptions.Conflict):  # an id stays used
        begin(client, acknowledged[0], "SELECT 1")
        assert client.get_job(acknowledged[0]).query.startswith("INSERT")


@pytest.mark.slow
def test_a_script_is_not_begun_again(server):
    client = bigquery.Client()
    client.create_dataset("d")
    script = """CREATE TABLE d.first AS SELECT 1 AS x;
        CREATE TABLE d.second AS SELECT COUNT(*) AS n FROM UNNEST(GENERATE_ARRAY(1, 100000)) AS a,
        UNNEST(GENERATE_ARRAY(1, 100000)) AS b WHERE MOD(a * b, 7) = 3;"""
    begin(client, "script", script)
    while not list(client.list_jobs(parent_job="script")):
        time.sleep(0.02)
    server.kill()
    server.up()

    client = bigquery.Client()
    job = client.get_job("script")
    assert job.state == "DONE"
    assert "after some of its statements were done" in job.error_result["message"]
    assert [t.table_id for t in client.list_tables("d")] == ["first"]
