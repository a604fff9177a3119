"""Extract jobs and EXPORT DATA: the files that are left in the bucket."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.api_core import exceptions
from google.cloud.bigquery import ExtractJobConfig, LoadJobConfig

from local_gcp.bigquery.extract_job import row_group_rows
from local_gcp.bigquery.schema import Field


@pytest.fixture
def table(client, dataset):
    client.query(
        f"""CREATE TABLE {dataset}.t AS SELECT * FROM UNNEST([
        STRUCT(1 AS i, 0.5 AS f, 'a,"b"' AS s, DATE '2024-01-03' AS d,
          TIMESTAMP '2024-01-03 01:02:03.5' AS ts, NUMERIC '1.50' AS n, TRUE AS b),
        STRUCT(2, NULL, NULL, NULL, NULL, NULL, FALSE)])"""
    ).result()
    return f"{dataset}.t"


@pytest.fixture
def extract(client, table, folder):
    """Extracts the table to a name in the bucket; returns the files by name."""

    def extract(name, source=table, **config):
        job = client.extract_table(
            source, f"gs://{folder.name}/{name}", job_config=ExtractJobConfig(**config)
        )
        job.result()
        files = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
        assert job.destination_uri_file_counts == [len(files)]
        return files

    return extract


def test_csv(extract):
    (path,) = extract("out/x.csv").values()
    assert path.read_text() == (
        "i,f,s,d,ts,n,b\n"
        '1,0.5,"a,""b""",2024-01-03,2024-01-03 01:02:03.5 UTC,1.5,true\n'
        "2,,,,,,false\n"
    )


def test_csv_options(extract):
    config = {"print_header": False, "field_delimiter": "\t", "compression": "GZIP"}
    (path,) = extract("x-*.csv.gz", **config).values()
    assert path.name == "x-000000000000.csv.gz"
    assert gzip.decompress(path.read_bytes()).decode().splitlines()[1].split("\t")[0] == "2"


def test_json(extract):
    (path,) = extract("x.json", destination_format="NEWLINE_DELIMITED_JSON").values()
    first, second = map(json.loads, path.read_text().splitlines())
    assert (first["i"], first["f"], first["d"], first["b"]) == ("1", 0.5, "2024-01-03", True)
    assert second["i"] == "2"


def test_parquet(extract):
    (path,) = extract("x.parquet", destination_format="PARQUET", compression="SNAPPY").values()
    table = pq.read_table(path)
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    assert (types["i"], types["n"]) == (pa.int64(), pa.decimal128(38, 9))
    assert types["ts"] == pa.timestamp("us", "UTC")
    assert table["f"].to_pylist() == [0.5, None]


def test_large_tables_become_several_files(client, extract, dataset):
    columns = ", ".join(f"RAND() AS f{i}" for i in range(32))
    client.query(
        f"CREATE TABLE {dataset}.large AS SELECT n, {columns} "
        "FROM UNNEST(GENERATE_ARRAY(1, 400000)) AS n"
    ).result()
    files = extract("rows-*.parquet", f"{dataset}.large", destination_format="PARQUET")
    assert sorted(files) == ["rows-000000000000.parquet", "rows-000000000001.parquet"]
    keys = [n for name in sorted(files) for n in pq.read_table(files[name])["n"].to_pylist()]
    assert sorted(keys) == list(range(1, 400_001))


@pytest.mark.slow
def test_wide_tables(client, extract, dataset, folder):
    columns = ", ".join(f"n + {i} AS f{i}" for i in range(2000))
    query = f"SELECT {columns} FROM UNNEST(GENERATE_ARRAY(1, 10000)) AS n"
    client.query_and_wait(f"CREATE TABLE {dataset}.wide AS {query}")
    files = extract("rows.parquet", f"{dataset}.wide", destination_format="PARQUET")
    found = pq.read_metadata(files["rows.parquet"])
    assert [found.row_group(i).num_rows for i in range(found.num_row_groups)] == [8192, 1808]
    load = LoadJobConfig(source_format="PARQUET")
    uri = f"gs://{folder.name}/rows.parquet"
    client.load_table_from_uri(uri, f"{dataset}.again", job_config=load).result()
    assert client.get_table(f"{dataset}.again").num_bytes == 10_000 * 2000 * 8


@pytest.mark.parametrize(
    ("fields", "row_bytes", "rows"),
    [
        ([Field("x", "FLOAT64")] * 100, None, 122_880),  # never more
        ([Field("x", "FLOAT64")] * 2000, None, 8192),
        ([Field("x", "FLOAT64")] * 2000, 1000, 122_880),  # mostly NULLs
        ([Field("x", "STRING")], 10_000, 12_288),
        ([Field("x", "FLOAT64", "REPEATED")] * 100, None, 10_240),
        ([Field("x", "BYTES")], 50e6, 2048),  # never fewer
    ],
)
def test_rows_of_a_row_group(fields, row_bytes, rows):
    assert row_group_rows(fields, row_bytes) == rows


def test_export_data(client, table, folder):
    def export(extra=""):
        query = f"""EXPORT DATA OPTIONS (uri = 'gs://{folder.name}/e-*.parquet',
            format = 'PARQUET'{extra}) AS SELECT i, [STRUCT(s AS label, f AS prob)] AS p
            FROM {table} ORDER BY i"""
        client.query(query).result()

    export()
    (path,) = folder.glob("e-*")
    assert pq.read_table(path).to_pylist()[0] == {"i": 1, "p": [{"label": 'a,"b"', "prob": 0.5}]}
    with pytest.raises(exceptions.BadRequest, match="overwrite"):
        export()
    export(", overwrite = true")


def test_what_cannot_be_extracted_is_named(client, extract, table, dataset):
    client.query(f"CREATE TABLE {dataset}.nested AS SELECT [1] AS xs").result()
    with pytest.raises(exceptions.BadRequest, match=r"nested schema\. Field: xs"):
        extract("x.csv", f"{dataset}.nested")
    with pytest.raises(exceptions.NotFound, match="Not found: Bucket nowhere"):
        client.extract_table(table, "gs://nowhere/x.csv").result()
    with pytest.raises(exceptions.BadRequest, match="Compression SNAPPY is not supported for CSV"):
        extract("x.csv", compression="SNAPPY")
