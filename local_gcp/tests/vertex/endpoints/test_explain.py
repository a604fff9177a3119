"""Sampled Shapley attributions, of a function and of a served model."""

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from local_gcp.vertex.endpoints import explain
from local_gcp.wire import RpcError


def spec(inputs, output="value", paths=10, **parameters):
    described = {
        "parameters": {"sampledShapleyAttribution": {"pathCount": paths}, **parameters},
        "metadata": {
            "inputs": {name: {"inputBaselines": given} for name, given in inputs.items()},
            "outputs": {output: {}},
        },
    }
    made = api.ExplanationSpec()
    json_format.ParseDict(described, api.ExplanationSpec.pb(made))
    return made


NUMBERS = st.integers(-100, 100)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_linear_model_is_explained_exactly(x, y, baseline):
    def predict(points):
        return [{"value": 3 * p["x"] - 2 * p["y"] + 7} for p in points]

    sent = [{"x": x, "y": y, "unexplained": "a"}]
    (prediction,), ((found,),) = explain.attribute(spec({"x": [baseline], "y": []}), sent, predict)
    assert prediction == {"value": 3 * x - 2 * y + 7}
    assert found["instance_output_value"] == 3 * x - 2 * y + 7
    assert found["baseline_output_value"] == 3 * baseline + 7
    assert found["feature_attributions"] == {"x": 3 * (x - baseline), "y": -2 * y}
    assert found["approximation_error"] == 0


@given(NUMBERS, NUMBERS)
def test_attributions_add_up_to_the_difference(x, y):
    def predict(points):
        return [p["x"] * p["y"] + (p["x"] > 3) for p in points]

    _, ((found,),) = explain.attribute(spec({"x": [], "y": [1, 2]}), [{"x": x, "y": y}], predict)
    difference = found["instance_output_value"] - found["baseline_output_value"]
    assert sum(found["feature_attributions"].values()) == pytest.approx(difference)


def test_rows_of_a_table_with_their_unknown_values():
    """Texts, booleans and times are features like others, and null is a baseline like others."""
    row = {"site": "left", "smoker": True, "taken": "2024-02-29T12:00:00Z", "size": None}
    baselines = {"site": [None], "smoker": [False], "taken": ["2001-01-01T00:00:00Z"], "size": [2]}
    worth = {"site": 0.1, "smoker": 0.2, "taken": 0.3, "size": -0.1}

    def predict(points):
        totals = [0.2 + sum(worth[f] for f in worth if p[f] == row[f]) for p in points]
        return [{"label": "a", "probabilities": {"a": t, "b": 1 - t}} for t in totals]

    wanted = spec(baselines, "probabilities", paths=2)
    _, ((found,),) = explain.attribute(wanted, [row], predict)
    assert found["feature_attributions"] == pytest.approx(worth)
    assert found["output_display_name"] == "a"


def test_classes():
    def predict(points):
        return [{"probabilities": {"a": p["x"], "b": 1 - p["x"], "c": 0}} for p in points]

    def names(**parameters):
        wanted = spec({"x": [0]}, "probabilities", **parameters)
        _, (found,) = explain.attribute(wanted, [{"x": 0.2}], predict)
        return [(f["output_display_name"], f["output_index"]) for f in found]

    assert names() == [("b", [1])], "the likeliest"
    assert names(top_k=2) == [("b", [1]), ("a", [0])]
    assert len(names(top_k=-1)) == 3
    assert names(output_indices=[2, 0]) == [("c", [2]), ("a", [0])]


@pytest.mark.parametrize(
    ("wanted", "code", "words"),
    [
        (spec({"y": []}), "INVALID_ARGUMENT", "The field 'y' to explain is missing"),
        (spec({"x": []}, paths=51), "INVALID_ARGUMENT", "51 is not from 1 to 50"),
        (spec({"text": []}), "FAILED_PRECONDITION", "has no input_baselines"),
        (spec({"list": []}), "UNIMPLEMENTED", "arrays or objects"),
        (spec({"x": []}, "label"), "FAILED_PRECONDITION", "'label' of the predictions is no"),
        (
            api.ExplanationSpec(parameters={"integrated_gradients_attribution": {"step_count": 5}}),
            "UNIMPLEMENTED",
            "other than sampled_shapley_attribution",
        ),
    ],
)
def test_what_cannot_be_explained(wanted, code, words):
    sent = {"x": 1, "text": "a", "list": [1]}
    with pytest.raises(RpcError, match=words) as refused:
        explain.attribute(wanted, [sent], lambda points: [{"value": 1, "label": "a"}] * len(points))
    assert refused.value.code.name == code


def test_a_request_overrides_the_specification(vertex, upload, endpoint, deploy):
    """The server's predictions repeat the instance."""
    deploy(upload(), {"0": 100}, explanation_spec=spec({"x": []}, "instance"))

    def explained(override):
        request = api.ExplainRequest()
        described = {"endpoint": endpoint, "instances": [{"x": 3, "y": 1}]}
        described["explanationSpecOverride"] = override
        json_format.ParseDict(described, api.ExplainRequest.pb(request))
        (explanation,) = vertex.predictions.explain(request=request).explanations
        return explanation.attributions

    def baselines(override):
        found = explained(override)
        return [(a.output_display_name, a.baseline_output_value) for a in found]

    assert baselines({}) == [("x", 0)]
    assert baselines({"metadata": {"inputs": {"x": {"inputBaselines": [2]}}}}) == [("x", 2)]
    assert baselines({"parameters": {"topK": 2}}) == [("x", 0), ("y", 1)]
    found = explained({"parameters": {"outputIndices": [1, 0]}})
    assert [list(a.output_index) for a in found] == [[1], [0]]
    for override, words in (
        ({"sampledShapleyAttribution": {"pathCount": 51}}, "51 is not from 1 to 50"),
        ({"xraiAttribution": {"stepCount": 5}}, "xrai_attribution.*cannot be changed"),
    ):
        with pytest.raises(exceptions.InvalidArgument, match=words):
            explained({"parameters": override})


def test_over_the_endpoint(vertex, upload, endpoint, deploy, value):
    deployed = deploy(upload(), {"0": 100}, explanation_spec=spec({"sleep": []}, "double"))
    answer = vertex.predictions.explain(endpoint=endpoint, instances=[value({"sleep": 0.01})])
    assert answer.deployed_model_id == deployed
    assert dict(answer.predictions[0])["double"] == 0
    (attribution,) = answer.explanations[0].attributions
    assert dict(attribution.feature_attributions) == {"sleep": 0}
    request = api.ExplainRequest()
    described = {
        "endpoint": endpoint,
        "instances": [{"sleep": 0}],
        "explanationSpecOverride": {"metadata": {"inputs": {"sleep": {"inputBaselines": [0.02]}}}},
    }
    json_format.ParseDict(described, api.ExplainRequest.pb(request))
    answer = vertex.predictions.explain(request=request)
    assert len(answer.explanations[0].attributions) == 1
    plain = deploy(upload(), {"0": 100, deployed: 0})
    with pytest.raises(exceptions.FailedPrecondition, match="without explanation_spec"):
        vertex.predictions.explain(endpoint=endpoint, instances=[value(1)])
    with pytest.raises(exceptions.NotFound):
        vertex.predictions.explain(
            endpoint=endpoint, instances=[value(1)], deployed_model_id=f"{plain}1"
        )
