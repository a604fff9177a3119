"""Customer-managed keys are kept, returned and inherited, as BigQuery's rules have it.

https://cloud.google.com/bigquery/docs/customer-managed-encryption
"""

import uuid

import pytest
from google.api_core import exceptions
from google.cloud.bigquery import (
    CopyJobConfig,
    Dataset,
    EncryptionConfiguration,
    LoadJobConfig,
    QueryJobConfig,
    SchemaField,
    Table,
)

KEY = "projects/local-gcp/locations/us/keyRings/ring/cryptoKeys/one"
OTHER = KEY.replace("one", "two")


def key(name=KEY):
    return EncryptionConfiguration(name)


def of(resource):
    """The name of the key that a table or model has, or None."""
    found = resource.encryption_configuration
    return found and found.kms_key_name


@pytest.fixture
def secret(client):
    """A dataset with a default key."""
    dataset = Dataset(f"{client.project}.secret_{uuid.uuid4().hex[:8]}")
    dataset.default_encryption_configuration = key()
    yield client.create_dataset(dataset)
    client.delete_dataset(dataset, delete_contents=True)


def make(client, dataset, name, encryption=None):
    table = Table(f"{client.project}.{dataset}.{name}", [SchemaField("x", "INT64")])
    table.encryption_configuration = encryption
    return client.create_table(table)


def test_a_table_keeps_its_key(client, dataset):
    assert of(make(client, dataset, "plain")) is None
    assert of(make(client, dataset, "t", key())) == KEY
    assert of(client.get_table(f"{dataset}.t")) == KEY
    client.query_and_wait(f"CREATE TABLE {dataset}.u (x INT64) OPTIONS(kms_key_name='{KEY}')")
    assert of(client.get_table(f"{dataset}.u")) == KEY


def test_a_key_is_changed_but_neither_given_nor_taken_by_an_update(client, dataset):
    table, plain = make(client, dataset, "t", key()), make(client, dataset, "plain")
    table.encryption_configuration = key(OTHER)
    assert of(client.update_table(table, ["encryption_configuration"])) == OTHER
    alter = "ALTER TABLE {}.{} SET OPTIONS(kms_key_name='{}')"
    client.query_and_wait(alter.format(dataset, "t", KEY))
    table = client.get_table(table)
    assert of(table) == KEY
    table.description = "kept"
    assert of(client.update_table(table, ["description"])) == KEY
    table, plain.encryption_configuration = client.get_table(table), key()
    with pytest.raises(exceptions.BadRequest, match="encryption"):
        client.update_table(plain, ["encryption_configuration"])
    with pytest.raises(exceptions.BadRequest, match="encryption"):
        client.query_and_wait(alter.format(dataset, "plain", KEY))
    table.encryption_configuration = None
    with pytest.raises(exceptions.BadRequest, match="encryption"):
        client.update_table(table, ["encryption_configuration"])


def test_a_dataset_gives_its_key_to_new_tables(client, secret):
    name = secret.dataset_id
    assert client.get_dataset(name).default_encryption_configuration == key()
    assert of(make(client, name, "t")) == KEY
    assert of(make(client, name, "own", key(OTHER))) == OTHER
    client.query_and_wait(f"CREATE TABLE {name}.made AS SELECT 1 AS x")
    client.query_and_wait(f"CREATE VIEW {name}.v AS SELECT 1 AS x")
    client.load_table_from_json([{"x": 1}], f"{name}.loaded").result()
    client.copy_table(f"{name}.own", f"{name}.copied").result()
    target = secret.table("selected")
    client.query("SELECT 1 AS x", QueryJobConfig(destination=target)).result()
    found = {t.table_id: of(client.get_table(t)) for t in client.list_tables(name)}
    assert found == {
        **dict.fromkeys(["t", "made", "loaded", "copied", "selected"], KEY),
        "own": OTHER,
        "v": None,
    }

    secret = client.get_dataset(name)
    secret.default_encryption_configuration = None
    client.update_dataset(secret, ["default_encryption_configuration"])
    assert client.get_dataset(name).default_encryption_configuration is None
    assert of(make(client, name, "after")) is None
    assert of(client.get_table(f"{name}.made")) == KEY  # tables that are there keep theirs


def test_create_schema_takes_a_key(client):
    name = f"made_{uuid.uuid4().hex[:8]}"
    client.query_and_wait(f"CREATE SCHEMA {name} OPTIONS(default_kms_key_name='{KEY}')")
    assert client.get_dataset(name).default_encryption_configuration == key()
    client.delete_dataset(name)


def test_jobs_say_and_use_the_destination_key(client, dataset):
    place = client.get_dataset(dataset)
    config = {"destination_encryption_configuration": key()}
    select = client.query("SELECT 1 AS x", QueryJobConfig(destination=place.table("a"), **config))
    load = client.load_table_from_json(
        [{"x": 1}], f"{dataset}.b", job_config=LoadJobConfig(autodetect=True, **config)
    )
    for job in (select, load):
        job.result()
    copy = client.copy_table(f"{dataset}.a", f"{dataset}.c", job_config=CopyJobConfig(**config))
    copy.result()
    for job in (select, load, copy):
        assert client.get_job(job.job_id).destination_encryption_configuration == key()
        assert of(client.get_table(job.destination)) == KEY
    unnamed = client.query("SELECT 1", QueryJobConfig(**config))
    unnamed.result()
    assert of(client.get_table(unnamed.destination)) == KEY


def test_a_copy_sets_and_removes_a_key(client, dataset):
    table = make(client, dataset, "t")
    client.query_and_wait(f"INSERT {dataset}.t VALUES (1)")
    truncate = {"write_disposition": "WRITE_TRUNCATE"}
    config = CopyJobConfig(destination_encryption_configuration=key(), **truncate)
    client.copy_table(table, table, job_config=config).result()
    assert of(client.get_table(table)) == KEY
    client.copy_table(table, table, job_config=CopyJobConfig(**truncate)).result()
    table = client.get_table(table)
    assert (of(table), table.num_rows) == (None, 1)


def test_the_destination_has_another_key(client, dataset):
    table = make(client, dataset, "t", key())

    def select(**config):
        return client.query("SELECT 1 AS x", QueryJobConfig(destination=table, **config)).result()

    append = {"write_disposition": "WRITE_APPEND"}
    select(destination_encryption_configuration=key(), **append)
    select(**append)
    with pytest.raises(exceptions.BadRequest, match="Existing table encryption settings"):
        select(destination_encryption_configuration=key(OTHER), **append)
    truncate = {"write_disposition": "WRITE_TRUNCATE"}
    select(destination_encryption_configuration=key(OTHER), **truncate)
    assert of(client.get_table(table)) == OTHER
    select(**truncate)
    assert of(client.get_table(table)) == OTHER


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "The KMS key does not contain a location."),
        ("one", "projects/"),
        (f"{KEY}/cryptoKeyVersions/1", "cryptoKeyVersions"),
        (KEY.replace("/us/", "/europe/"), "This region is not supported"),
        (KEY.replace("/us/", "/us-central1/"), "This region is not supported"),
    ],
)
def test_keys_that_cannot_be(client, dataset, name, message):
    with pytest.raises(exceptions.BadRequest, match=message):
        make(client, dataset, "t", key(name))
    config = QueryJobConfig(destination_encryption_configuration=key(name))
    with pytest.raises(exceptions.BadRequest, match=message):
        client.query_and_wait("SELECT 1", job_config=config)
    if name:
        wrong = Dataset(f"{client.project}.wrong")
        wrong.default_encryption_configuration = key(name)
        with pytest.raises(exceptions.BadRequest, match=message):
            client.create_dataset(wrong)


@pytest.mark.parametrize(
    ("location", "place"), [("EU", "europe"), ("europe-west4", "europe-west4"), ("EU", "global")]
)
def test_where_a_key_is(client, location, place):
    dataset = Dataset(f"{client.project}.in_{uuid.uuid4().hex[:8]}")
    dataset.location = location
    dataset.default_encryption_configuration = key(KEY.replace("/us/", f"/{place}/"))
    assert client.create_dataset(dataset).default_encryption_configuration is not None
    client.delete_dataset(dataset)


def test_statements_say_their_key_themselves(client, dataset):
    """BigQuery's treatment of a job's key for a table that a statement creates is not known."""
    config = QueryJobConfig(destination_encryption_configuration=key())
    with pytest.raises(exceptions.MethodNotImplemented, match="kms_key_name"):
        client.query_and_wait(f"CREATE TABLE {dataset}.t (x INT64)", job_config=config)


def train(client, dataset, options=""):
    name = f"{dataset}.m_{uuid.uuid4().hex[:8]}"
    client.query_and_wait(
        f"CREATE MODEL {name} OPTIONS(model_type='linear_reg'{options}) AS "
        "SELECT x, 2 * x AS label FROM UNNEST(GENERATE_ARRAY(1, 20)) AS x"
    )
    return client.get_model(name)


@pytest.mark.slow
def test_a_model_keeps_its_key(client, dataset, secret):
    assert of(train(client, dataset)) is None
    model = train(client, dataset, f", kms_key_name='{KEY}'")
    assert (of(model), model.location) == (KEY, "US")
    assert of(train(client, secret.dataset_id)) == KEY
    model.encryption_configuration = key(OTHER)
    assert of(client.update_model(model, ["encryption_configuration"])) == OTHER
    plain = train(client, dataset)
    plain.encryption_configuration = key()
    with pytest.raises(exceptions.BadRequest, match="encryption"):
        client.update_model(plain, ["encryption_configuration"])


def test_no_global_key_for_boosted_trees(client, dataset):
    everywhere = KEY.replace("/us/", "/global/")
    with pytest.raises(exceptions.BadRequest, match="global"):
        client.query_and_wait(
            f"CREATE MODEL {dataset}.m OPTIONS(model_type='boosted_tree_regressor', "
            f"kms_key_name='{everywhere}') AS SELECT 1 AS x, 2 AS label"
        )
