"""Predictions through Google's own client, and what is answered when they cannot be made."""

import pytest
from google.api import httpbody_pb2
from google.api_core import exceptions


def test_the_container_sees_what_vertex_ai_tells_it(upload, endpoint, home, deploy, predict):
    deployed = deploy(upload(OWN="$(AIP_ENDPOINT_ID)!"), {"0": 100})
    (told,) = predict({"environment": True})
    endpoint_id = endpoint.rpartition("/")[2]
    assert told["AIP_ENDPOINT_ID"] == endpoint_id
    assert told["OWN"] == f"{endpoint_id}!"
    assert told["AIP_DEPLOYED_MODEL_ID"] == deployed
    route = f"/v1/endpoints/{endpoint_id}/deployedModels/{deployed}"
    assert (told["AIP_HEALTH_ROUTE"], told["AIP_PREDICT_ROUTE"]) == (route, f"{route}:predict")
    copy = home.buckets / told["AIP_STORAGE_URI"].removeprefix("gs://")
    assert (copy / "weights").read_text() == "1"
    assert "bucket/model" not in str(copy), "a managed copy"


def test_what_is_answered(vertex, upload, endpoint, deploy, value):
    model = upload("digits", NAME="a")
    deployed = deploy(model, {"0": 100})
    answer = vertex.predictions.predict(
        endpoint=endpoint, instances=[value(1), value(2.5)], parameters=value({"k": 1})
    )
    assert [dict(p)["double"] for p in answer.predictions] == [2, 5]
    assert dict(answer.metadata) == {"k": 1}
    assert (answer.deployed_model_id, answer.model_version_id) == (deployed, "1")
    assert (answer.model, answer.model_display_name) == (model, "digits")


def test_a_raw_request_passes_as_it_is(vertex, upload, endpoint, deploy):
    deploy(upload(), {"0": 100})
    sent = httpbody_pb2.HttpBody(content_type="text/plain", data=b"abc")
    answer = vertex.predictions.raw_predict(endpoint=endpoint, http_body=sent)
    assert (answer.content_type, answer.data) == ("text/plain", b"cba")


def test_the_containers_refusal_is_the_answer(upload, deploy, predict):
    deploy(upload(), {"0": 100})
    with pytest.raises(exceptions.InvalidArgument, match=r'"error": "instances\[0\] is bad"'):
        predict("bad")
    with pytest.raises(exceptions.FailedPrecondition, match=r"\(1.* bytes\) exceeds 1.500MB limit"):
        predict("x" * 1_500_001)
    with pytest.raises(
        exceptions.InvalidArgument, match=r"instances\[1\]\.size; Message: NaN is not a"
    ):
        predict(1, {"size": float("nan")})


def test_errors_of_the_endpoint(vertex, upload, endpoint, deploy, predict, value):
    with pytest.raises(exceptions.NotFound, match="endpoints/77 is not found"):
        vertex.predictions.predict(endpoint=f"{vertex.parent}/endpoints/77", instances=[value(1)])
    with pytest.raises(exceptions.FailedPrecondition, match="doesn't have traffic_split"):
        predict(1)
    with pytest.raises(exceptions.MethodNotImplemented, match="StreamRawPredict"):
        list(vertex.predictions.stream_raw_predict(endpoint=endpoint))


def test_one_that_dies_with_a_request_in_it_is_started_again(upload, deploy, predict, until):
    deploy(upload(), {"0": 100})
    (before,) = predict(1)
    with pytest.raises(exceptions.ServiceUnavailable, match="ended during the request"):
        predict({"die": True})

    said = set()

    def again():
        try:
            return predict(1)[0]["pid"]
        except exceptions.ServiceUnavailable as error:
            said.add(error.message.partition("answer: ")[2])
            return None

    assert until(again) != before["pid"]
    assert said == {"none of its replicas is healthy."}
