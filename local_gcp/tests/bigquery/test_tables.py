"""Datasets, tables and views as resources, through Google's client."""

import datetime
import time

import pytest
from google.api_core import exceptions
from google.cloud.bigquery import Dataset, SchemaField, Table, TimePartitioning


@pytest.fixture
def table(client, dataset):
    schema = [SchemaField("key", "STRING", "REQUIRED"), SchemaField("value", "FLOAT64")]
    return client.create_table(Table(f"{client.project}.{dataset}.t", schema))


def test_a_dataset_is_made_changed_listed_and_deleted(client):
    wanted = Dataset(f"{client.project}.research")
    wanted.description, wanted.labels, wanted.location = "rows", {"team": "a"}, "EU"
    made = client.create_dataset(wanted)
    assert (made.description, made.location) == ("rows", "EU")
    assert client.create_dataset(wanted, exists_ok=True).etag == made.etag
    with pytest.raises(exceptions.Conflict, match="Already Exists: Dataset"):
        client.create_dataset(wanted)

    made.labels = {"team": None, "kind": "b"}
    assert client.update_dataset(made, ["labels"]).labels == {"kind": "b"}
    with pytest.raises(exceptions.PreconditionFailed):
        client.update_dataset(made, ["labels"])  # its etag is the old one

    assert "research" in [d.dataset_id for d in client.list_datasets()]
    assert [d.dataset_id for d in client.list_datasets(filter="labels.kind:b")] == ["research"]
    client.delete_dataset("research")
    client.delete_dataset("research", not_found_ok=True)
    with pytest.raises(exceptions.NotFound, match="Not found: Dataset local-gcp:research"):
        client.get_dataset("research")


def test_a_dataset_with_tables_is_in_use(client, dataset, table):
    with pytest.raises(exceptions.BadRequest, match="still in use"):
        client.delete_dataset(dataset)
    client.get_table(table)


def test_another_project_is_refused(client):
    with pytest.raises(exceptions.Forbidden, match="only project"):
        client.get_table("elsewhere.d.t")


def test_a_table_says_what_it_holds(client, table):
    client.load_table_from_json([{"key": "aé", "value": 1.5}, {"key": "b"}], table).result()
    got = client.get_table(table)
    assert got.schema == table.schema
    assert (got.num_rows, got.table_type, got.location) == (2, "TABLE", "US")
    assert got.num_bytes == (2 + 3) + 8 + (2 + 1)  # UTF-8 and two; NULL is nothing
    assert got.etag != table.etag


def test_create_table_twice(client, table):
    with pytest.raises(exceptions.Conflict, match=r"Already Exists: Table local-gcp:\w+\.t"):
        client.create_table(table)
    client.create_table(table, exists_ok=True)


def test_names_differ_by_case(client, dataset, table):
    other = client.create_table(Table(f"{client.project}.{dataset}.T", [SchemaField("x", "BOOL")]))
    assert [t.table_id for t in client.list_tables(dataset)] == ["T", "t"]
    client.delete_table(other)
    assert client.get_table(table).schema == table.schema


def test_columns_are_added_and_relaxed(client, table, rows):
    client.insert_rows_json(table, [{"key": "a", "value": 1}])
    table = client.get_table(table)  # its etag is a new one
    table.schema = [
        SchemaField("key", "STRING", "NULLABLE", description="who"),
        *table.schema[1:],
        SchemaField("tags", "STRING", "REPEATED"),
    ]
    changed = client.update_table(table, ["schema"])
    assert changed.schema[0].description == "who"
    assert client.insert_rows_json(changed, [{"tags": ["x", "y"]}]) == []
    assert rows(table) == [("a", 1.0, []), (None, None, ["x", "y"])]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s[:1], "Field value is missing in new schema"),
        (
            lambda s: [s[0], SchemaField("value", "STRING")],
            "Field value has changed type from FLOAT64 to STRING",
        ),
        (
            lambda s: [*s, SchemaField("more", "INT64", "REQUIRED")],
            "Cannot add required fields",
        ),
        (
            lambda s: [s[0], SchemaField("value", "FLOAT64", "REQUIRED")],
            "Field value has changed mode from NULLABLE to REQUIRED",
        ),
    ],
)
def test_other_changes_of_columns_are_refused(client, table, change, message):
    table.schema = change(table.schema)
    with pytest.raises(exceptions.BadRequest, match=message):
        client.update_table(table, ["schema"])


def test_words_labels_and_expiry(client, table):
    table.description, table.labels = "rows", {"team": "a"}
    table.expires = datetime.datetime.now(datetime.UTC) + datetime.timedelta(milliseconds=900)
    client.update_table(table, ["description", "labels", "expires"])
    got = client.get_table(table)
    assert (got.description, got.labels) == ("rows", {"team": "a"})
    time.sleep(1)
    with pytest.raises(exceptions.NotFound):
        client.get_table(table)
    client.create_table(Table(table.reference, [SchemaField("x", "INT64")]))


def test_a_view_answers_for_its_query(client, dataset, table, run):
    client.insert_rows_json(table, [{"key": "a", "value": 1.5}, {"key": "b", "value": 4}])
    view = Table(f"{client.project}.{dataset}.v")
    view.view_query = f"SELECT key, value * 2 AS twice FROM {dataset}.t WHERE value > 2"
    made = client.create_table(view)
    assert made.table_type == "VIEW"
    assert [(f.name, f.field_type) for f in made.schema] == [("key", "STRING"), ("twice", "FLOAT")]
    assert run(f"SELECT * FROM {dataset}.v") == [("b", 8.0)]


def test_partitioning_must_name_a_column_of_time(client, dataset):
    table = Table(f"{client.project}.{dataset}.p", [SchemaField("x", "INT64")])
    table.time_partitioning = TimePartitioning(field="x")
    with pytest.raises(exceptions.BadRequest, match="can only be of type TIMESTAMP, DATE or DAT"):
        client.create_table(table)
    table.time_partitioning = TimePartitioning(field="y")
    with pytest.raises(exceptions.BadRequest, match="cannot be found in the schema: y"):
        client.create_table(table)


@pytest.mark.parametrize("kind", ["GEOGRAPHY", "INTERVAL", "BIGNUMERIC"])
def test_types_that_are_not_emulated_are_named(client, dataset, kind):
    table = Table(f"{client.project}.{dataset}.p", [SchemaField("x", kind)])
    with pytest.raises(exceptions.MethodNotImplemented, match=kind):
        client.create_table(table)


def test_pages_of_lists(client, dataset):
    for number in range(5):
        client.create_table(Table(f"{client.project}.{dataset}.t{number}", []))
    pages = client.list_tables(dataset, page_size=2).pages
    assert [[t.table_id for t in page] for page in pages] == [["t0", "t1"], ["t2", "t3"], ["t4"]]
