"""Predictions through Google's own client."""


def test_a_deployed_model_answers(vertex, upload, endpoint, deploy, predict):
    deployed = deploy(upload(NAME="a"), {"0": 100})
    shown = vertex.endpoints.get_endpoint(name=endpoint)
    assert dict(shown.traffic_split) == {deployed: 100}
    (prediction,) = predict(21)
    assert (prediction["model"], prediction["double"]) == ("a", 42)
