"""Locations of datasets and jobs: a job sees the datasets of its own location, and no others."""

import uuid

import pytest
from google.api_core import exceptions
from google.cloud import storage
from google.cloud.bigquery import (
    CopyJobConfig,
    Dataset,
    DatasetReference,
    LoadJobConfig,
    QueryJobConfig,
    SourceFormat,
)

from local_gcp.bigquery.locations import fits


@pytest.fixture
def place(client):
    """Makes a dataset in a location, with the table t(x) of one row, and returns its name."""
    made = []

    def place(location):
        dataset = Dataset(f"{client.project}.in_{uuid.uuid4().hex[:8]}")
        dataset.location = location
        made.append(client.create_dataset(dataset).dataset_id)
        client.query(f"CREATE TABLE {made[-1]}.t AS SELECT 1 AS x").result()
        return made[-1]

    yield place
    for name in made:
        client.delete_dataset(name, delete_contents=True)


def bucket(client, location):
    name = f"in-{uuid.uuid4().hex[:8]}"
    return storage.Client(project=client.project).create_bucket(name, location=location)


@pytest.mark.parametrize("location", ["US", "EU", "europe-west4"])
def test_a_query_runs_where_its_table_is(client, place, location):
    job = client.query(f"SELECT x FROM {place(location)}.t")
    job.result()
    assert job.location == location


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM `local-gcp`.{d}.t",
        "SELECT 1, t.x FROM (SELECT x FROM `local-gcp.{d}.t`) AS t",
        "WITH q AS (SELECT 1) SELECT * FROM q JOIN {d}.t ON TRUE",
        "INSERT INTO {d}.t VALUES (2)",
        "UPDATE {d}.t SET x = 2 WHERE TRUE",
        "DELETE {d}.t WHERE FALSE",
        "CREATE OR REPLACE VIEW {d}.v AS SELECT 1 AS y",
        "DECLARE n INT64; SET n = (SELECT MAX(x) FROM {d}.t); SELECT n;",
        "SELECT table_name FROM {d}.INFORMATION_SCHEMA.TABLES",
    ],
)
def test_every_query_runs_where_its_tables_are(client, place, query):
    job = client.query(query.format(d=place("EU")))
    job.result()
    assert job.location == "EU"


def test_the_default_dataset_and_the_destination_say_where(client, place):
    dataset = DatasetReference(client.project, place("EU"))
    assert client.query("SELECT 1").location == "US"
    job = client.query("SELECT * FROM t", QueryJobConfig(default_dataset=dataset))
    assert ([tuple(r) for r in job.result()], job.location) == ([(1,)], "EU")
    job = client.query("SELECT 2 AS x", QueryJobConfig(destination=dataset.table("made")))
    job.result()
    assert job.location == "EU"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM {d}.t",
        "SELECT * FROM {d}.missing",
        "INSERT {d}.t VALUES (1)",
        "CREATE TABLE {d}.u AS SELECT 1 AS x",
        "CREATE MODEL {d}.m OPTIONS(model_type='linear_reg') AS SELECT 1 AS label, 2 AS x",
        "SELECT * FROM ML.PREDICT(MODEL {d}.m, (SELECT 1 AS x))",
        "DROP TABLE {d}.t",
        "DROP SCHEMA {d} CASCADE",
        "SELECT * FROM {d}.INFORMATION_SCHEMA.TABLES",
    ],
)
def test_a_job_elsewhere_does_not_find_the_dataset(client, place, query):
    dataset = place("US")
    with pytest.raises(exceptions.NotFound) as caught:
        client.query_and_wait(query.format(d=dataset), location="eu")
    expected = f"Not found: Dataset {client.project}:{dataset} was not found in location EU"
    assert expected in caught.value.message
    client.get_table(f"{dataset}.t")  # wherever it is, requests find it


def test_a_missing_table_is_missing_where_the_job_runs(client, place):
    dataset = place("EU")
    with pytest.raises(exceptions.NotFound, match=rf"Table \S+:{dataset}.u was not .* location EU"):
        client.query_and_wait(f"SELECT * FROM {dataset}.u")


def test_no_query_joins_two_locations(client, place):
    here, there = place("US"), place("EU")
    with pytest.raises(exceptions.NotFound, match=f"Dataset .*:{there} was not .* location US"):
        client.query_and_wait(f"SELECT * FROM {here}.t JOIN {there}.t AS u USING (x)")
    target = DatasetReference(client.project, there).table("copy")
    job = client.query(f"SELECT * FROM {here}.t", QueryJobConfig(destination=target))
    with pytest.raises(exceptions.NotFound, match=f"Dataset .*:{there} was not .* location US"):
        job.result()


def test_case_does_not_matter(client, place):
    dataset = place("Europe-West4")
    assert client.get_dataset(dataset).location == "europe-west4"
    job = client.query(f"SELECT * FROM {dataset}.t", location="EUROPE-WEST4")
    assert [tuple(r) for r in job.result()] == [(1,)]
    assert client.get_job(job.job_id, location="Europe-west4").location == "europe-west4"


@pytest.mark.parametrize("location", ["europe", "us-central-1", "mars"])
def test_a_location_that_is_none(client, location):
    with pytest.raises(exceptions.BadRequest, match=location):
        client.query("SELECT 1", location=location, retry=None, job_retry=None).result()
    dataset = Dataset(f"{client.project}.nowhere")
    dataset.location = location
    with pytest.raises(exceptions.BadRequest, match=location):
        client.create_dataset(dataset)


def test_a_job_of_a_region_is_found_only_with_its_location(client, place):
    """https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/get: `location`."""
    for location, needed in [("US", False), ("EU", False), ("europe-west4", True)]:
        job = client.query(f"SELECT * FROM {place(location)}.t", location=location)
        job.result()
        path = f"/projects/{client.project}/{{}}/{job.job_id}"
        for collection in ("jobs", "queries"):
            ask = {"method": "GET", "path": path.format(collection)}
            client._call_api(None, query_params={"location": location}, **ask)
            with pytest.raises(exceptions.NotFound, match=f"Not found: Job .*{job.job_id}"):
                client._call_api(None, query_params={"location": "us-east1"}, **ask)
            if not needed:
                client._call_api(None, **ask)
                continue
            with pytest.raises(exceptions.NotFound, match="Not found: Job local-gcp:"):
                client._call_api(None, **ask)
        if needed:
            with pytest.raises(exceptions.NotFound):
                client.cancel_job(job.job_id)


def test_results_without_a_destination_are_where_the_job_ran(client):
    job = client.query("SELECT 5 AS x", location="EU")
    job.result()
    assert client.get_table(job.destination).location == "EU"
    dataset, table = job.destination.dataset_id, job.destination.table_id
    again = client.query(f"SELECT * FROM {dataset}.{table}", location="EU")
    assert [tuple(r) for r in again.result()] == [(5,)]
    with pytest.raises(exceptions.NotFound, match="in location US"):
        client.query_and_wait(f"SELECT * FROM {dataset}.{table}", location="US")


def test_a_schema_is_created_where_the_query_runs(client):
    name = f"made_{uuid.uuid4().hex[:8]}"
    job = client.query(f"CREATE SCHEMA {name} OPTIONS(location='europe-west4')")
    job.result()
    assert (job.location, client.get_dataset(name).location) == ("europe-west4",) * 2
    client.query(f"CREATE SCHEMA IF NOT EXISTS {name}", location="US").result()
    client.delete_dataset(name)
    client.query(f"CREATE SCHEMA {name}", location="EU").result()
    assert client.get_dataset(name).location == "EU"
    with pytest.raises(exceptions.Conflict, match="Already Exists: Dataset"):
        client.query(f"CREATE SCHEMA {name}", location="US").result()
    with pytest.raises(exceptions.BadRequest, match="location"):
        client.query(f"CREATE SCHEMA {name}_2 OPTIONS(location='EU')", location="US").result()
    client.delete_dataset(name)


def test_a_view_over_another_location_is_refused(client, place):
    here, there = place("US"), place("EU")
    body = {
        "tableReference": {"projectId": client.project, "datasetId": there, "tableId": "v"},
        "view": {"query": f"SELECT * FROM {here}.t", "useLegacySql": False},
    }
    path = f"/projects/{client.project}/datasets/{there}/tables"
    # A request, unlike a job, does not name the location: see tests/conformance.
    with pytest.raises(exceptions.NotFound, match=f"Not found: Dataset {client.project}:{here}$"):
        client._call_api(None, method="POST", path=path, data=body)


def test_copies_stay_in_a_location(client, place):
    """BigQuery copies between locations, but never appends."""
    here, there = place("US"), place("EU")
    job = client.copy_table(f"{there}.t", f"{there}.u")
    job.result()
    assert job.location == "EU"
    with pytest.raises(exceptions.MethodNotImplemented, match="US to EU"):
        client.copy_table(f"{here}.t", f"{there}.v").result()
    append = CopyJobConfig(write_disposition="WRITE_APPEND")
    with pytest.raises(exceptions.BadRequest, match="Cross-region table copy with append mode"):
        client.copy_table(f"{here}.t", f"{there}.t", job_config=append).result()


def test_a_bucket_must_be_near(client, place):
    dataset = place("EU")
    far, near = bucket(client, "US"), bucket(client, "europe-west1")
    wrong = "Cannot read and write in different locations: source: {}, destination: {}"
    config = LoadJobConfig(source_format=SourceFormat.CSV, autodetect=True)
    for where in (far, near):
        where.blob("rows.csv").upload_from_string("x\n7\n")
    with pytest.raises(exceptions.BadRequest, match=wrong.format("US", "EU")):
        client.load_table_from_uri(f"gs://{far.name}/*", f"{dataset}.l", job_config=config).result()
    load = client.load_table_from_uri(f"gs://{near.name}/*", f"{dataset}.l", job_config=config)
    assert (load.result().output_rows, load.location) == (1, "EU")

    extract = client.extract_table(f"{dataset}.t", f"gs://{far.name}/out.csv")
    options = f"uri='gs://{far.name}/out*', format='CSV'"
    export = client.query(f"EXPORT DATA OPTIONS({options}) AS SELECT * FROM {dataset}.t")
    for job in (extract, export):
        with pytest.raises(exceptions.BadRequest, match=wrong.format("EU", "US")):
            job.result()
    client.extract_table(f"{dataset}.t", f"gs://{near.name}/out.csv").result()
    assert near.blob("out.csv").download_as_text() == "x\n1\n"


@pytest.mark.parametrize(
    ("dataset", "bucket", "expected"),
    [
        ("US", ["europe-west1"], True),  # a dataset in US takes any bucket
        ("EU", ["eu"], True),
        ("EU", ["europe-west1"], True),
        ("EU", ["europe-west2"], False),  # London
        ("EU", ["us"], False),
        ("EU", ["europe-north1", "europe-west4"], True),
        ("europe-west4", ["europe-west4"], True),
        ("europe-west4", ["europe-north1", "europe-west4"], True),
        ("europe-west4", ["eu"], False),
        ("asia-northeast1", ["asia"], False),
    ],
)
def test_which_buckets_fit(dataset, bucket, expected):
    assert fits(dataset, bucket) is expected
