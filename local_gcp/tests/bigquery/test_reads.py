"""The Storage Read API, as `to_dataframe` uses it and by itself."""

import pyarrow as pa
import pytest
from google.api_core import exceptions
from google.cloud import bigquery_storage
from google.cloud.bigquery_storage import types


@pytest.fixture
def table(client, dataset):
    """`n`: 0 to 49,999; `s`: every third is NULL."""
    client.query(
        f"""CREATE TABLE {dataset}.t AS
        SELECT n, IF(MOD(n, 3) = 0, NULL, CONCAT('s', CAST(n AS STRING))) AS s, [n, n + 1] AS pair,
          TIMESTAMP_MICROS(n) AS moment, DATETIME '2024-01-03 01:02:03.5' AS dt, NUMERIC '1.5' AS x
        FROM UNNEST(GENERATE_ARRAY(0, 49999)) AS n"""
    ).result()
    return f"projects/{client.project}/datasets/{dataset}/tables/t"


@pytest.fixture
def reader(client):
    return bigquery_storage.BigQueryReadClient()


def session(client, reader, table, data_format="ARROW", streams=3, **options):
    wanted = types.ReadSession(table=table, data_format=data_format, read_options=options)
    return reader.create_read_session(
        parent=f"projects/{client.project}", read_session=wanted, max_stream_count=streams
    )


def test_streams_share_the_rows(client, reader, table):
    made = session(client, reader, table)
    assert len(made.streams) == 3
    assert made.estimated_row_count == 50_000
    parts = [reader.read_rows(s.name).rows(made).to_arrow() for s in made.streams]
    assert all(part.num_rows > 10_000 for part in parts)
    whole = pa.concat_tables(parts)
    assert sorted(whole["n"].to_pylist()) == list(range(50_000))
    assert whole["pair"][0].as_py() == [whole["n"][0].as_py(), whole["n"][0].as_py() + 1]


def test_columns_and_rows_are_chosen(client, reader, table):
    made = session(
        client,
        reader,
        table,
        selected_fields=["s", "n"],
        row_restriction="n >= 10 AND s IS NOT NULL AND n < 14",
    )
    (stream,) = made.streams
    got = reader.read_rows(stream.name).rows(made).to_arrow()
    assert got.to_pydict() == {"n": [10, 11, 13], "s": ["s10", "s11", "s13"]}


def test_a_read_goes_on_where_it_broke_off(client, reader, table):
    made = session(client, reader, table, streams=1)
    rest = reader.read_rows(made.streams[0].name, offset=49_990).rows(made)
    assert [row["n"].as_py() for row in rest] == list(range(49_990, 50_000))


def test_a_session_sees_its_moment(client, reader, table, dataset):
    made = session(client, reader, table, streams=1)
    client.query(f"TRUNCATE TABLE {dataset}.t").result()
    assert reader.read_rows(made.streams[0].name).rows(made).to_arrow().num_rows == 50_000
    empty = session(client, reader, table)
    assert list(empty.streams) == []


def test_what_is_wrong_is_named(client, reader, table):
    with pytest.raises(exceptions.NotFound, match="Not found: Table"):
        session(client, reader, table + "x")
    with pytest.raises(exceptions.InvalidArgument, match="nothing"):
        session(client, reader, table, selected_fields=["nothing"])
    with pytest.raises(exceptions.InvalidArgument, match="Unrecognized name: nothing"):
        session(client, reader, table, row_restriction="nothing > 1")
    with pytest.raises(exceptions.MethodNotImplemented, match="the data format AVRO"):
        session(client, reader, table, "AVRO")
    with pytest.raises(exceptions.NotFound):
        list(reader.read_rows(f"{table}/sessions/x/streams/0"))


def test_a_large_result_becomes_a_frame_with_the_defaults(client, table, dataset):
    frame = client.query(f"SELECT n, s, moment, dt FROM {dataset}.t").to_dataframe()
    assert len(frame) == 50_000
    assert sorted(frame["n"]) == list(range(50_000))
    assert frame["s"].isna().sum() == 16_667
    assert str(frame["n"].dtype) == "Int64"
    assert str(frame["moment"].dtype) == "datetime64[us, UTC]"
    rows = client.list_rows(f"{dataset}.t").to_arrow()
    assert rows.num_rows == 50_000
