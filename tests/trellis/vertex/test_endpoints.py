"""Deploying and shifting traffic with a real EndpointService, as local_gcp emulates it."""

import logging

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api

from tests.trellis.vertex.deploying import (
    PARENT,
    PLACE,
    deploy,
    make_endpoint,
    model,
    register,
    run,
    shift,
)
from tests.wording import says
from trellis import waiting
from trellis.verdict import JobFailed, JobFailedForGood
from trellis.vertex import submission
from trellis.vertex.endpoints import DeployModelOperator, EndpointOperator, raise_share
from trellis.vertex.versions import parse_version


@pytest.fixture
def challenger(champion, name):
    """Name of a version that is registered, and not deployed."""
    return register(name)


@pytest.fixture
def shares(serving, endpoint):
    """Percent of the traffic by the version's number, of what is deployed."""

    def read():
        found = serving.endpoints.get_endpoint(name=endpoint)
        assert sum(found.traffic_split.values()) in (0, 100)
        assert set(found.traffic_split) <= {deployed.id for deployed in found.deployed_models}
        return {d.model_version_id: found.traffic_split.get(d.id, 0) for d in found.deployed_models}

    return read


def test_an_endpoint_is_made_once_and_again_when_it_was_deleted(serving, name):
    made = make_endpoint(name)
    assert made.endswith(f"/endpoints/{name}")
    assert make_endpoint(name) == made
    serving.endpoints.delete_endpoint(name=made).result(timeout=10)
    assert make_endpoint(name) == made


def test_an_endpoint_is_found_by_its_label_whatever_its_id(serving, name):
    sent = {"display_name": "made by hand", "labels": {"trellis-experiment": name}}
    request = {"parent": PARENT, "endpoint": sent, "endpoint_id": f"x-{name}"}
    by_hand = serving.endpoints.create_endpoint(request=request).result(timeout=10)
    assert make_endpoint(name) == by_hand.name


def test_an_endpoint_of_someone_else_is_left_alone(serving, name):
    request = {"parent": PARENT, "endpoint": {"display_name": "theirs"}, "endpoint_id": name}
    serving.endpoints.create_endpoint(request=request).result(timeout=10)
    with pytest.raises(JobFailedForGood, match=r"'theirs'.*trellis-experiment is not set"):
        make_endpoint(name)


def test_an_endpoint_without_the_key_that_is_asked_for_is_no_good(serving, name, endpoint):
    key = "projects/lab/locations/us-central1/keyRings/lab/cryptoKeys/models"
    sent = {"labels": {"trellis-experiment": name}, "encryption_spec": {"kms_key_name": key}}
    operator = EndpointOperator(task_id="endpoint", endpoint_id=name, endpoint=sent, **PLACE)
    with pytest.raises(JobFailedForGood, match=r"is public, without.*public, with key .*/mo"):
        run(operator)


def test_from_the_first_model_to_a_shift(champion, challenger, endpoint, shares):
    assert shares() == {"1": 100}
    deployed = deploy(endpoint, challenger, share=10)
    assert shares() == {"1": 90, "2": 10}
    assert shift(endpoint, challenger, 50) == {champion: 50, challenger: 50}
    # Again, as after a kill: nothing that is right changes, and no share is lowered.
    assert deploy(endpoint, challenger, share=10) == deployed
    assert shift(endpoint, challenger, 20) == {champion: 50, challenger: 50}
    assert shift(endpoint, challenger, 100) == {champion: 0, challenger: 100}


def test_an_attempt_that_does_not_see_the_one_before_deploys_nothing_twice(
    champion, name, endpoint, shares, held, monkeypatch
):
    """Google does not say that what has just begun is in its lists at once."""
    slow = register(name, sent=model(name, SICK=held))

    def die(*_, **__):
        raise OSError("the worker is lost")

    with monkeypatch.context() as patch:
        patch.setattr("trellis.vertex.stepwise.OperationTrigger.__init__", die)
        with pytest.raises(OSError, match="lost"):
            deploy(endpoint, slow)
    with monkeypatch.context() as patch:
        patch.setattr("trellis.vertex.endpoints.unfinished", lambda *_: [])
        with pytest.raises(JobFailed, match=r"@2 is being deployed.*Airflow retries the task"):
            deploy(endpoint, slow)
    held.unlink()
    deploy(endpoint, slow, share=30)
    assert shares() == {"1": 70, "2": 30}


def test_a_deployment_that_does_not_end_is_waited_for_no_longer_than_its_limit(
    champion, name, endpoint, held, monkeypatch
):
    """Begun by this task, then by another one."""
    monkeypatch.setattr(waiting, "IN_TASK_SECONDS", 0)
    monkeypatch.setattr(waiting, "FIRST_POLL_SECONDS", 0)
    slow = register(name, sent=model(name, SICK=held))
    for wait, what in ((1, slow), (2, "deploy")):
        with pytest.raises(JobFailedForGood) as told:
            deploy(endpoint, slow, wait=wait)
        assert says(str(told.value), what, f"within {wait} s", "/operations/")
    held.unlink()
    deploy(endpoint, slow)


def test_a_server_that_does_not_start_is_told_in_its_own_words(champion, name, endpoint, shares):
    broken = register(name, sent=model(name, FAIL=3))
    with pytest.raises(JobFailedForGood, match=r"no such file: saved_model\.pb") as told:
        deploy(endpoint, broken)
    assert f"could not deploy {broken}" in str(told.value)
    assert shares() == {"1": 100}


def test_a_server_that_never_answers_its_health_route_fails_for_good(
    champion, name, endpoint, held, shares
):
    """The other model keeps its requests."""
    silent = model(name, SICK=held)
    silent["container_spec"]["deployment_timeout"] = "1s"
    with pytest.raises(JobFailedForGood, match="never became ready") as told:
        deploy(endpoint, broken := register(name, sent=silent))
    assert f"could not deploy {broken}" in str(told.value)
    assert shares() == {"1": 100}


def test_a_model_that_was_deleted_by_hand(serving, champion, challenger, endpoint, shares):
    serving.models.delete_model_version(name=challenger).result(timeout=10)
    with pytest.raises(JobFailedForGood, match="Clear the task that registers the model"):
        deploy(endpoint, challenger)
    assert shares() == {"1": 100}


def test_an_endpoint_that_was_deleted_by_hand(serving, name):
    version, endpoint = register(name), make_endpoint(name)
    serving.endpoints.delete_endpoint(name=endpoint).result(timeout=10)
    with pytest.raises(JobFailedForGood, match="Clear the task that creates the endpoint"):
        deploy(endpoint, version)
    with pytest.raises(JobFailedForGood, match="Clear the task that creates the endpoint"):
        shift(endpoint, version, 50)


def test_a_model_that_was_undeployed_by_hand(champion, challenger, endpoint, name):
    with pytest.raises(JobFailedForGood, match=rf"@2 is not deployed .*{name}@1 100%"):
        shift(endpoint, challenger, 50)


def test_a_change_by_someone_else_at_the_same_time_is_not_lost(
    serving, champion, challenger, endpoint, shares
):
    """Between this task's first look and its update, someone shifts traffic too."""
    deploy(endpoint, challenger, share=10)
    looks = []

    class Busy(api.EndpointServiceClient):
        def get_endpoint(self, **arguments):
            found = super().get_endpoint(**arguments)
            looks.append(dict(found.traffic_split))
            if len(looks) == 1:
                changed = api.Endpoint(name=endpoint, traffic_split={})
                changed.traffic_split = dict.fromkeys(found.traffic_split, 50)
                self.update_endpoint(endpoint=changed, update_mask={"paths": ["traffic_split"]})
            return found

    busy = Busy(transport=serving.endpoints.transport)
    raise_share(busy, endpoint, parse_version(challenger), 30, logging.getLogger(__name__))
    assert len(looks) == 2
    assert shares() == {"1": 50, "2": 50}


def test_a_refusal_for_capacity_names_the_machines(champion, challenger, endpoint, monkeypatch):
    monkeypatch.setattr(submission, "PATIENCE_SECONDS", 0.1)
    operator = DeployModelOperator(
        task_id="canary",
        endpoint_id=endpoint,
        model=challenger,
        deployed_model={
            "dedicated_resources": {
                "machine_spec": {
                    "machine_type": "n1-standard-4",
                    "accelerator_type": "NVIDIA_TESLA_T4",
                    "accelerator_count": 2,
                },
                "min_replica_count": 1,
                "max_replica_count": 3,
            }
        },
        share=10,
        **PLACE,
    )
    refusal = exceptions.ResourceExhausted("Machine type temporarily unavailable.")

    def refuse(**_):
        raise refusal

    monkeypatch.setattr(operator._client, "deploy_model", refuse)
    wanted = r"1 to 3 n1-standard-4 with 2 NVIDIA_TESLA_T4 each in us-central1"
    with pytest.raises(JobFailed, match=wanted):
        run(operator)


def test_a_region_that_does_not_exist(serving, name):
    sent = {"display_name": name, "labels": {"trellis-experiment": name}}
    place = {**PLACE, "region": "mars-north1"}
    operator = EndpointOperator(task_id="endpoint", endpoint_id=name, endpoint=sent, **place)
    with pytest.raises(JobFailedForGood, match="Is there a region mars-north1 with Vertex"):
        run(operator)
