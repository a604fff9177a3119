"""Streamed rows: checked one by one, remembered by their ids."""

import datetime
import io
from decimal import Decimal

import pytest
from google.api_core import exceptions
from google.cloud.bigquery import LoadJobConfig, SchemaField, Table


@pytest.fixture
def table(client, dataset):
    fields = [
        SchemaField("i", "INT64", "REQUIRED"),
        SchemaField("f", "FLOAT64"),
        SchemaField("n", "NUMERIC"),
        SchemaField("b", "BOOL"),
        SchemaField("raw", "BYTES"),
        SchemaField("d", "DATE"),
        SchemaField("dt", "DATETIME"),
        SchemaField("ts", "TIMESTAMP"),
        SchemaField("tags", "STRING", "REPEATED"),
        SchemaField("r", "RECORD", fields=[SchemaField("x", "INT64")]),
        SchemaField("j", "JSON"),
    ]
    return client.create_table(Table(f"{client.project}.{dataset}.t", fields))


def test_values_of_all_types_come_back(client, table, rows):
    row = {
        "i": "42",
        "f": 0.1,
        "n": "1.000000001",
        "b": True,
        "raw": "AP8=",
        "d": "2024-02-29",
        "dt": "2024-02-29T01:02:03.5",
        "ts": 1709168523.25,
        "tags": ["x", ""],
        "r": {"x": 7},
        "j": {"a": [1]},
    }
    assert client.insert_rows_json(table, [row]) == []
    assert rows(table) == [
        (
            *(42, 0.1, Decimal("1.000000001"), True, b"\x00\xff", datetime.date(2024, 2, 29)),
            datetime.datetime(2024, 2, 29, 1, 2, 3, 500000),
            datetime.datetime(2024, 2, 29, 1, 2, 3, 250000, datetime.UTC),
            *(["x", ""], {"x": 7}, {"a": [1]}),
        )
    ]


@pytest.mark.parametrize(
    ("row", "location", "message"),
    [
        ({"i": 1, "nothing": 2}, "nothing", "no such field: nothing."),
        ({"f": 1}, "i", "Missing required field: i."),
        ({"i": "x"}, "i", "Cannot convert value to integer (bad value): x"),
        ({"i": 2**63}, "i", f"Cannot convert value to integer (bad value): {2**63}"),
        ({"i": 1, "tags": "x"}, "tags", "Array specified for non-repeated field."),
        ({"i": 1, "r": {"y": 1}}, "r.y", "no such field: r.y."),
        ({"i": 1, "d": "2024-02-30"}, "d", "Cannot convert value to date (bad value): 2024-02-30"),
    ],
)
def test_a_bad_row_is_named_and_keeps_all_out(client, table, rows, row, location, message):
    bad, stopped = client.insert_rows_json(table, [row, {"i": 1}])
    assert bad["index"] == 0
    assert (bad["errors"][0]["location"], bad["errors"][0]["message"]) == (location, message)
    assert (stopped["index"], stopped["errors"][0]["reason"]) == (1, "stopped")
    assert rows(table) == []


def test_ids_may_be_numbers(client, table, rows):
    """The client sends what it gets; BigQuery's parser takes it as text."""
    for _ in range(2):
        assert client.insert_rows_json(table, [{"i": 1}, {"i": 2}], row_ids=[0, 1]) == []
    assert [row[0] for row in rows(table)] == [1, 2]


def test_rows_with_and_without_a_default_stay_in_order(client, dataset):
    fields = [SchemaField("i", "INT64"), SchemaField("s", "STRING", default_value_expression="'x'")]
    made = client.create_table(Table(f"{client.project}.{dataset}.d", fields))
    for order in ([{"i": 1}, {"s": "a"}], [{"s": "b"}, {"i": 2}]):
        assert client.insert_rows_json(made, order) == []
    assert [tuple(row) for row in client.list_rows(made)] == [
        (1, "x"),
        (None, "a"),
        (None, "b"),
        (2, "x"),
    ]


def test_good_rows_alone_when_asked_for(client, table, rows):
    errors = client.insert_rows_json(
        table, [{"i": 1}, {"i": "x"}, {"i": 3, "new": 1}], skip_invalid_rows=True
    )
    assert [e["index"] for e in errors] == [1, 2]
    client.insert_rows_json(table, [{"i": 4, "new": 1}], ignore_unknown_values=True)
    assert [row[0] for row in rows(table)] == [1, 4]


def test_an_id_is_taken_once(client, table, rows):
    for _ in range(2):
        client.insert_rows_json(table, [{"i": 1}, {"i": 2}], row_ids=["a", "b"])
    client.insert_rows_json(table, [{"i": 3}, {"i": 4}], row_ids=[None, None])
    assert [row[0] for row in rows(table)] == [1, 2, 3, 4]


def test_streamed_rows_stay_in_the_buffer_for_a_while(client, table, run, rows):
    name = f"{table.dataset_id}.t"
    run(f"INSERT {name} (i) VALUES (1), (2)")
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    client.insert_rows_json(table, [{"i": 3, "tags": ["a"]}, {"i": 4}])
    client.insert_rows_json(table, [{"i": 5}])
    got = client.get_table(table)
    assert (got.num_rows, got.num_bytes) == (2, 16)  # the buffer's are not counted
    buffer = got.streaming_buffer
    assert (buffer.estimated_rows, buffer.estimated_bytes) == (3, 27)
    assert before <= buffer.oldest_entry_time <= datetime.datetime.now(datetime.UTC)
    assert sorted(row[0] for row in rows(table)) == [1, 2, 3, 4, 5]
    assert run(f"SELECT COUNT(*) FROM {name}") == [(5,)]
    assert run(f"SELECT row_count, size_bytes FROM {table.dataset_id}.__TABLES__") == [(2, 16)]


def test_dml_changes_other_rows_than_the_streamed_ones(client, table, run):
    name = f"{table.project}.{table.dataset_id}.t"
    run(f"INSERT `{name}` (i) VALUES (1), (2)")
    client.insert_rows_json(table, [{"i": 3}, {"i": 3}])
    run(f"UPDATE `{name}` SET f = 0.5 WHERE i = 1")
    run(f"DELETE `{name}` WHERE i = 2")
    merge = f"MERGE `{name}` t USING (SELECT {{}} AS i) s ON t.i = s.i WHEN MATCHED THEN "
    insert = "UPDATE SET f = 2 WHEN NOT MATCHED THEN INSERT (i) VALUES (i)"
    run(merge.format(7) + insert)
    refused = f"UPDATE or DELETE statement over table {name} would affect rows in the streaming"
    for statement in (
        f"UPDATE `{name}` SET f = 0.5 WHERE i = 3",
        f"DELETE `{name}` WHERE TRUE",
        merge.format(3) + insert,
    ):
        with pytest.raises(exceptions.BadRequest, match=refused):
            run(statement)
    with pytest.raises(exceptions.BadRequest, match=r"TRUNCATE DML .* would affect"):
        run(f"TRUNCATE TABLE `{name}`")
    assert run(f"SELECT i, f FROM `{name}` ORDER BY i") == [
        (1, 0.5),
        (3, None),
        (3, None),
        (7, None),
    ]


def test_a_new_column_does_not_touch_streamed_rows(client, dataset, run):
    run(f"CREATE TABLE {dataset}.u (x INT64)")
    client.insert_rows_json(client.get_table(f"{dataset}.u"), [{"x": 1}])
    run(f"ALTER TABLE {dataset}.u ADD COLUMN y INT64")
    with pytest.raises(exceptions.BadRequest, match="streaming buffer"):
        run(f"DELETE {dataset}.u WHERE x = 1")
    run(f"DELETE {dataset}.u WHERE x = 2")


def test_copies_and_extracts_wait_for_streamed_rows(client, table, folder):
    client.insert_rows_json(table, [{"i": 3}])
    jobs = (
        client.copy_table(table, f"{table.dataset_id}.copy"),
        client.extract_table(table, f"gs://{folder.name}/rows.json"),
    )
    for job in jobs:
        with pytest.raises(exceptions.MethodNotImplemented, match=r"streaming buffer: .* has 1"):
            job.result()


def test_the_buffer_ends_with_its_table(client, dataset, run):
    run(f"CREATE TABLE {dataset}.u (x INT64)")
    client.insert_rows_json(client.get_table(f"{dataset}.u"), [{"x": 1}])
    run(f"CREATE OR REPLACE TABLE {dataset}.u AS SELECT 2 AS x")
    assert client.get_table(f"{dataset}.u").streaming_buffer is None
    run(f"DELETE {dataset}.u WHERE TRUE")


def test_the_buffer_ends_with_a_partition_that_goes(client, dataset, run):
    run(f"CREATE TABLE {dataset}.u (x INT64, day DATE) PARTITION BY day")
    table = client.get_table(f"{dataset}.u")
    client.insert_rows_json(table, [{"x": 1, "day": "2024-01-02"}])
    client.delete_table(f"{dataset}.u$20240102")
    run(f"DELETE {dataset}.u WHERE TRUE")
    client.insert_rows_json(table, [{"x": 1, "day": "2024-01-02"}])
    part = f"{client.project}.{dataset}.u$20240102"
    truncate = {"destination": part, "write_disposition": "WRITE_TRUNCATE"}
    run("SELECT 2 AS x, DATE '2024-01-02' AS day", **truncate)
    run(f"DELETE {dataset}.u WHERE TRUE")


def test_a_column_that_a_row_leaves_out_gets_its_default(client, dataset, run):
    run(
        f"CREATE TABLE {dataset}.d (n INT64, ts TIMESTAMP DEFAULT CURRENT_TIMESTAMP(), "
        "word STRING NOT NULL DEFAULT 'none', list ARRAY<INT64> DEFAULT [1, 2])"
    )
    (refused,) = client.insert_rows_json(f"{dataset}.d", [{"word": None}])
    assert refused["errors"][0]["location"] == "word"
    rows = [{"n": 1}, {"n": 2, "ts": None, "word": "given", "list": []}, {}]
    assert client.insert_rows_json(f"{dataset}.d", rows) == []
    found = run(f"SELECT n, ts IS NULL, word, list FROM {dataset}.d ORDER BY n")
    assert found == [
        (None, False, "none", [1, 2]),
        (1, False, "none", [1, 2]),
        (2, True, "given", []),
    ]


def test_an_appended_column_that_is_left_out_gets_its_default(client, dataset, run):
    run(f"CREATE TABLE {dataset}.e (n INT64, word STRING DEFAULT 'none')")
    job = client.load_table_from_file(
        io.BytesIO(b'{"n": 1}\n{"n": 2}\n'),
        f"{dataset}.e",
        job_config=LoadJobConfig(
            source_format="NEWLINE_DELIMITED_JSON",
            schema=[SchemaField("n", "INTEGER")],
        ),
    )
    job.result()
    assert run(f"SELECT n, word FROM {dataset}.e ORDER BY n") == [(1, "none"), (2, "none")]
