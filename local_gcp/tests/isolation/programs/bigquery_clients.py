"""google-cloud-bigquery, its storage client (gRPC) and gcloud-aio's clients in one process, as in
Airflow's triggerer.
"""

import asyncio

import aiohttp
from gcloud.aio.bigquery import Dataset, Job, Table
from google.cloud import bigquery, bigquery_storage

PROJECT = "local-gcp"
sync = bigquery.Client()
sync.query_and_wait("CREATE SCHEMA research; CREATE TABLE research.t AS SELECT 7 AS x")
job = sync.query("SELECT x FROM research.t")
assert [row.x for row in job.result()] == [7]
session = bigquery_storage.BigQueryReadClient().create_read_session(
    parent=f"projects/{PROJECT}",
    read_session={
        "table": f"projects/{PROJECT}/datasets/research/tables/t",
        "data_format": bigquery_storage.DataFormat.ARROW,
    },
)
assert session.estimated_row_count == 1


async def ask():
    async with aiohttp.ClientSession() as session:
        table = await Table("research", "t", PROJECT, session=session).get()
        assert table["schema"]["fields"] == [{"name": "x", "type": "INTEGER", "mode": "NULLABLE"}]
        tables = await Dataset("research", PROJECT, session=session).list_tables()
        assert [found["tableReference"]["tableId"] for found in tables["tables"]] == ["t"]
        results = await Job(job.job_id, PROJECT, session=session).get_query_results()
        assert results["rows"] == [{"f": [{"v": "7"}]}]
        answer = await Job(project=PROJECT, session=session).query(
            {"query": "SELECT x + 1 FROM research.t", "useLegacySql": False}
        )
        assert answer["rows"] == [{"f": [{"v": "8"}]}]


asyncio.run(ask())
