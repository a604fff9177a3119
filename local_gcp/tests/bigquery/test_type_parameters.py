"""STRING(n), BYTES(n), NUMERIC(p, s) and rounding modes, on every way into a table.

Texts of BigQuery: "Field foo: STRING(10) has maximum length 10 but got a value with length 12" in
googleapis/java-bigquerystorage (its test against the service) and keboola/php-table-backend-utils;
"NUMERIC(5, 2) has precision 5 and scale 2 but got a value that is not in range of [-999.99,
999.99] Field: usage_rate; Value: 1329.8" in a load's report of another project.
"""

import io
from decimal import Decimal

import pytest
from google.api_core import exceptions
from google.cloud.bigquery import Client, LoadJobConfig, SchemaField, Table

COLUMNS = [
    SchemaField("name", "STRING", max_length=3),
    SchemaField("code", "BYTES", max_length=2),
    SchemaField("price", "NUMERIC", precision=5, scale=2),
    SchemaField("even", "NUMERIC", precision=5, scale=2, rounding_mode="ROUND_HALF_EVEN"),
    SchemaField("tags", "STRING", "REPEATED", max_length=2),
    SchemaField("r", "RECORD", fields=[SchemaField("x", "STRING", max_length=1)]),
]
TOO_LONG = r"Field name: STRING\(3\) has maximum length 3 but got a value with length 4"
RANGE = (
    r"NUMERIC\(5, 2\) has precision 5 and scale 2 but got a value that is not in range of "
    r"\[-999.99, 999.99\]"
)


@pytest.fixture
def table(client: Client, dataset) -> str:
    client.create_table(Table(f"{client.project}.{dataset}.t", COLUMNS))
    return f"{dataset}.t"


def test_a_table_says_what_it_was_made_with(client, table, dataset, run):
    assert client.get_table(table).schema == COLUMNS
    types = run(f"SELECT data_type FROM {dataset}.INFORMATION_SCHEMA.COLUMNS")
    assert [text for (text,) in types] == [
        *("STRING(3)", "BYTES(2)", "NUMERIC(5, 2)", "NUMERIC(5, 2)", "ARRAY<STRING(2)>"),
        "STRUCT<x STRING(1)>",
    ]


def test_ddl_takes_them_and_a_query_of_the_table_has_none(client, dataset, run):
    struct = "ARRAY<STRUCT<x BYTES(1), y INT64>>"
    even = "OPTIONS(rounding_mode = 'ROUND_HALF_EVEN')"
    run(f"CREATE TABLE {dataset}.d (a STRING(3), b NUMERIC(4), c {struct}, d NUMERIC(5, 1) {even})")
    a, b, c, d = client.get_table(f"{dataset}.d").schema
    assert (a.max_length, b.precision, b.scale, c.fields[0].max_length) == (3, 4, None, 1)
    assert (d.scale, d.rounding_mode) == (1, "ROUND_HALF_EVEN")
    assert client.query(f"SELECT a FROM {dataset}.d").result().schema[0].max_length is None


def test_values_are_rounded_to_the_scale(table, rows, run):
    run(f"INSERT {table} (price, even) VALUES (1.005, 1.005), (-2.675, -2.675), (2.345, 2.345)")
    assert sorted(row[2:4] for row in rows(table)) == [
        (Decimal("-2.68"), Decimal("-2.68")),
        (Decimal("1.01"), Decimal("1.00")),
        (Decimal("2.35"), Decimal("2.34")),
    ]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT {} (name) VALUES ('four')", TOO_LONG),
        ("INSERT {} (name) SELECT 'four'", TOO_LONG),
        ("INSERT {} (code) VALUES (b'abc')", r"Field code: BYTES\(2\) has maximum length 2"),
        ("INSERT {} (price) VALUES (999.995)", f"Field price: {RANGE}"),
        ("INSERT {} (tags) VALUES (['a', 'abc'])", r"Field tags: STRING\(2\) has maximum length 2"),
        ("INSERT {} (r) VALUES (STRUCT('ab'))", r"Field x: STRING\(1\) has maximum length 1"),
        ("UPDATE {} SET name = CONCAT(name, 'd') WHERE true", TOO_LONG),
        ("MERGE {} USING (SELECT 1) ON false WHEN NOT MATCHED THEN INSERT (name) VALUES ('four')",
         TOO_LONG),
    ],
)  # fmt: skip
def test_dml_refuses_what_does_not_fit(table, run, rows, statement, message):
    run(f"INSERT {table} (name) VALUES ('äöü')")
    with pytest.raises(exceptions.BadRequest, match=message):
        run(statement.format(table))
    assert [row[0] for row in rows(table)] == ["äöü"]


def test_a_querys_destination_refuses_and_rounds_as_dml_does(client, table, run, rows):
    into = {
        "destination": f"{client.project}.{table}",
        "write_disposition": "WRITE_APPEND",
        "schema_update_options": ["ALLOW_FIELD_RELAXATION"],
    }
    with pytest.raises(exceptions.BadRequest, match=TOO_LONG):
        run("SELECT 'four' AS name", **into)
    run("SELECT 'abc' AS name, NUMERIC '1.005' AS price", **into)
    assert [row[:3] for row in rows(table)] == [("abc", None, Decimal("1.01"))]


def test_create_table_as_select_does(dataset, run):
    with pytest.raises(exceptions.BadRequest, match=r"STRING\(2\) has maximum length 2"):
        run(f"CREATE TABLE {dataset}.c (name STRING(2)) AS SELECT 'abc'")


def test_streaming_names_the_row_and_the_field(client, table, rows):
    bad, stopped = client.insert_rows_json(table, [{"name": "four"}, {"name": "abc"}])
    (error,) = bad["errors"]
    assert error["location"] == "name"
    assert error["message"] == TOO_LONG.replace("\\", "")
    assert stopped["errors"][0]["reason"] == "stopped"
    assert client.insert_rows_json(table, [{"price": "1.005", "even": "1.005"}]) == []
    assert [row[2:4] for row in rows(table)] == [(Decimal("1.01"), Decimal("1.00"))]


def test_a_load_names_the_field_and_the_value_and_counts_the_row(client, dataset, table, rows):
    config = LoadJobConfig(source_format="CSV", schema=[COLUMNS[0], COLUMNS[2]])
    text = "abc,1.005\nfour,1\nab,1329.8\n"

    def load(**more):
        configured = LoadJobConfig.from_api_repr(config.to_api_repr())
        for name, value in more.items():
            setattr(configured, name, value)
        data = io.BytesIO(text.encode())
        return client.load_table_from_file(data, table, job_config=configured)

    job = load()
    with pytest.raises(exceptions.BadRequest, match="Rows: 2; errors: 2"):
        job.result()
    texts = " ".join(error["message"] for error in job.errors)
    assert "STRING(3)" in texts
    assert "length 4 Field: name" in texts
    assert "999.99] Field: price; Value: 1329.8" in texts
    assert load(max_bad_records=2).result().output_rows == 1
    assert [row[:3] for row in rows(table)] == [("abc", None, Decimal("1.01"))]


def test_a_load_of_json_refuses_it(client, table):
    with pytest.raises(exceptions.BadRequest, match=TOO_LONG):
        client.load_table_from_json([{"name": "four"}], table).result()


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"type": "INT64", "maxLength": "3"}, "cannot have maxLength"),
        ({"type": "NUMERIC", "precision": "38"}, "0 <= precision - scale <= 29"),
        ({"type": "NUMERIC", "precision": "12", "scale": "10"}, "0 <= scale <= 9"),
        ({"type": "NUMERIC", "scale": "2"}, "has scale 2 but no precision"),
        ({"type": "STRING", "precision": "3"}, "cannot have precision"),
    ],
)
def test_parameters_that_a_type_has_not_are_refused(client, dataset, field, message):
    with pytest.raises(exceptions.BadRequest, match=message):
        client.create_table(
            Table(
                f"{client.project}.{dataset}.b",
                [SchemaField.from_api_repr({"name": "a", **field})],
            )
        )


def test_a_change_of_them_is_refused_by_name(client, table):
    changed = client.get_table(table)
    changed.schema = [SchemaField("name", "STRING", max_length=9), *COLUMNS[1:]]
    with pytest.raises(exceptions.MethodNotImplemented, match=r"STRING\(3\) to STRING\(9\)"):
        client.update_table(changed, ["schema"])
