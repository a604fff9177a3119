"""Every query parameter of Google's discovery documents is sent once: it is refused by name, or it
has an effect, or none is to be had. `query_parameters.json` has, by method, verb, path and names.
"""

import json
import re
from pathlib import Path

import pytest
import requests

from local_gcp.emulated_parameters import METHODS

HERE = Path(__file__).parent
DOCUMENTED = json.loads((HERE / "query_parameters.json").read_text())
HOSTS = {
    "bigquery": "https://bigquery.googleapis.com",
    "storage": "https://storage.googleapis.com",
    "dataflow": "https://dataflow.googleapis.com",
}
DATAFLOW = {"filter", "location", "minimumImportance", "name", "pageSize", "pageToken", "view"}
DATAFLOW |= {"startTime", "endTime"}
"""Fields of the requests that Dataflow's methods read: dataflow/test_jobs.py."""
SOURCES = "".join(
    path.read_text()
    for part in ("bigquery", "storage", "project_apis")
    for path in (HERE.parent / "src/local_gcp" / part).glob("*.py")
)


@pytest.fixture(scope="module")
def session(local_gcp):
    with requests.Session() as session:
        session.trust_env = False
        session.proxies = {"https": local_gcp.client_env["https_proxy"]}
        session.verify = local_gcp.client_env["REQUESTS_CA_BUNDLE"]
        yield session


def send(session, method, **parameters):
    verb, path, *_ = DOCUMENTED[method]
    name = re.sub(r"\{projects?Id\}", "local-gcp", path)
    address = HOSTS[method.partition(".")[0]] + re.sub(r"\{\w+\}", "nothing", name)
    return session.request(verb, address, params=parameters, json={})


def taken(method, name):
    if method.startswith("dataflow."):
        return name in DATAFLOW and "Range" not in name
    known = METHODS.get(method)
    return known is not None and name in f"{known.used} {known.output}".split()


@pytest.mark.parametrize("method", DOCUMENTED)
def test_a_parameter_is_refused_by_name_or_taken(session, method):
    for name in DOCUMENTED[method][2:]:
        answer = send(session, method, **{name: "unlikely"})
        emulated = answer.status_code != 501 or "the parameter" in answer.text
        refused = answer.status_code == 501 and name in answer.json()["error"]["message"]
        only = name in (METHODS[method].only if method in METHODS else ())
        assert not emulated or refused == (only or not taken(method, name)), (name, answer.text)


@pytest.mark.parametrize("method", ["bigquery.tables.get", "storage.objects.list"])
def test_a_parameter_that_google_does_not_know_is_refused(session, method):
    answer = send(session, method, selectedfields="a")
    assert answer.status_code == 501
    assert "selectedfields" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("bigquery.tables.get", {"view": "TABLE_METADATA_VIEW_UNSPECIFIED"}),
        ("bigquery.tables.patch", {"autodetect_schema": "false"}),
        ("bigquery.datasets.update", {"updateMode": "UPDATE_FULL"}),
        ("storage.objects.list", {"softDeleted": "False", "projection": "noAcl"}),
        ("storage.objects.patch", {"projection": "full"}),
        ("storage.buckets.get", {"alt": "json", "prettyPrint": "false", "fields": "name"}),
    ],
)
def test_defaults_of_what_is_not_emulated_may_be_sent(session, method, parameters):
    assert send(session, method, **parameters).status_code == 404


def test_each_used_parameter_is_read_somewhere():
    parts = {f'"{name}"' for message in METHODS.values() for name in message.used.split()}
    # Preconditions are read by a prefix and a rest; Policies and views are as they are kept.
    unread = {part for part in parts if part not in SOURCES and not part.startswith('"if')}
    assert unread == {'"accessPolicyVersion"', '"versions"', '"userProject"'}


def test_the_table_names_methods_and_parameters_of_the_documents():
    for method, message in METHODS.items():
        if method.partition(".")[0] in HOSTS and method != "bigquery.jobs.insert":
            unknown = {*message.used.split(), *message.output.split(), *message.defaults}
            extra = {"upload_id", "projection"} if ".jobs." in method else {"upload_id"}
            assert unknown - extra <= set(DOCUMENTED[method][2:]), method


def test_a_bucket_of_another_project_is_refused(session):
    for method in ("storage.buckets.insert", "storage.buckets.list"):
        verb, path, *_ = DOCUMENTED[method]
        address = HOSTS["storage"] + path
        answer = session.request(
            verb, address, params={"project": "elsewhere"}, json={"name": "of-another-project"}
        )
        assert answer.status_code == 403, answer.text
        assert "elsewhere" in answer.json()["error"]["message"]


def test_the_key_of_a_copy_and_of_a_composition_is_the_one_asked_for(session):
    key = "projects/local-gcp/locations/us/keyRings/r/cryptoKeys/k"
    bucket = f"{HOSTS['storage']}/storage/v1/b"
    session.post(bucket, json={"name": "query-parameters"}).raise_for_status()
    upload = f"{HOSTS['storage']}/upload/storage/v1/b/query-parameters/o"
    session.post(upload, params={"uploadType": "media", "name": "a"}, data=b"1").raise_for_status()
    objects = f"{bucket}/query-parameters/o"
    composed = session.post(
        f"{objects}/b/compose",
        params={"kmsKeyName": key},
        json={"sourceObjects": [{"name": "a"}]},
    )
    copied = session.post(
        f"{objects}/a/rewriteTo/b/query-parameters/o/c", params={"destinationKmsKeyName": key}
    )
    assert composed.json()["kmsKeyName"] == key
    assert copied.json()["resource"]["kmsKeyName"] == key
