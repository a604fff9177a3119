"""Time of a partition's last change: only its own rows change it, whatever writes them."""

import datetime
import time

import pytest
from google.api_core import exceptions
from google.cloud.bigquery import (
    LoadJobConfig,
    QueryJobConfig,
    SchemaField,
    Table,
)

SCHEMA = [SchemaField("x", "INT64"), SchemaField("day", "DATE")]


@pytest.fixture(params=["day", None], ids=["by column", "by ingestion time"])
def column(request):
    return request.param


@pytest.fixture
def table(run, dataset, column):
    """`t` with one row in each of 2024-01-02, -03 and -04."""
    name = column or "_PARTITIONTIME"
    days = ", ".join(f"({day}, '2024-01-0{day}')" for day in (2, 3, 4))
    run(
        f"CREATE TABLE {dataset}.t (x INT64, day DATE) PARTITION BY {column or '_PARTITIONDATE'};"
        f"INSERT {dataset}.t (x, {name}) VALUES {days}"
    )
    return f"{dataset}.t"


def load(client, table, day, **config):
    """A row of that day of January 2024, into that day's partition."""
    config = LoadJobConfig(schema=SCHEMA, **config)
    rows = [{"x": day, "day": f"2024-01-{day:02d}"}]
    target = f"{client.project}.{table}$202401{day:02d}"
    client.load_table_from_json(rows, target, job_config=config).result()


@pytest.fixture
def changed(run, table):
    """Days of which a change of the table has changed the time, and nothing else has."""

    def times():
        dataset, name = table.split(".")
        return dict(
            run(
                f"SELECT partition_id, last_modified_time FROM {dataset}.INFORMATION_SCHEMA"
                f".PARTITIONS WHERE table_name = '{name}'"
            )
        )

    def changed(change):
        before = times()
        time.sleep(0.002)  # times are whole milliseconds
        change()
        after = times()
        return [name[-2:] for name in sorted(after) if after[name] != before.get(name)]

    return changed


def test_each_has_its_own(client, table, changed):
    assert changed(lambda: load(client, table, 5)) == ["05"]
    assert changed(lambda: load(client, table, 3)) == ["03"]
    assert changed(lambda: load(client, table, 3, write_disposition="WRITE_TRUNCATE")) == ["03"]
    before = client.get_table(f"{table}$20240103").modified
    assert client.get_table(f"{table}$20240104").modified < before
    load(client, table, 4)
    assert client.get_table(f"{table}$20240103").modified == before
    assert client.get_table(table).modified > before


def test_a_query_into_one(client, table, changed):
    config = QueryJobConfig(
        destination=f"{client.project}.{table}$20240104", write_disposition="WRITE_TRUNCATE"
    )
    query = "SELECT 4 AS x, DATE '2024-01-04' AS day"
    assert changed(lambda: client.query_and_wait(query, job_config=config)) == ["04"]


STATEMENTS = [
    ("INSERT t (x, {day}) VALUES (1, '2024-01-03')", ["03"]),
    ("INSERT t (x, {day}) SELECT x + 1, TIMESTAMP '2024-01-04' FROM t WHERE x < 2", ["04"]),
    ("UPDATE t SET x = x + 10 WHERE {day} = '2024-01-02'", ["02"]),
    ("UPDATE t SET x = x + 10 WHERE x < 10", ["03", "04"]),
    ("UPDATE t SET x = 1 WHERE x = 7", []),
    ("DELETE t WHERE x = 11", ["03"]),
    ("DELETE t WHERE x = 13", []),  # and the partition is gone
    (
        "MERGE t USING (SELECT 14 AS k UNION ALL SELECT 5) AS s ON t.x = s.k "
        "WHEN MATCHED THEN UPDATE SET x = 22 "
        "WHEN NOT MATCHED THEN INSERT (x, {day}) VALUES (k, '2024-01-05')",
        ["04", "05"],
    ),
    ("ALTER TABLE t ADD COLUMN z STRING", []),
    ("TRUNCATE TABLE t", []),
]


def test_statements(client, table, column, changed, run):
    dataset = f"{client.project}.{table.split('.')[0]}"
    for statement, days in STATEMENTS:
        query = statement.format(day=column or "_PARTITIONTIME")
        if column:
            query = query.replace("TIMESTAMP", "DATE")
        assert changed(lambda query=query: run(query, default_dataset=dataset)) == days, query


def test_streamed_rows(client, table, column, changed):
    today = datetime.datetime.now(datetime.UTC).strftime("%d")
    rows = [{"x": 5, "day": "2024-01-02"}]
    assert changed(lambda: client.insert_rows_json(table, rows)) == ["02" if column else today]


def test_a_copy_has_times_of_its_own(client, table, dataset, run):
    before = client.get_table(f"{table}$20240103").modified
    client.copy_table(table, f"{dataset}.copy").result()
    assert client.get_table(f"{dataset}.copy$20240103").modified > before
    assert client.get_table(f"{table}$20240103").modified == before


def test_a_replaced_table_forgets_them(client, table, dataset, column, run):
    before = client.get_table(f"{table}$20240103").modified
    config = LoadJobConfig(schema=SCHEMA, write_disposition="WRITE_TRUNCATE")
    rows = [{"x": 3, "day": "2024-01-03"}]
    client.load_table_from_json(rows, table, job_config=config).result()
    ids = client.list_partitions(table)
    assert len(ids) == 1
    assert client.get_table(f"{table}${ids[0]}").modified > before


def test_they_are_listed(client, table, dataset):
    assert client.list_partitions(table) == ["20240102", "20240103", "20240104"]
    load(client, table, 3)
    summary = client.get_table(f"{table}$__PARTITIONS_SUMMARY__")
    rows = {row.partition_id: row for row in client.list_rows(summary)}
    assert rows["20240103"].creation_time < rows["20240103"].last_modified_time
    assert rows["20240104"].creation_time == rows["20240104"].last_modified_time
    assert rows["20240102"][:3] == (client.project, dataset, "t")
    assert [row.partition_id for row in client.list_rows(summary, max_results=2)] == [
        "20240102",
        "20240103",
    ]


def test_a_table_without_partitions_has_none(client, dataset):
    client.create_table(Table(f"{client.project}.{dataset}.plain", SCHEMA))
    with pytest.raises(exceptions.BadRequest, match="not partitioned"):
        client.list_partitions(f"{dataset}.plain")
