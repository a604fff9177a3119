"""Whole deployments, with real serving processes."""

import pytest

from tests.airflow_side import clear_and_go_on


def test_the_first_and_the_second_deployment(deployments, states):
    these = deployments(canary=[30, 60, 100])
    run = these.run()
    assert run.state == "success"
    assert states(run)["retreat"] == "skipped"
    assert these.traffic == {"1": 100}
    assert these.aliases == {"champion": "1"}
    first = these.record
    assert (first["state"], first["previous"], first["share"]) == ("serving", None, 100)

    run = these.run()
    assert run.state == "success"
    assert these.traffic == {"2": 100}
    assert these.aliases == {"champion": "2", "previous": "1"}
    second = these.record
    assert second["model"].endswith("@2")
    assert second["previous"].endswith("@1")
    steps = {step.pop("step"): step for step in second["steps"]}
    assert list(steps) == [
        *("canary_30", "smoke_30", "shift_60", "smoke_60", "shift_100", "smoke_100"),
        *("champion", "undeploy", "retention"),
    ]
    assert [steps[s]["share"] for s in ("smoke_30", "smoke_60", "smoke_100")] == [30, 60, 100]
    smoke = steps["smoke_30"]
    assert (smoke["examples"], smoke["largest_difference"]) == (3, 0)
    assert smoke["requests"] >= 3
    assert 0 < smoke["latency_ms"] < 1000

    # Once more: nothing that is right is touched.
    before = these.endpoint
    assert clear_and_go_on(these.dag, run).state == "success"
    assert these.endpoint == before
    assert these.aliases == {"champion": "2", "previous": "1"}


def test_a_skew_is_found_and_taken_back(deployments, states):
    these = deployments()
    assert these.run().state == "success"
    run = these.run(skew=0.001)
    assert run.state == "failed"
    found = states(run)
    assert (found["canary_30"], found["smoke_30"], found["retreat"]) == (
        "success",
        "failed",
        "success",
    )
    assert found["champion"] == "upstream_failed"
    assert these.traffic == {"1": 100}
    assert these.aliases == {"champion": "1", "challenger": "2"}
    record = these.record
    assert (record["state"], record["share"]) == ("retreated", 0)
    assert record["reason"].startswith("smoke_30: Train/serve skew")
    assert "example row-1: value is 2.001, offline 2" in record["reason"]


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"status": 500}, "answers example row-1 with an error"),
        ({"sleep": 0.08}, "its median answer took"),
    ],
)
def test_a_first_model_that_fails_leaves_nothing_behind(deployments, rules, reason):
    these = deployments(smoke={"latency": 50})
    assert these.run(**rules).state == "failed"
    assert reason in these.record["reason"]
    assert these.traffic == {}
    assert these.aliases == {"challenger": "1"}
