"""Taking models back from an endpoint, with a real EndpointService."""

import pytest

from tests.trellis.vertex.deploying import MACHINES, PLACE, deploy, model, register, run
from trellis.verdict import JobFailedForGood
from trellis.vertex.undeployment import RetreatOperator, UndeployIdleOperator


@pytest.fixture
def shares(serving, endpoint):
    """Percent of the traffic by the version's number, of what is deployed."""

    def read():
        found = serving.endpoints.get_endpoint(name=endpoint)
        return {d.model_version_id: found.traffic_split.get(d.id, 0) for d in found.deployed_models}

    return read


def retreat(endpoint, version):
    return run(RetreatOperator(task_id="retreat", endpoint_id=endpoint, model=version, **PLACE))


def undeploy_idle(endpoint, *keep):
    operator = UndeployIdleOperator(task_id="finish", endpoint_id=endpoint, keep=keep, **PLACE)
    return run(operator)["traffic"]


@pytest.mark.parametrize("share", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_traffic_goes_back_to_the_champion(champion, name, endpoint, shares, share):
    challenger = register(name)
    deploy(endpoint, challenger, share)
    assert retreat(endpoint, challenger) == {"traffic": {champion: 100}, "champion": "1"}
    assert shares() == {"1": 100}
    assert retreat(endpoint, challenger) == {"traffic": {champion: 100}, "champion": "1"}


def test_without_a_champion_nothing_is_left(endpoint, name, shares):
    first = register(name)
    deploy(endpoint, first)
    assert retreat(endpoint, first) == {"traffic": {}, "champion": None}
    assert shares() == {}


@pytest.mark.slow
def test_where_the_champion_is_not_deployed_the_others_go_on(champion, name, endpoint, shares):
    second, third = (register(name, run_id=run_id) for run_id in ("two", "three"))
    deploy(endpoint, second, 100)
    undeploy_idle(endpoint)
    deploy(endpoint, third, 40)
    assert retreat(endpoint, third) == {"traffic": {second: 100}, "champion": "1"}


@pytest.mark.slow
def test_a_version_without_requests_takes_none_away_from_others(champion, name, endpoint, shares):
    """A person has moved them to another version, and its alias follows in a moment."""
    second, third = (register(name, run_id=run_id) for run_id in ("two", "three"))
    deploy(endpoint, second, 100)
    deploy(endpoint, third, 0)
    assert retreat(endpoint, third)["traffic"] == {champion: 0, second: 100}


def test_a_version_that_became_the_champion_stays(champion, endpoint, shares):
    assert retreat(endpoint, champion) == {"traffic": {champion: 100}, "champion": "1"}
    assert shares() == {"1": 100}


def test_a_deployment_that_is_still_under_way_is_undone(serving, champion, name, endpoint, shares):
    """The task that deployed was killed, or marked as failed: nothing may be left of it."""
    slow = register(name, sent=model(name, START=0.5))
    deployed = {**MACHINES, "model": slow}
    serving.endpoints.deploy_model(request={"endpoint": endpoint, "deployed_model": deployed})
    retreat(endpoint, slow)
    assert shares() == {"1": 100}


def test_what_has_no_traffic_goes_but_for_what_is_kept(champion, name, endpoint, shares):
    second, third = (register(name, run_id=run_id) for run_id in ("two", "three"))
    deploy(endpoint, second, 50)
    deploy(endpoint, third, 100)
    assert shares() == {"1": 0, "2": 0, "3": 100}
    assert undeploy_idle(endpoint, second, None) == {second: 0, third: 100}
    assert undeploy_idle(endpoint) == {third: 100}
    assert undeploy_idle(endpoint) == {third: 100}


def test_what_is_being_deployed_is_not_idle(serving, champion, name, endpoint, shares, held):
    """A rollback's model, which gets its requests when it is there."""
    coming = register(name, sent=model(name, SICK=held))
    request = {"endpoint": endpoint, "deployed_model": {**MACHINES, "model": coming}}
    begun = serving.endpoints.deploy_model(request=request)
    assert undeploy_idle(endpoint) == {champion: 100}
    held.unlink()
    begun.result(timeout=60)
    assert shares() == {"1": 100, "2": 0}


def test_an_endpoint_that_was_deleted_by_hand(serving, name, endpoint):
    version = register(name)
    serving.endpoints.delete_endpoint(name=endpoint).result(timeout=10)
    with pytest.raises(JobFailedForGood, match="Clear the task that creates the endpoint"):
        retreat(endpoint, version)
