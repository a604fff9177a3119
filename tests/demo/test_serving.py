"""Output of the demo on a deployment, for given documents of a run."""

import json

import pytest

from demo import serving
from demo.screen import console
from tests.wording import says

ENDPOINT = "projects/1/locations/us-central1/endpoints/digits"


@pytest.fixture
def said():
    """said(serving.show_endpoint, {...}): the lines that it prints."""

    def lines(show, *arguments, **named):
        with console.capture() as captured:
            show(*arguments, **named)
        return captured.get().splitlines()

    return lines


def test_a_decision_is_told_with_its_reasons(said):
    decision = {
        "promoted": False,
        "reason": "training/1 fails 1 of 2 checks",
        "checks": [
            {"check": "accuracy at least 0.9", "passed": True, "detail": "accuracy 0.93"},
            {
                "check": "as good as the served one",
                "passed": False,
                "detail": "0.93 to 0.98",
            },
        ],
    }
    head, *checks = said(serving.show_decision, {"promotion": decision})
    assert says(head, "not promoted", decision["reason"])
    for line, mark, check in zip(checks, ("[x]", "[ ]"), decision["checks"], strict=True):
        assert says(line, mark, check["check"], check["detail"])


def test_without_a_deployment_nothing_is_reported(said):
    assert said(serving.show_decision, {"promotion": None}) == []


def test_a_deployment_is_told_by_its_tests(said):
    tested = {"examples": 20, "largest_difference": 1.2e-7, "latency_ms": 18.9}
    steps = [{"step": "canary_10", "share": 10}, {"step": "smoke_10", "share": 10, **tested}]
    record = {"state": "retreated", "reason": "smoke_50: too slow", "steps": steps}
    head, smoke = said(serving.show_deployment, record)
    assert head.split() == ["Deployment", "retreated:", "smoke_50:", "too", "slow"]
    assert says(smoke, "smoke_10", "20 test examples", "1e-07", "19 ms")


def test_an_endpoint_is_told_model_by_model(said):
    models = [
        {"version": "2", "traffic": 100, "aliases": ["champion"], "replicas": 2},
        {"version": "1", "traffic": 0, "aliases": [], "replicas": 1},
    ]
    head, second, first = said(serving.show_endpoint, {"endpoint": ENDPOINT, "models": models})
    assert head.split() == ["Endpoint", ENDPOINT]
    assert says(second, "version 2: 100%", "champion", "2 replicas")
    assert says(first, "version 1: 0%", "no alias", "1 replica")


def test_the_request_has_examples_from_all_over_the_split(said, tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "LOCAL", tmp_path)
    examples = [{"instance": {"x": n}, "prediction": {"label": "a"}} for n in range(20)]
    lines = said(serving.show_how_to_ask, "digits", "us-central1", ENDPOINT, {"examples": examples})
    request = tmp_path / "requests" / "digits.json"
    assert json.loads(request.read_text()) == {"instances": [{"x": 0}, {"x": 6}, {"x": 12}]}
    assert sum(line.startswith("curl ") and line.endswith(f"@{request}") for line in lines) == 1
    assert lines.index("python - <<'END'") < lines.index("END")
    why = tmp_path / "requests" / "digits-explain.json"
    assert lines[-1].startswith("curl ")
    assert lines[-1].endswith(f"{ENDPOINT}:predict -H 'Content-Type: application/json' -d @{why}")
    asked = {"instances": [{"x": 0}], "parameters": {"explain": {}}}
    assert json.loads(why.read_text()) == asked


def test_a_model_of_a_service_is_not_asked_to_explain(said, tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "LOCAL", tmp_path)
    challenger = {"service": "bqml", "examples": [{"instance": {"x": 1}, "prediction": {}}]}
    lines = said(serving.show_how_to_ask, "digits", "us-central1", ENDPOINT, challenger)
    assert sum(line.startswith("curl ") for line in lines) == 1
    assert not any("why" in line for line in lines)
