"""Facts of a project over REST, and the changes by HOME/project.json."""

import json

import pytest
import requests

PROJECT = "projects/local-gcp"
COMPUTE = f"https://compute.googleapis.com/compute/v1/{PROJECT}"
USAGE = "https://serviceusage.googleapis.com"
ACCOUNT = "https://iam.googleapis.com/v1/projects/-/serviceAccounts/jobs@local-gcp.iam.gserviceaccount.com"
MANAGER = "https://cloudresourcemanager.googleapis.com"


@pytest.fixture
def ask(local_gcp):
    """A request to https://HOST/PATH through the proxy: status and JSON."""
    env = local_gcp.client_env

    def request(method: str, url: str, **arguments):
        answer = requests.request(
            method,
            url,
            proxies={"https": env["https_proxy"]},
            verify=env["REQUESTS_CA_BUNDLE"],
            timeout=10,
            **arguments,
        )
        return answer.status_code, answer.json()

    return request


@pytest.fixture
def differs(local_gcp):
    """Writes HOME/project.json; it is gone after the test."""
    file = local_gcp.home / "project.json"
    yield lambda **facts: file.write_text(json.dumps(facts))
    file.unlink(missing_ok=True)


def test_apis_are_enabled_unless_the_file_says_otherwise(ask, differs):
    def states():
        names = [f"{PROJECT}/services/{name}.googleapis.com" for name in ("dataflow", "compute")]
        _, answer = ask("GET", f"{USAGE}/v1/{PROJECT}/services:batchGet", params={"names": names})
        return [service["state"] for service in answer["services"]]

    assert states() == ["ENABLED", "ENABLED"]
    differs(disabled_apis=["compute.googleapis.com"])
    assert states() == ["ENABLED", "DISABLED"]
    status, answer = ask("GET", f"{COMPUTE}/regions/us-central1")
    assert (status, answer["error"]["details"][0]["reason"]) == (403, "SERVICE_DISABLED")


def test_an_api_that_google_does_not_have(ask):
    names = [f"{PROJECT}/services/teleport.googleapis.com"]
    status, answer = ask("GET", f"{USAGE}/v1/{PROJECT}/services:batchGet", params={"names": names})
    assert status == 403
    assert "teleport.googleapis.com" in answer["error"]["message"]


@pytest.mark.parametrize("resource", [f"{MANAGER}/v3/{PROJECT}", ACCOUNT])
def test_permissions(ask, differs, resource):
    body = {"permissions": ["a.b.create", "a.b.get"]}
    assert ask("POST", f"{resource}:testIamPermissions", json=body) == (200, body)
    differs(missing_permissions=["a.b.create"])
    held = ask("POST", f"{resource}:testIamPermissions", json=body)[1]
    assert held == {"permissions": ["a.b.get"]}
    differs(missing_permissions=["a.b.create", "a.b.get"])
    assert ask("POST", f"{resource}:testIamPermissions", json=body) == (200, {})


def test_a_field_that_google_does_not_know_is_refused(ask):
    body = {"permissions": ["a.b.get"], "resource": "x"}
    status, answer = ask("POST", f"{MANAGER}/v3/{PROJECT}:testIamPermissions", json=body)
    assert (status, '"resource"' in answer["error"]["message"]) == (400, True)


def test_permissions_on_a_bucket(ask):
    api = "https://storage.googleapis.com/storage/v1/b"
    ask("POST", f"{api}?project=local-gcp", json={"name": "tested"})
    asked = {"permissions": ["storage.objects.get", "storage.objects.list"]}
    status, answer = ask("GET", f"{api}/tested/iam/testPermissions", params=asked)
    assert (status, answer) == (200, {"kind": "storage#testIamPermissionsResponse", **asked})
    assert ask("GET", f"{api}/no-such-bucket/iam/testPermissions", params=asked)[0] == 404


def test_permissions_on_a_table(ask):
    datasets = f"https://bigquery.googleapis.com/bigquery/v2/{PROJECT}/datasets"
    reference = {"projectId": "local-gcp", "datasetId": "tested"}
    ask("POST", datasets, json={"datasetReference": reference})
    tables = f"{datasets}/tested/tables"
    ask("POST", tables, json={"tableReference": {**reference, "tableId": "there"}})
    asked = {"permissions": ["bigquery.tables.get"]}
    assert ask("POST", f"{tables}/there:testIamPermissions", json=asked) == (200, asked)
    nested = {"permissions": [asked["permissions"]]}
    assert ask("POST", f"{tables}/there:testIamPermissions", json=nested) == (200, asked)
    status, answer = ask("POST", f"{tables}/gone:testIamPermissions", json=asked)
    assert (status, answer["error"]["errors"][0]["reason"]) == (404, "notFound")


def test_permissions_with_wildcards_are_refused(ask):
    body = {"permissions": ["storage.*"]}
    assert ask("POST", f"{MANAGER}/v3/{PROJECT}:testIamPermissions", json=body)[0] == 400


def test_quotas_of_vertex_ai(ask, differs):
    metric = "aiplatform.googleapis.com/custom_model_training_cpus"
    differs(quotas={metric: 4})
    url = f"{USAGE}/v1beta1/{PROJECT}/services/aiplatform.googleapis.com/consumerQuotaMetrics"
    found = {entry["metric"]: entry for entry in ask("GET", url)[1]["metrics"]}
    (limit,) = found[metric]["consumerQuotaLimits"]
    everywhere, *regions = limit["quotaBuckets"]
    assert everywhere["effectiveLimit"] == "4"
    assert {"region": "us-central1"} in [bucket["dimensions"] for bucket in regions]


def test_quotas_may_be_read_by_permission(ask, differs):
    differs(missing_permissions=["serviceusage.quotas.get"])
    url = f"{USAGE}/v1beta1/{PROJECT}/services/aiplatform.googleapis.com/consumerQuotaMetrics"
    assert ask("GET", url)[0] == 403


def test_quotas_of_compute_engine(ask, differs):
    differs(quotas={"compute.googleapis.com/CPUS": 8})
    quotas = ask("GET", f"{COMPUTE}/regions/us-central1")[1]["quotas"]
    assert {"metric": "CPUS", "limit": 8.0, "usage": 0.0} in quotas
    assert [quota["metric"] for quota in ask("GET", COMPUTE)[1]["quotas"]] == ["CPUS_ALL_REGIONS"]
    projects = COMPUTE.rpartition("/")[0]
    for name in ("/local-gcp/regions/us-nowhere1", "/", "/elsewhere", ""):
        assert ask("GET", f"{projects}{name}")[0] == 404


def test_an_image_is_there_if_something_stands_for_it(ask):
    api = "https://artifactregistry.googleapis.com/v1/projects/vertex-ai/locations/us"
    tag = f"{api}/repositories/training/packages/%s/tags/latest"
    _, first = ask("GET", tag % "tf-cpu.2-17")
    assert "/packages/tf-cpu.2-17/versions/sha256:" in first["version"]
    assert ask("GET", tag % "tf-cpu.2-17")[1] == first
    assert ask("GET", tag % "tf-gpu.2-17")[1]["version"] != first["version"]
    assert ask("GET", (tag % "nobody").replace("training", "other"))[0] == 404


def test_resources_of_the_file(ask, differs):
    key = f"{PROJECT}/locations/us-central1/keyRings/lab/cryptoKeys/lab"
    api = "https://cloudkms.googleapis.com/v1"
    assert ask("GET", f"{api}/{key}")[0] == 404
    binding = {"role": "roles/cloudkms.viewer", "members": ["user:a@example.com"]}
    differs(
        resources={key: {"purpose": "ENCRYPT_DECRYPT"}, f"{key}:policy": {"bindings": [binding]}}
    )
    assert ask("GET", f"{api}/{key}") == (200, {"purpose": "ENCRYPT_DECRYPT"})
    assert ask("GET", f"{api}/{key}:getIamPolicy")[1]["bindings"] == [binding]


def test_what_the_file_says_is_absent(ask, differs):
    assert ask("GET", ACCOUNT)[0] == 200
    differs(absent=[ACCOUNT.partition("/v1/")[2]])
    assert ask("GET", ACCOUNT)[0] == 404


def test_environments_of_the_file(ask, differs):
    parent = f"{PROJECT}/locations/us-central1/environments"
    url = f"https://composer.googleapis.com/v1/{parent}"
    assert ask("GET", url) == (200, {})
    differs(resources={f"{parent}/lab": {"state": "RUNNING"}})
    assert ask("GET", url)[1]["environments"] == [{"name": f"{parent}/lab", "state": "RUNNING"}]


def test_builds_of_composer_in_the_file(ask, differs):
    parent = f"{PROJECT}/locations/us-central1/imageVersions"
    url = f"https://composer.googleapis.com/v1/{parent}"
    assert ask("GET", url) == (200, {})
    differs(resources={f"{parent}/new": {}, f"{parent}/old": {"creationDisabled": True}})
    new, old = {"imageVersionId": "new"}, {"imageVersionId": "old", "creationDisabled": True}
    assert ask("GET", url)[1]["imageVersions"] == [new]
    assert ask("GET", f"{url}?includePastReleases=true")[1]["imageVersions"] == [new, old]


@pytest.mark.parametrize("text", ["{", "[]", '{"disabled": []}'])
def test_a_file_that_is_wrong_is_named(ask, local_gcp, text):
    file = local_gcp.home / "project.json"
    file.write_text(text)
    try:
        status, answer = ask("GET", COMPUTE)
    finally:
        file.unlink()
    assert (status, "project.json" in answer["error"]["message"]) == (500, True)


def test_the_rest_is_named(ask):
    status, answer = ask("POST", f"{COMPUTE}/global/networks", json={})
    assert (status, "POST https://compute.googleapis.com" in answer["error"]["message"]) == (
        501,
        True,
    )


def test_the_billing_catalog_comes_in_pages(ask, differs):
    url = "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus"
    assert ask("GET", url)[0] == 404
    differs(skus={"6F81-5844-456A": [{"skuId": "A"}, {"skuId": "B"}, {"skuId": "C"}]})
    first = ask("GET", url, params={"pageSize": 2})[1]
    assert [sku["skuId"] for sku in first["skus"]] == ["A", "B"]
    for wrong in ({"pageSize": -1}, {"pageSize": "many"}, {"pageToken": "?"}):
        assert ask("GET", url, params=wrong)[0] == 400
    rest = {"pageSize": 2, "pageToken": first["nextPageToken"]}
    assert ask("GET", url, params=rest)[1] == {"skus": [{"skuId": "C"}], "nextPageToken": ""}
