"""Jobs that fail in the middle of their rows: each ends DONE, says why, and leaves nothing."""

import uuid

import fastavro
import pytest
from google.api_core import exceptions
from google.cloud.bigquery import ExtractJobConfig, LoadJobConfig, QueryJobConfig

LATE = "SELECT n, DIV(1, 200000 - n) AS x FROM UNNEST(GENERATE_ARRAY(1, 200000)) AS n"
"""Its last row divides by zero."""
ZERO = "division by zero: 1 / 0"


def failed(job):
    """The error of a job that is to fail."""
    with pytest.raises(exceptions.GoogleAPICallError):
        job.result(timeout=60)
    job.reload()
    assert job.state == "DONE"
    return job.error_result["message"]


@pytest.fixture
def begin(client):
    """Begins a query job that nobody retries."""

    def begin(query, **config):
        config = QueryJobConfig(**config)
        job_id = f"failing_{uuid.uuid4().hex}"
        return client.query(query, job_id=job_id, job_config=config, job_retry=None)

    return begin


@pytest.fixture
def names(client, dataset):
    """The dataset's tables."""
    return lambda: [table.table_id for table in client.list_tables(dataset)]


def test_a_query(client, dataset, begin, names):
    assert failed(begin(LATE)) == ZERO
    assert failed(begin(LATE, destination=f"{client.project}.{dataset}.t")) == ZERO
    assert failed(begin(f"CREATE TABLE {dataset}.t AS {LATE}")) == ZERO
    assert failed(begin(f"DECLARE x ARRAY<INT64> DEFAULT ARRAY(SELECT x FROM ({LATE}))")) == ZERO
    assert names() == []


@pytest.mark.parametrize("format", ["PARQUET", "CSV", "JSON"])
def test_an_export(begin, folder, format):
    uri = f"gs://{folder.name}/rows-*"
    query = f"EXPORT DATA OPTIONS(uri = '{uri}', format = '{format}') AS {LATE}"
    assert failed(begin(query)) == ZERO
    assert list(folder.iterdir()) == []


def test_a_model(dataset, begin, client):
    query = f"CREATE MODEL {dataset}.m OPTIONS(model_type = 'linear_reg', input_label_cols = ['x'])"
    assert failed(begin(f"{query} AS {LATE}")) == ZERO
    assert list(client.list_models(dataset)) == []


@pytest.mark.parametrize("format", ["PARQUET", "CSV"])
def test_an_extract_that_takes_too_long(client, dataset, run, folder, format):
    run(f"CREATE TABLE {dataset}.t AS {LATE.replace('200000 - n', '300000 - n')}")
    config = ExtractJobConfig(destination_format=format)
    config._properties["jobTimeoutMs"] = "5"
    job = client.extract_table(f"{dataset}.t", f"gs://{folder.name}/rows-*", job_config=config)
    assert failed(job).endswith(" timed out after 5 ms")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("format", "damaged"), [("PARQUET", 4), ("AVRO", 100_000)])
def test_a_load_of_a_damaged_file(client, dataset, run, folder, names, format, damaged):
    uri = f"gs://{folder.name}/rows-*"
    query = LATE.replace("200000 - n", "300000 - n")
    if format == "AVRO":
        file = folder / "rows-0.avro"
        rows = {"type": "record", "name": "rows", "fields": [{"name": "n", "type": "long"}]}
        with file.open("wb") as target:
            fastavro.writer(target, rows, ({"n": n} for n in range(200_000)))
    else:
        run(f"EXPORT DATA OPTIONS(uri = '{uri}', format = '{format}') AS {query}")
        (file,) = folder.iterdir()
    content = bytearray(file.read_bytes())
    content[damaged : damaged + 5000] = b"\xff" * 5000
    file.write_bytes(content)
    config = LoadJobConfig(source_format=format)
    message = failed(client.load_table_from_uri(uri, f"{dataset}.t", job_config=config))
    assert message.startswith("Error while reading data"), message
    assert names() == []
