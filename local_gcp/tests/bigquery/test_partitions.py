"""DAY partitions: decorators replace exactly one, whatever writes."""

import functools
import operator

import pytest
from google.api_core import exceptions
from google.cloud.bigquery import (
    CopyJobConfig,
    LoadJobConfig,
    QueryJobConfig,
    SchemaField,
    Table,
    TimePartitioning,
)

SCHEMA = [SchemaField("x", "INT64"), SchemaField("day", "DATE")]


@pytest.fixture(params=["day", None], ids=["by column", "by ingestion time"])
def column(request):
    return request.param


@pytest.fixture
def table(client, dataset, column):
    """`t` with one row in each of 2024-01-02, -03 and -04."""
    table = Table(f"{client.project}.{dataset}.t", SCHEMA)
    table.time_partitioning = TimePartitioning(field=column)
    client.create_table(table)
    for day in (2, 3, 4):
        rows = [{"x": day, "day": f"2024-01-0{day}"}]
        target = client.project + f".{dataset}.t$2024010{day}"
        client.load_table_from_json(rows, target, job_config=LoadJobConfig(schema=SCHEMA)).result()
    return f"{dataset}.t"


def days(run, table, column):
    """{partition: values} of the table."""
    by = "day" if column else "_PARTITIONDATE"
    got = run(f"SELECT CAST({by} AS STRING), x FROM {table} ORDER BY 1, 2")
    found = {}
    for day, x in got:
        found.setdefault(day[-2:], []).append(x)
    return found


def test_a_load_replaces_exactly_its_day(client, table, column, run, rows):
    config = LoadJobConfig(schema=SCHEMA, write_disposition="WRITE_TRUNCATE")
    new = [{"x": 33, "day": "2024-01-03"}, {"x": 34, "day": "2024-01-03"}]
    client.load_table_from_json(new, f"{table}$20240103", job_config=config).result()
    assert days(run, table, column) == {"02": [2], "03": [33, 34], "04": [4]}
    assert len(rows(f"{table}$20240103")) == 2
    assert client.get_table(table).time_partitioning.field == column


def test_a_query_replaces_exactly_its_day(client, table, column, run):
    config = QueryJobConfig(
        destination=f"{client.project}.{table}$20240104", write_disposition="WRITE_TRUNCATE"
    )
    client.query("SELECT 44 AS x, DATE '2024-01-04' AS day", job_config=config).result()
    assert days(run, table, column) == {"02": [2], "03": [3], "04": [44]}


def test_rows_of_another_day_are_refused(client, table, column, run):
    config = LoadJobConfig(schema=SCHEMA, write_disposition="WRITE_TRUNCATE")
    wrong = [{"x": 33, "day": "2024-01-03"}, {"x": 34, "day": "2024-01-04"}]
    job = client.load_table_from_json(wrong, f"{table}$20240103", job_config=config)
    if column is None:  # a column says nothing then
        job.result()
        assert days(run, table, column)["03"] == [33, 34]
        return
    with pytest.raises(exceptions.BadRequest, match="Some rows belong to different partitions"):
        job.result()
    assert days(run, table, column) == {"02": [2], "03": [3], "04": [4]}


def test_one_day_is_extracted_copied_and_deleted(client, table, column, run, folder, dataset):
    client.extract_table(f"{table}$20240103", f"gs://{folder.name}/day.csv").result()
    assert (folder / "day.csv").read_text() == "x,day\n3,2024-01-03\n"
    client.copy_table(f"{table}$20240102", f"{dataset}.one").result()
    assert days(run, f"{dataset}.one", column) == {"02": [2]}
    config = CopyJobConfig(write_disposition="WRITE_TRUNCATE")
    if column is None:
        client.copy_table(f"{table}$20240102", f"{table}$20240104", job_config=config).result()
        assert days(run, table, column) == {"02": [2], "03": [3], "04": [2]}
    client.delete_table(f"{table}$20240102")
    assert "02" not in days(run, table, column)


def test_partitions_are_listed(client, table, dataset, run):
    query = f"""SELECT partition_id, total_rows FROM {dataset}.INFORMATION_SCHEMA.PARTITIONS
        WHERE table_name = 't' ORDER BY 1"""
    assert run(query) == [("20240102", 1), ("20240103", 1), ("20240104", 1)]
    assert client.get_table(f"{table}$20240103").num_rows == 1


@pytest.mark.parametrize("decorator", ["20240230", "2024", "2024010112", "x"])
def test_a_decorator_must_name_a_day(client, table, decorator):
    with pytest.raises(exceptions.BadRequest, match="decorator"):
        client.load_table_from_json(
            [{"x": 1}], f"{table}${decorator}", job_config=LoadJobConfig(schema=SCHEMA)
        ).result()


def test_a_table_without_partitions_has_no_decorators(client, dataset):
    client.create_table(Table(f"{client.project}.{dataset}.plain", SCHEMA))
    with pytest.raises(exceptions.BadRequest, match="not partitioned"):
        client.load_table_from_json(
            [{"x": 1}], f"{dataset}.plain$20240101", job_config=LoadJobConfig(schema=SCHEMA)
        ).result()


def test_streamed_rows_go_to_their_day(client, table, column, run):
    assert client.insert_rows_json(table, [{"x": 5, "day": "2024-01-02"}]) == []
    found = days(run, table, column)
    if column:
        assert found["02"] == [2, 5]
    else:  # today's
        assert functools.reduce(operator.iadd, found.values(), []).count(5) == 1
        assert found["02"] == [2]
