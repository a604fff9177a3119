"""Query jobs: results, destinations, DML, DDL, what they say of themselves."""

import datetime
import json

import pytest
from google.api_core import exceptions
from google.cloud.bigquery import (
    ArrayQueryParameter,
    DatasetReference,
    QueryJobConfig,
    ScalarQueryParameter,
    SchemaField,
    Table,
    TimePartitioning,
)


@pytest.fixture
def table(client, dataset):
    """key, value, day: ten rows over five days of January 2024."""
    schema = [
        SchemaField("key", "STRING"),
        SchemaField("value", "FLOAT64"),
        SchemaField("day", "DATE"),
    ]
    table = Table(f"{client.project}.{dataset}.t", schema)
    table.time_partitioning = TimePartitioning(field="day")
    client.create_table(table)
    rows = [{"key": f"k{i}", "value": i, "day": f"2024-01-0{1 + i % 5}"} for i in range(10)]
    client.load_table_from_json(rows, table).result()
    return f"{dataset}.t"


def test_parameters_and_types(run):
    config = {
        "query_parameters": [
            ScalarQueryParameter("n", "INT64", 3),
            ArrayQueryParameter("names", "STRING", ["a", "b"]),
            ScalarQueryParameter("at", "TIMESTAMP", datetime.datetime(2024, 1, 3, 1, 2, 3)),
        ]
    }
    (row,) = run(
        "SELECT @n + 1, 'a' IN UNNEST(@names), @at, STRUCT(1 AS x, [0.5] AS y), b'ab'",
        **config,
    )
    assert row == (
        *(4, True, datetime.datetime(2024, 1, 3, 1, 2, 3, tzinfo=datetime.UTC)),
        *({"x": 1, "y": [0.5]}, b"ab"),
    )


def test_a_job_tells_about_its_query(client, table):
    job = client.query(f"SELECT key FROM {table} WHERE value > 3")
    assert len(list(job.result())) == 6
    assert (job.state, job.statement_type) == ("DONE", "SELECT")
    assert [t.table_id for t in job.referenced_tables] == ["t"]
    assert job.total_bytes_processed == 10 * (2 + 2 + 8)  # key and value, not day
    assert job.total_bytes_billed == 10 << 20
    assert job.created <= job.started <= job.ended
    assert job.destination.dataset_id.startswith("_")


def test_a_dry_run_tells_bytes_and_columns_and_runs_nothing(client, dataset, table):
    config = QueryJobConfig(dry_run=True)
    job = client.query(f"SELECT value FROM {table}", job_config=config)
    assert (job.state, job.total_bytes_processed) == ("DONE", 80)
    assert [f.name for f in job.schema] == ["value"]
    assert (
        client.query(f"SELECT COUNT(*) FROM {table}", job_config=config).total_bytes_processed == 0
    )
    client.query(f"DROP TABLE {table}", job_config=config)
    client.get_table(table)
    with pytest.raises(exceptions.BadRequest, match=r"Unrecognized name: nothing"):
        client.query(f"SELECT nothing FROM {table}", job_config=config)


@pytest.mark.parametrize(
    ("condition", "days"),
    [
        ("day = '2024-01-02'", 1),
        ("day >= '2024-01-02' AND day < '2024-01-04'", 2),
        ("day BETWEEN '2024-01-02' AND '2024-01-03' AND value > 0", 2),
        ("day IN ('2024-01-01', '2024-01-05')", 2),
        ("day > '2025-01-01'", 0),
        ("value > 0", 5),
        ("EXTRACT(DAY FROM day) = 3", 1),
    ],
)
def test_only_wanted_partitions_are_counted(client, table, condition, days):
    config = QueryJobConfig(dry_run=True)
    job = client.query(f"SELECT day FROM {table} WHERE {condition}", job_config=config)
    expected = days * 2 * 16 if "value" in condition else days * 2 * 8
    assert job.total_bytes_processed == expected


def test_a_required_partition_filter(client, table):
    stored = client.get_table(table)
    stored.require_partition_filter = True
    client.update_table(stored, ["require_partition_filter"])
    with pytest.raises(exceptions.BadRequest, match=r"without a filter over column.* 'day'"):
        client.query(f"SELECT * FROM {table} WHERE value > 3").result()
    assert len(list(client.query(f"SELECT * FROM {table} WHERE day < '2024-01-03'").result())) == 4


def test_bytes_billed_have_a_bound(client, table):
    config = QueryJobConfig(maximum_bytes_billed=1000)
    with pytest.raises(
        exceptions.GoogleAPICallError, match="exceeded limit for bytes billed: 1000"
    ):
        client.query(f"SELECT * FROM {table}", job_config=config).result()


def test_a_syntax_error_says_where(client):
    with pytest.raises(exceptions.BadRequest, match=r"Syntax error: .* at \[2:\d+\]"):
        client.query("SELECT 1\nFROM t WHERE").result()


def test_a_destination(client, dataset, rows):
    def query(text, **config):
        config = QueryJobConfig(destination=f"{client.project}.{dataset}.made", **config)
        return client.query(text, job_config=config).result()

    query("SELECT 1 AS x, 'a' AS s")
    with pytest.raises(exceptions.Conflict, match="Already Exists: Table"):
        query("SELECT 2 AS x, 'b' AS s")
    query("SELECT 'c' AS s, 3 AS x", write_disposition="WRITE_APPEND")  # by name
    assert rows(f"{dataset}.made") == [(1, "a"), (3, "c")]
    with pytest.raises(exceptions.BadRequest, match="has changed type from INT64 to STRING"):
        query("SELECT 'x' AS x", write_disposition="WRITE_APPEND")
    query("SELECT 0.5 AS y", write_disposition="WRITE_TRUNCATE")
    assert rows(f"{dataset}.made") == [(0.5,)]


def test_a_default_dataset(client, dataset, table, run):
    default = DatasetReference(client.project, dataset)
    assert run("SELECT COUNT(*) FROM t", default_dataset=default) == [(10,)]


def test_dml_counts_and_changes(client, dataset, table, run):
    def affected(text):
        job = client.query(text)
        job.result()
        return job.num_dml_affected_rows, job.statement_type

    assert affected(f"INSERT {table} (key, value) VALUES ('new', 1), ('newer', 2)") == (2, "INSERT")
    assert affected(f"UPDATE {table} SET value = -1 WHERE key LIKE 'new%'") == (2, "UPDATE")
    assert affected(f"DELETE FROM {table} WHERE value < 0") == (2, "DELETE")
    merge = f"""
        MERGE {table} AS t
        USING (SELECT 'k1' AS key, 100.0 AS value UNION ALL SELECT 'z', 5) AS s
        ON t.key = s.key
        WHEN MATCHED THEN UPDATE SET value = s.value
        WHEN NOT MATCHED THEN INSERT (key, value) VALUES (key, value)
        WHEN NOT MATCHED BY SOURCE AND value >= 8 THEN DELETE"""
    job = client.query(merge)
    job.result()
    stats = job.dml_stats
    assert job.num_dml_affected_rows == 4
    assert (stats.inserted_row_count, stats.updated_row_count, stats.deleted_row_count) == (1, 1, 2)
    got = run(f"SELECT key, value FROM {table} WHERE key IN ('k1', 'z', 'k8') ORDER BY key")
    assert got == [("k1", 100.0), ("z", 5.0)]
    assert affected(f"TRUNCATE TABLE {table}") == (9, "TRUNCATE_TABLE")
    assert run(f"SELECT COUNT(*) FROM {table}") == [(0,)]


def test_ddl(client, dataset, table, run):
    def ddl(text):
        job = client.query(text)
        job.result()
        return job.ddl_operation_performed

    name = f"{dataset}.made"
    create = f"""CREATE TABLE {name} (a INT64 NOT NULL, b ARRAY<STRING>) PARTITION BY _PARTITIONDATE
        OPTIONS (description = 'words', labels = [('team', 'a')])"""
    assert ddl(create) == "CREATE"
    made = client.get_table(name)
    assert [(f.name, f.mode) for f in made.schema] == [("a", "REQUIRED"), ("b", "REPEATED")]
    assert (made.description, made.labels, made.time_partitioning.type_) == (
        "words",
        {"team": "a"},
        "DAY",
    )
    assert ddl(create.replace("TABLE", "TABLE IF NOT EXISTS", 1)) == "SKIP"
    with pytest.raises(exceptions.Conflict, match="Already Exists"):
        ddl(create)
    selected = f"CREATE OR REPLACE TABLE {name} CLUSTER BY key AS SELECT key, value FROM {table}"
    assert ddl(selected) == "REPLACE"
    assert (client.get_table(name).num_rows, client.get_table(name).clustering_fields) == (
        10,
        ["key"],
    )
    assert ddl(f"ALTER TABLE {name} ADD COLUMN more DATE") == "ALTER"
    assert run(f"SELECT more FROM {name} LIMIT 1") == [(None,)]
    assert ddl(f"CREATE VIEW {dataset}.v AS SELECT key FROM {name} WHERE value > 7") == "CREATE"
    assert run(f"SELECT * FROM {dataset}.v ORDER BY 1") == [("k8",), ("k9",)]
    assert ddl(f"DROP VIEW {dataset}.v") == "DROP"
    assert ddl(f"DROP TABLE {name}") == "DROP"
    assert ddl(f"DROP TABLE IF EXISTS {name}") == "SKIP"
    with pytest.raises(exceptions.NotFound, match="Not found: Table"):
        ddl(f"DROP TABLE {name}")


def test_a_script_has_children_and_a_result(client, dataset, run):
    script = f"""
        DECLARE n INT64 DEFAULT 3;
        CREATE TABLE {dataset}.s AS SELECT x FROM UNNEST(GENERATE_ARRAY(1, n)) AS x;
        SET n = (SELECT SUM(x) FROM {dataset}.s);
        ASSERT n = 6 AS 'the sum is wrong';
        SELECT n AS total, COUNT(*) AS rows_ FROM {dataset}.s;"""
    job = client.query(script)
    assert [tuple(row.values()) for row in job.result()] == [(6, 3)]
    assert job.statement_type == "SCRIPT"
    children = list(client.list_jobs(parent_job=job.job_id))
    assert job.num_child_jobs == len(children) == 2
    assert [c.statement_type for c in children] == ["SELECT", "CREATE_TABLE_AS_SELECT"]


def test_a_failed_assertion_keeps_what_was_done(client, dataset, run):
    with pytest.raises(exceptions.BadRequest, match="not two"):
        client.query(
            f"CREATE TABLE {dataset}.s AS SELECT 1 AS x; ASSERT 1 = 2 AS 'not two';"
        ).result()
    assert run(f"SELECT x FROM {dataset}.s") == [(1,)]


def test_meta_tables(client, dataset, run):
    run(f"CREATE TABLE {dataset}.t AS SELECT 1 AS x UNION ALL SELECT 2")
    run(f"CREATE VIEW {dataset}.v AS SELECT 1 AS x")
    table, view = (client.get_table(f"{dataset}.{name}") for name in "tv")
    times = [round(t.timestamp() * 1000) for t in (table.created, table.modified, view.created)]
    shared = [(client.project, dataset, "t", times[0]), (client.project, dataset, "v", times[2])]
    found = run(f"SELECT * FROM `{client.project}.{dataset}.__TABLES__` ORDER BY table_id")
    assert found[0] == (*shared[0], times[1], 2, 16, 1)
    assert found[1][:4] + found[1][5:] == (*shared[1], None, None, 2)
    summary = run(f"SELECT * FROM {dataset}.__TABLES_SUMMARY__ ORDER BY table_id")
    assert summary == [(*shared[0], 1), (*shared[1], 2)]
    assert run(f"SELECT COUNT(t.table_id) FROM {dataset}.__TABLES__ AS t WHERE type = 1") == [(1,)]


def test_information_schema(dataset, table, run):
    assert run(f"SELECT table_name, table_type FROM {dataset}.INFORMATION_SCHEMA.TABLES") == [
        ("t", "BASE TABLE")
    ]
    got = run(
        f"SELECT partition_id, total_rows, total_logical_bytes FROM "
        f"{dataset}.INFORMATION_SCHEMA.PARTITIONS WHERE table_name = 't' ORDER BY 1"
    )
    assert got[0] == ("20240101", 2, 2 * (4 + 8 + 8))
    assert [row[0] for row in got] == [f"2024010{i}" for i in range(1, 6)]


def test_legacy_sql_is_refused(client):
    with pytest.raises(exceptions.MethodNotImplemented, match="legacy SQL"):
        client.query("SELECT 1", job_config=QueryJobConfig(use_legacy_sql=True)).result()


def test_arrow_and_pandas(client, table):
    job = client.query(f"SELECT key, value, day FROM {table} ORDER BY value")
    arrow = job.to_arrow()
    assert arrow.num_rows == 10
    assert [str(t) for t in arrow.schema.types] == ["string", "double", "date32[day]"]
    frame = job.to_dataframe()
    assert frame["value"].tolist() == [float(i) for i in range(10)]
    assert str(frame["day"].dtype) == "dbdate"


def test_each_statement_of_a_script_has_a_time_of_its_own(run, dataset):
    run(
        f"""DECLARE began TIMESTAMP DEFAULT CURRENT_TIMESTAMP();
        CREATE TABLE {dataset}.first AS SELECT CURRENT_TIMESTAMP() AS a, CURRENT_TIMESTAMP() AS b;
        CREATE TABLE {dataset}.second AS SELECT began, CURRENT_TIMESTAMP() AS c"""
    )
    ((same, later, latest),) = run(
        f"SELECT a = b, began < a, a < c FROM {dataset}.first, {dataset}.second"
    )
    assert (same, later, latest) == (True, True, True)


def test_the_fields_of_a_tuple_have_no_names_of_columns(client):
    query = "SELECT (t.a, t.b) AS pair, STRUCT(t.a, t.b) AS named FROM (SELECT 1 AS a, 'x' AS b) t"
    pair, named = client.query(query).result().schema
    assert [f.name for f in pair.fields] == ["_field_1", "_field_2"]
    assert [f.name for f in named.fields] == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "kind"), [(1.25, "FLOAT64"), (-3, "INT64"), (True, "BOOL"), (1e300, "FLOAT64")]
)
def test_a_parameter_may_come_as_a_number_of_json(client, value, kind):
    """Google's client sends FLOAT64 so, and BigQuery takes it."""
    body = {
        "query": "SELECT @x AS x",
        "useLegacySql": False,
        "parameterMode": "NAMED",
        "queryParameters": [
            {"name": "x", "parameterType": {"type": kind}, "parameterValue": {"value": value}}
        ],
    }
    call = client._connection.api_request
    answer = call(method="POST", path=f"/projects/{client.project}/queries", data=body)
    assert float(answer["rows"][0]["f"][0]["v"].replace("true", "1")) == float(value)
    parameter = ScalarQueryParameter("x", kind, value)
    config = QueryJobConfig(query_parameters=[parameter])
    assert [tuple(r) for r in client.query("SELECT @x", job_config=config).result()] == [(value,)]


def test_a_row_has_many_columns(client, dataset, run):
    """511 are too many for DuckDB's operators, and are measured in two parts."""
    columns = ", ".join(f"{n} AS c{n}" for n in range(511))
    run(f"CREATE TABLE {dataset}.wide AS SELECT {columns} UNION ALL SELECT {columns}")
    assert client.get_table(f"{dataset}.wide").num_bytes == 2 * 8 * 511
    text = "TO_JSON_STRING(t)"
    ((differing, row),) = run(
        f"SELECT COUNT(DISTINCT {text}), ANY_VALUE({text}) FROM {dataset}.wide AS t"
    )
    assert (differing, json.loads(row)) == (1, {f"c{n}": n for n in range(511)})


def test_a_query_has_1_mebibyte_at_most(client):
    """The message is one that others have recorded: https://github.com/metabase/metabase/issues/79019"""
    with pytest.raises(exceptions.BadRequest) as caught:
        client.query("SELECT 1 --".ljust(1_120_668)).result()
    assert caught.value.errors[0]["reason"] == "invalid"
    assert caught.value.errors[0]["message"] == (
        "The query is too large (1094.40K characters, 72092 characters over the limit). The "
        "maximum standard SQL query length is 1024.00K characters, including comments and white "
        "space characters."
    )
    ((one,),) = client.query("SELECT 1 --".ljust(1_048_576)).result()
    assert one == 1
