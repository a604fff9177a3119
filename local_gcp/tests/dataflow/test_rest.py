"""The JSON API, as googleapiclient calls it."""

import asyncio

import httpx
import pytest

from local_gcp.dataflow.rest import rest_app
from local_gcp.project import DEFAULT_PROJECT as PROJECT

HERE = f"/v1b3/projects/{PROJECT}/locations/us-central1"


class Client:
    """HTTP calls into the application, without a server."""

    def __init__(self, app):
        self.app = app

    def _call(self, verb, url, **arguments):
        async def call():
            transport = httpx.ASGITransport(self.app)
            base = "https://dataflow.googleapis.com"
            async with httpx.AsyncClient(transport=transport, base_url=base) as http:
                return await http.request(verb, url, **arguments)

        return asyncio.run(call())

    def get(self, url, **arguments):
        return self._call("GET", url, **arguments)

    def post(self, url, **arguments):
        return self._call("POST", url, **arguments)

    def put(self, url, **arguments):
        return self._call("PUT", url, **arguments)


@pytest.fixture
def client(house):
    return Client(rest_app(house.jobs))


def launch(client, house, **parameters):
    body = {
        "launchParameter": {
            "jobName": "export",
            "containerSpecGcsPath": house.template,
            "parameters": {"source": "gs://data/manifest.csv"} | parameters,
        }
    }
    return client.post(f"{HERE}/flexTemplates:launch?alt=json", json=body)


def test_the_life_of_a_job(client, house):
    job = launch(client, house).json()["job"]
    assert job["name"] == "export"
    assert job["type"] == "JOB_TYPE_BATCH"
    house.wait(job["id"])

    seen = client.get(f"{HERE}/jobs/{job['id']}?alt=json").json()
    assert seen["currentState"] == "JOB_STATE_DONE"
    assert seen["createTime"].endswith("Z")
    assert client.get(f"/v1b3/projects/{PROJECT}/jobs/{job['id']}").json() == seen
    assert client.get(f"{HERE}/jobs", params={"name": "export"}).json() == {"jobs": [seen]}
    assert client.get(f"{HERE}/jobs", params={"filter": "ACTIVE"}).json() == {}

    messages = client.get(f"{HERE}/jobs/{job['id']}/messages").json()["jobMessages"]
    assert [m["messageImportance"] for m in messages] == ["JOB_MESSAGE_BASIC"] * 3


def test_a_region_may_be_in_the_query(client, house):
    url = f"/v1b3/projects/{PROJECT}/jobs"
    house.wait(launch(client, house).json()["job"]["id"])
    assert len(client.get(url, params={"location": "us-central1"}).json()["jobs"]) == 1
    assert client.get(url, params={"location": "europe-west1"}).json() == {}


def test_cancelling(client, house):
    house.program("time.sleep(60)")
    job = launch(client, house).json()["job"]
    body = {"requestedState": "JOB_STATE_CANCELLED"}
    assert client.put(f"{HERE}/jobs/{job['id']}", json=body).status_code == 200
    house.wait(job["id"])
    seen = client.get(f"{HERE}/jobs/{job['id']}").json()
    assert seen["currentState"] == "JOB_STATE_CANCELLED"


def test_errors_have_googles_form(client, house):
    answer = client.get(f"{HERE}/jobs/1")
    assert answer.status_code == 404
    assert answer.json()["error"]["status"] == "NOT_FOUND"

    answer = launch(client, house, source="manifest.csv")
    assert answer.status_code == 400
    assert "source: Value 'manifest.csv'" in answer.json()["error"]["message"]

    house.program("time.sleep(60)")
    launch(client, house)
    answer = launch(client, house)
    assert answer.status_code == 409
    assert answer.json()["error"]["status"] == "ALREADY_EXISTS"
    assert answer.json()["error"]["errors"][0]["reason"] == "alreadyExists"


def test_an_unknown_field_is_named(client):
    body = {"launchParameter": {"jobname": "export"}}
    answer = client.post(f"{HERE}/flexTemplates:launch", json=body)
    assert answer.status_code == 400
    assert '"jobname"' in answer.json()["error"]["message"]
    answer = client.post(f"{HERE}/flexTemplates:launch", content="[1]")
    assert answer.status_code == 400


def test_a_method_that_is_not_emulated_is_named(client):
    answer = client.post(f"{HERE}/templates:launch", json={})
    assert answer.status_code == 501
    assert f"POST https://dataflow.googleapis.com{HERE}/templates:launch" in answer.text
