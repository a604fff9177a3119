"""Predictions over REST, by the same paths and bodies as at Google."""

import json

import pytest
from starlette.testclient import TestClient


@pytest.fixture
def post(vertex, endpoint):
    """post(":predict", {...}): (status, answer) for the endpoint."""
    client = TestClient(vertex.service.rest)

    def ask(verb, body, kind="application/json", name=endpoint):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return client.post(f"/v1/{name}{verb}", content=content, headers={"Content-Type": kind})

    return ask


def test_predict(upload, endpoint, deploy, post):
    model = upload("digits")
    deployed = deploy(model, {"0": 100})
    answer = post(":predict", {"instances": [1, 2.5], "parameters": {"k": 1}}).json()
    assert [prediction["double"] for prediction in answer.pop("predictions")] == [2, 5]
    assert answer == {
        "deployedModelId": deployed,
        "model": model,
        "modelVersionId": "1",
        "modelDisplayName": "digits",
        "metadata": {"k": 1},
    }
    by_id = endpoint.replace("projects/100000000001", "projects/local-gcp")
    assert post(":predict", {"instances": [1]}, name=by_id).status_code == 200


def test_labels_that_would_be_ignored_are_refused(upload, deploy, post):
    deploy(upload(), {"0": 100})
    refused = post(":predict", {"instances": [1], "labels": {"a": "b"}})
    assert refused.status_code == 501
    assert "the field labels of PredictRequest" in refused.json()["error"]["message"]
    assert post(":predict", {"instances": [1], "labels": {}}).status_code == 200


def test_raw_predict(upload, endpoint, deploy, post):
    deployed = deploy(upload(), {"0": 100})
    answer = post(":rawPredict", b"abc", "text/plain")
    assert (answer.status_code, answer.content) == (200, b"cba")
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.headers["X-Vertex-AI-Deployed-Model-Id"] == deployed
    refused = post(":rawPredict", {"instances": ["bad"]})
    assert (refused.status_code, refused.json()) == (400, {"error": "instances[0] is bad"})


def test_explain(upload, deploy, post):
    spec = {
        "parameters": {"sampled_shapley_attribution": {"path_count": 1}},
        "metadata": {"inputs": {"sleep": {}}, "outputs": {"double": {}}},
    }
    deployed = deploy(upload(), {"0": 100}, explanation_spec=spec)
    answer = post(":explain", {"instances": [{"sleep": 0.01}]}).json()
    assert answer["deployedModelId"] == deployed
    (attribution,) = answer["explanations"][0]["attributions"]
    assert attribution["featureAttributions"] == {"sleep": 0}
    assert post(":explain", {"instances": [{"sleep": "a"}]}).status_code == 400
    override = {"examplesOverride": {"neighborCount": 3}}
    refused = post(":explain", {"instances": [], "explanationSpecOverride": override})
    assert refused.status_code == 501
    assert "examples_override" in refused.json()["error"]["message"]


DEEP = b'{"instances": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


BAD = [
    ({"instances": ["bad"]}, 400, '{"error": "instances[0] is bad"}'),
    (b"no json", 400, "Invalid JSON payload received"),
    (b"[1]", 400, "Root element must be a message"),
    (b'{"instances": [0, {"size": NaN}]}', 400, "instances[1].size: NaN is not a number of JSON"),
    (DEEP, 400, "nested too deeply"),
    ({"instance": [1]}, 400, 'Unknown name "instance"'),
    ({"instances": 1}, 400, "expected an array"),
    ({"instances": ["x" * 1_500_000]}, 400, "exceeds 1.500MB limit"),
    ({"instances": ["nan"]}, 500, "predictions[0]: NaN is not a number of JSON"),
    ({"instances": [{"die": True}]}, 503, "ended during the request"),
]


def test_bad_requests(upload, deploy, post):
    deploy(upload(), {"0": 100})
    for body, status, words in BAD:
        answer = post(":predict", body)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (status, status), words
        assert words in error["message"]
    form = post(":predict", {"instances": [1]}, "application/x-www-form-urlencoded")
    assert form.status_code == 400
    assert "Cannot bind query parameter" in form.json()["error"]["message"]


def test_what_is_not_there_or_not_emulated(vertex, endpoint, post):
    none = post(":predict", {"instances": [1]}, name=f"{vertex.parent}/endpoints/77")
    assert (none.status_code, none.json()["error"]["status"]) == (404, "NOT_FOUND")
    nowhere = post(":predict", {}, name=endpoint.replace("us-central1", "mars"))
    assert (nowhere.status_code, nowhere.json()["error"]["status"]) == (404, "NOT_FOUND")
    assert "no region 'mars'" in nowhere.json()["error"]["message"]
    empty = post(":predict", {"instances": [1]})
    assert empty.json()["error"]["status"] == "FAILED_PRECONDITION"
    for verb in (":streamRawPredict", "", ":generateContent"):
        assert post(verb, {}).status_code == 501
