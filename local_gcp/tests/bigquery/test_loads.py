"""Load jobs: values, schemas, what is refused."""

import datetime
import gzip
import io

import fastavro
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.api_core import exceptions
from google.cloud.bigquery import (
    Client,
    LoadJobConfig,
    ParquetOptions,
    SchemaField,
    SchemaUpdateOption,
)

UTC = datetime.UTC
NUMBERS = [SchemaField("a", "INT64"), SchemaField("b", "STRING")]


@pytest.fixture
def load(client: Client, dataset, folder, rows):
    """Loads {name: text or bytes} from a bucket into a new or given table; returns its rows."""

    def load(files: dict, table="t", uris=("*",), **config):
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode() if isinstance(data, str) else data)
        job = client.load_table_from_uri(
            [f"gs://{folder.name}/{uri}" for uri in uris],
            f"{dataset}.{table}",
            job_config=LoadJobConfig(**config),
        )
        job.result()
        got = rows(f"{dataset}.{table}")
        if not config.get("write_disposition"):
            assert job.output_rows == len(got)
        return got

    return load


def types(client, dataset, table="t"):
    return [(f.name, f.field_type, f.mode) for f in client.get_table(f"{dataset}.{table}").schema]


def test_csv_with_a_schema(load):
    got = load({"x.csv": 'a,b\n1,x\n2,"y,""z"""\n,\n'}, schema=NUMBERS, skip_leading_rows=1)
    assert got == [(1, "x"), (2, 'y,"z"'), (None, None)]


def test_csv_types_are_detected(load, client, dataset):
    text = (
        "int,float,flag,day,time,moment,text\n"
        "1,1.5,true,2024-01-03,10:00:00,2024-01-03 10:00:00 UTC,a\n"
        "2,1e3,false,2024-01-04,11:00:00,2024-01-03T10:00:00+01:00,1\n"
    )
    got = load({"x.csv": text}, autodetect=True)
    assert [t for _, t, _ in types(client, dataset)] == [
        *("INTEGER", "FLOAT", "BOOLEAN", "DATE", "TIME", "TIMESTAMP", "STRING"),
    ]
    assert got[1] == (
        *(2, 1000.0, False, datetime.date(2024, 1, 4), datetime.time(11)),
        datetime.datetime(2024, 1, 3, 9, tzinfo=UTC),
        "1",
    )


def test_csv_without_a_header_is_detected_too(load, client, dataset):
    assert load({"x.csv": "1,x\n2,y\n"}, autodetect=True) == [(1, "x"), (2, "y")]
    assert [n for n, _, _ in types(client, dataset)] == ["int64_field_0", "string_field_1"]


def test_csv_options(load):
    got = load(
        {"x.csv": "skipped\n1|NA|'new\nline'\nNA||''\n"},
        schema=[*NUMBERS, SchemaField("c", "STRING")],
        skip_leading_rows=1,
        field_delimiter="|",
        quote_character="'",
        null_marker="NA",
        allow_quoted_newlines=True,
    )
    assert got == [(1, None, "new\nline"), (None, "", "")]


def test_gzip_wildcards_and_several_addresses(load):
    files = {"in/a-1.csv": "1,x\n", "in/a-2": gzip.compress(b"2,y\n"), "b.csv": "3,z\n"}
    got = load(files, uris=["in/a-*", "b.csv"], schema=NUMBERS)
    assert sorted(got) == [(1, "x"), (2, "y"), (3, "z")]


def test_a_missing_file_is_named(load):
    with pytest.raises(exceptions.NotFound, match=r"Not found: URI gs://.*/nothing\*"):
        load({}, uris=["nothing*"], schema=NUMBERS)


@pytest.mark.parametrize("value", ["x", "1.5", "9223372036854775808"])
def test_a_bad_value_is_named_with_its_row(load, client, dataset, value):
    with pytest.raises(exceptions.BadRequest, match="too many errors") as error:
        load({"x.csv": f"1,x\n{value},y\n"}, schema=NUMBERS)
    assert f"Could not parse '{value}' as INT64 for field a (row 2)" in str(error.value)
    with pytest.raises(exceptions.NotFound):  # all or nothing
        client.get_table(f"{dataset}.t")


def test_bad_records_up_to_the_bound(load):
    text = "1,x\nbad,y\n3,z\n4,too,many\n"
    assert load({"x.csv": text}, schema=NUMBERS, max_bad_records=2) == [(1, "x"), (3, "z")]
    with pytest.raises(exceptions.BadRequest, match="too many errors"):
        load({"x.csv": text}, schema=NUMBERS, max_bad_records=1, write_disposition="WRITE_TRUNCATE")


def test_newlines_in_quotes_must_be_allowed(load):
    with pytest.raises(exceptions.BadRequest):
        load({"x.csv": '1,"new\nline"\n'}, schema=NUMBERS)


def test_json_nested_and_detected(load, client, dataset):
    text = (
        '{"a": 1, "tags": ["x"], "r": {"x": 1.5, "d": "2024-01-03"}}\n'
        '{"a": "2", "tags": [], "r": null}\n'
    )
    got = load({"x.json": text}, source_format="NEWLINE_DELIMITED_JSON", autodetect=True)
    assert got[0] == (1, ["x"], {"x": 1.5, "d": datetime.date(2024, 1, 3)})
    assert got[1] == (2, [], None)
    assert types(client, dataset)[1] == ("tags", "STRING", "REPEATED")


def test_json_with_an_unknown_member(load):
    files = {"x.json": '{"a": 1, "b": "x", "c": 2}\n'}
    config = {"source_format": "NEWLINE_DELIMITED_JSON", "schema": NUMBERS}
    with pytest.raises(exceptions.BadRequest) as error:
        load(files, **config)
    assert "No such field: c" in str(error.value)
    assert load(files, ignore_unknown_values=True, **config) == [(1, "x")]


def parquet(**columns):
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def test_parquet_types(load, client, dataset):
    data = parquet(
        i=pa.array([1, None], pa.int32()),
        f=pa.array([1.5, float("nan")], pa.float32()),
        ts=pa.array([0, 1], pa.timestamp("us", "UTC")),
        dt=pa.array([0, 1], pa.timestamp("us")),
        n=pa.array([1, 2], pa.decimal128(10, 2)),
        raw=pa.array([b"x", None]),
    )
    got = load({"x.parquet": data}, source_format="PARQUET")
    assert [t for _, t, _ in types(client, dataset)] == [
        *("INTEGER", "FLOAT", "TIMESTAMP", "DATETIME", "NUMERIC", "BYTES")
    ]
    assert got[0][:2] == (1, 1.5)
    assert got[0][2] == datetime.datetime(1970, 1, 1, tzinfo=UTC)
    assert got[1][5] is None


@pytest.mark.parametrize(
    ("inferred", "value"),
    [(True, [[1, 2], []]), (False, [{"list": [{"element": 1}, {"element": 2}]}, {"list": []}])],
)
def test_parquet_lists(load, inferred, value):
    options = ParquetOptions()
    options.enable_list_inference = inferred
    got = load(
        {"x.parquet": parquet(v=pa.array([[1, 2], []], pa.list_(pa.int64())))},
        source_format="PARQUET",
        parquet_options=options,
    )
    assert [row[0] for row in got] == value


def test_avro(load, client, dataset):
    schema = {
        "type": "record",
        "name": "Root",
        "fields": [
            {"name": "a", "type": "long"},
            {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
        ],
    }
    rows = [
        {"a": 1, "day": datetime.date(2024, 1, 3), "tags": ["x"]},
        {"a": 2, "day": None, "tags": []},
    ]
    buffer = io.BytesIO()
    fastavro.writer(buffer, fastavro.parse_schema(schema), rows)
    got = load({"x.avro": buffer.getvalue()}, source_format="AVRO", use_avro_logical_types=True)
    assert got == [(1, datetime.date(2024, 1, 3), ["x"]), (2, None, [])]
    assert types(client, dataset) == [
        ("a", "INTEGER", "REQUIRED"),
        ("day", "DATE", "NULLABLE"),
        ("tags", "STRING", "REPEATED"),
    ]


def test_dispositions(load):
    files = {"x.csv": "1,x\n"}
    assert load(files, schema=NUMBERS) == [(1, "x")]
    twice = load(files, schema=NUMBERS, write_disposition="WRITE_APPEND")
    assert twice == [(1, "x"), (1, "x")]
    with pytest.raises(exceptions.Conflict, match="Already Exists: Table"):
        load(files, schema=NUMBERS, write_disposition="WRITE_EMPTY")
    text = [SchemaField("b", "STRING"), SchemaField("a", "STRING")]
    assert load(files, schema=text, write_disposition="WRITE_TRUNCATE") == [("1", "x")]
    with pytest.raises(exceptions.NotFound, match="Not found: Table"):
        load(files, table="u", schema=NUMBERS, create_disposition="CREATE_NEVER")


def test_schema_updates(load):
    load({"x.csv": "1,x\n"}, schema=NUMBERS)
    wider = [*NUMBERS, SchemaField("c", "FLOAT64")]
    more = {"x.csv": "2,y,0.5\n"}
    with pytest.raises(exceptions.BadRequest, match=r"Cannot add fields \(field: c\)"):
        load(more, schema=wider)
    got = load(
        more,
        schema=wider,
        write_disposition="WRITE_APPEND",
        schema_update_options=[SchemaUpdateOption.ALLOW_FIELD_ADDITION],
    )
    assert got == [(1, "x", None), (2, "y", 0.5)]
    with pytest.raises(exceptions.BadRequest, match="changed type from INT64 to STRING"):
        load({"x.csv": "2\n"}, schema=[SchemaField("a", "STRING")])


def test_required_columns(load):
    schema = [SchemaField("a", "INT64", "REQUIRED"), SchemaField("b", "STRING")]
    with pytest.raises(exceptions.BadRequest, match="Required field a cannot be null"):
        load({"x.csv": ",x\n"}, schema=schema)


def test_files_and_objects_of_the_client(client, dataset, rows):
    name = f"{dataset}.t"
    frame = pd.DataFrame(
        {
            "key": ["a", None],
            "value": [1.5, 2.5],
            "when": pd.to_datetime(["2024-01-03T00:00Z", "2024-01-04T00:00Z"]),
            "values": [[1, 2], []],
        }
    )
    client.load_table_from_dataframe(frame, name).result()
    assert rows(name)[0] == ("a", 1.5, datetime.datetime(2024, 1, 3, tzinfo=UTC), [1, 2])
    config = LoadJobConfig(write_disposition="WRITE_TRUNCATE", autodetect=True)
    client.load_table_from_json([{"x": 1}, {"x": 2}], name, job_config=config).result()
    assert rows(name) == [(1,), (2,)]
    config = LoadJobConfig(schema=NUMBERS, write_disposition="WRITE_TRUNCATE")
    job = client.load_table_from_file(io.BytesIO(b"5,x\n" * 300_000), name, job_config=config)
    assert job.result().output_rows == 300_000  # resumable, in several parts
    assert client.get_table(name).num_rows == 300_000


def test_what_is_not_emulated_is_named(load):
    with pytest.raises(exceptions.MethodNotImplemented, match="ORC"):
        load({"x.orc": b""}, source_format="ORC")


def test_names_of_columns_stay_or_are_refused(load, client, dataset):
    def parquet(number, name):
        content = io.BytesIO()
        pq.write_table(pa.table({name: [1]}), content)
        config = {"source_format": "PARQUET", "column_name_character_map": "STRICT"}
        file = f"{number}.parquet"
        load({file: content.getvalue()}, f"t{number}", uris=[file], **config)
        return types(client, dataset, f"t{number}")

    for number, name in enumerate(["größe in cm", "结果", "a=1 & b"]):
        assert parquet(number, name) == [(name, "INTEGER", "NULLABLE")]
    for number, name in enumerate(["size (cm)", "a.b"], 10):
        with pytest.raises(exceptions.BadRequest, match="Invalid field name"):
            parquet(number, name)
