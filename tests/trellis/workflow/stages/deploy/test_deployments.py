"""Whole deployments, with real serving processes."""

import datetime

import pytest
from airflow.sdk.exceptions import AirflowFailException

from tests.airflow_side import clear_and_go_on, run_dag
from trellis.vertex.undeployment import RetreatOperator
from trellis.workflow.lookups import storage


def test_a_deployment_the_next_one_and_what_is_cleared_of_it(deployments, states):
    these = deployments()
    run = these.run()
    assert run.state == "success"
    assert states(run)["retreat"] == "skipped"
    assert these.traffic == {"1": 100}
    assert these.aliases == {"champion": "1"}
    first = these.record
    assert (first["state"], first["previous"], first["share"]) == ("serving", None, 100)

    # The second one replaces it.
    run = these.run()
    assert run.state == "success"
    assert these.traffic == {"2": 100}
    assert these.aliases == {"champion": "2", "previous": "1"}
    second = these.record
    assert second["model"].endswith("@2")
    assert second["previous"].endswith("@1")
    steps = {step.pop("step"): step for step in second["steps"]}
    assert list(steps) == [
        *("canary_30", "smoke_30", "shift_100", "smoke_100"),
        *("champion", "undeploy", "retention"),
    ]
    assert (steps["smoke_30"]["share"], steps["smoke_100"]["share"]) == (30, 100)
    smoke = steps["smoke_30"]
    assert (smoke["examples"], smoke["largest_difference"]) == (3, 0)
    assert smoke["requests"] >= 3
    assert 0 < smoke["latency_ms"] < 1000

    # Once more: nothing that is right is touched.
    before = these.endpoint
    assert clear_and_go_on(these.dag, run).state == "success"
    assert these.endpoint == before
    assert these.aliases == {"champion": "2", "previous": "1"}

    # A step that is cleared alone leaves what serves.
    before = these.endpoint, {each["step"] for each in these.record["steps"]}
    for step in ("register", "endpoint", "canary_30", "smoke_100", "undeploy"):
        run = clear_and_go_on(these.dag, run, f"deploy.{step}", alone=True)
        assert run.state == "success", step
        record = these.record
        assert (record["state"], record["share"]) == ("serving", 100), step
        assert (these.endpoint, {each["step"] for each in record["steps"]}) == before, step

    # A share that a person lowered is raised again by clearing the endpoint.
    these.undeploy_all()
    run = clear_and_go_on(these.dag, run, "deploy.shift_100", alone=True)
    assert states(run)["shift_100"] == "failed"
    assert clear_and_go_on(these.dag, run, "deploy.endpoint").state == "success"
    assert these.traffic == {"2": 100}


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
    assert "for 3 of 3 examples" in record["reason"]
    assert "row-1" not in record["reason"]

    # Somebody finds that the offline predictions were wrong, and clears the test.
    these.expect({1: 2.001, 2.5: 5.001})
    run = clear_and_go_on(these.dag, run, "deploy.smoke_30")
    assert run.state == "success"
    assert these.traffic == {"2": 100}
    assert these.aliases == {"champion": "2", "previous": "1"}
    assert (these.record["state"], these.record["reason"]) == ("serving", None)


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"sleep": 0.08}, "its median answer took"),
        pytest.param({"status": 500}, "answers an example with an error", marks=pytest.mark.slow),
        pytest.param({"exit": 3}, "could not deploy", marks=pytest.mark.slow),
    ],
)
def test_a_first_model_that_fails_leaves_nothing_behind(deployments, rules, reason):
    these = deployments(smoke={"latency": 50})
    assert these.run(**rules).state == "failed"
    assert reason in these.record["reason"]
    assert these.traffic == {}
    assert these.aliases == {"challenger": "1"}


@pytest.mark.slow
def test_who_rolls_back_meanwhile_is_not_fought(deployments, states):
    these = deployments(keep_previous="1 hour")
    these.run()
    run = these.run()
    assert these.traffic == {"1": 0, "2": 100}
    these.put_back("1")
    run = clear_and_go_on(these.dag, run, "deploy.smoke_100")
    assert run.state == "failed"
    assert states(run)["smoke_100"] == "failed"
    assert "@1 became the champion" in these.record["reason"]
    assert these.traffic == {"1": 100}
    assert these.aliases == {"champion": "1"}


@pytest.mark.slow
def test_an_old_run_that_is_cleared_and_refused_leaves_its_kept_version(deployments, states):
    these = deployments()
    run = these.run()
    these.promote_another()
    these.deploy_all("2")
    assert these.traffic == {"1": 0, "2": 100}
    these.refused = True
    run = clear_and_go_on(these.dag, run, "promote")
    found = states(run)
    assert (found["promote"], found["canary_30"], found["retreat"]) == (
        "failed",
        "upstream_failed",
        "skipped",
    )
    assert these.traffic == {"1": 0, "2": 100}
    assert these.record["state"] == "serving"


@pytest.mark.slow
def test_what_an_earlier_deployment_left_half_way_goes_with_the_next_that_fails(
    deployments, monkeypatch
):
    these = deployments()
    these.run()
    with monkeypatch.context() as patch:
        patch.setattr(RetreatOperator, "execute", lost)
        these.run(skew=0.001)
    assert these.traffic == {"1": 70, "2": 30}
    assert these.run(skew=0.002).state == "failed"
    assert these.traffic == {"1": 100}
    assert these.record["state"] == "retreated"
    (left,) = these.record["steps"][-1]["traffic"]
    assert left.endswith("@1")


def lost(self, context):
    raise AirflowFailException("lost")


@pytest.mark.slow
def test_after_a_retreat_it_does_not_replace_a_champion_it_was_not_compared_with(deployments):
    these = deployments()
    these.run()
    run = these.run(skew=0.001)
    these.promote_another()
    for task in ("smoke_30", "canary_30"):
        run = clear_and_go_on(these.dag, run, f"deploy.{task}")
        assert run.state == "failed"
        assert these.record["reason"].startswith(f"{task}: Stopped: projects/")
        assert "@3 became the champion" in these.record["reason"]
        assert these.traffic == {"1": 100}


@pytest.mark.slow
def test_what_was_replaced_stays_for_the_asked_time(deployments, states):
    these = deployments(keep_previous="1 hour")
    these.run()
    assert these.undeployments == []
    assert states(these.run())["undeploy_previous"] == "success"
    assert these.traffic == {"1": 0, "2": 100}
    (undeployment,) = these.undeployments
    replaced = next(s["at"] for s in these.record["steps"] if s["step"] == "champion")
    hour = datetime.timedelta(hours=1)
    assert undeployment.run_after == datetime.datetime.fromisoformat(replaced) + hour

    assert run_dag(these.undeploy_dag, **undeployment.conf).state == "success"
    assert these.traffic == {"2": 100}


@pytest.mark.slow
def test_what_people_delete_between_two_runs_is_made_again(deployments):
    these = deployments()
    these.run()
    these.delete_endpoint()
    these.run()
    assert these.traffic == {"2": 100}
    these.delete_endpoint()
    these.delete_model()
    these.run()
    assert these.traffic == {"1": 100}
    assert these.aliases == {"champion": "1"}


@pytest.mark.slow
def test_an_endpoint_whose_idle_champion_was_undeployed_serves_the_next_one(deployments):
    these = deployments()
    these.run()
    these.undeploy_all()
    assert these.run().state == "success"
    assert these.traffic == {"2": 100}
    assert these.aliases == {"champion": "2", "previous": "1"}


@pytest.mark.slow
def test_each_task_may_die_before_it_has_written_down_what_it_did(deployments, monkeypatch):
    """The next attempt finds all done, and does not take its own work for somebody else's."""
    these = deployments()
    these.run()
    written, died = storage.write_json, set()

    def dies_first(platform, uri, content):
        step = content["steps"][-1]["step"] if content.get("steps") else "endpoint"
        if uri.endswith("/deployment.json") and step not in died:
            died.add(step)
            raise OSError("killed here")
        written(platform, uri, content)

    monkeypatch.setattr(storage, "write_json", dies_first)
    run = these.run()
    assert run.state == "success"
    tries = {ti.task_id.removeprefix("deploy."): ti.try_number for ti in run.get_task_instances()}
    assert {name for name, tried in tries.items() if tried == 2} == died
    assert len(died) == 8
    assert these.traffic == {"2": 100}
    assert these.aliases == {"champion": "2", "previous": "1"}
