"""EndpointService through Google's own client, with serving processes that really run."""

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as api

MASK = {"paths": ["traffic_split"]}


def split(vertex, endpoint):
    return dict(vertex.endpoints.get_endpoint(name=endpoint).traffic_split)


def test_an_endpoint_is_created_listed_updated_and_deleted(vertex):
    def create(name, **labels):
        sent = {"display_name": name, "labels": labels}
        made = vertex.endpoints.create_endpoint(parent=vertex.parent, endpoint=sent).result()
        assert made == api.Endpoint(name=made.name), "as real responses"
        return vertex.endpoints.get_endpoint(name=made.name)

    first, second = create("a", team="vision"), create("b")

    def listed(text=""):
        request = {"parent": vertex.parent, "filter": text, "page_size": 1}
        return [e.display_name for e in vertex.endpoints.list_endpoints(request=request)]

    assert listed() == ["b", "a"], "newest first, over two pages"
    assert listed("labels.team=vision") == listed('displayName="a"') == ["a"]
    assert listed(f"endpoint={first.name.rpartition('/')[2]}") == ["a"]
    first.labels["stage"] = "live"
    changed = vertex.endpoints.update_endpoint(endpoint=first, update_mask={"paths": ["labels"]})
    assert dict(changed.labels) == {"team": "vision", "stage": "live"}
    assert changed.etag != first.etag
    with pytest.raises(exceptions.Aborted, match="does not match server `etag`"):
        vertex.endpoints.update_endpoint(endpoint=first, update_mask={"paths": ["labels"]})
    for endpoint in (first, second):
        vertex.endpoints.delete_endpoint(name=endpoint.name).result(timeout=60)
    assert listed() == []
    with pytest.raises(exceptions.NotFound):
        vertex.endpoints.get_endpoint(name=first.name)


def test_an_id_of_ones_own_is_taken_once(vertex):
    sent = {"display_name": "digits"}
    request = {"parent": vertex.parent, "endpoint": sent, "endpoint_id": "digits-1"}
    made = vertex.endpoints.create_endpoint(request=request).result()
    assert made.name.endswith("/endpoints/digits-1")
    with pytest.raises(exceptions.AlreadyExists):
        vertex.endpoints.create_endpoint(request=request)
    with pytest.raises(exceptions.InvalidArgument, match="endpoint_id"):
        vertex.endpoints.create_endpoint(request={**request, "endpoint_id": "Digits"})


def test_canary_shift_and_undeployment(vertex, upload, endpoint, deploy, predict):
    first = deploy(upload(NAME="first"), {"0": 100})
    second = deploy(upload(NAME="second"), {"0": 10, first: 90})
    assert split(vertex, endpoint) == {first: 90, second: 10}
    with pytest.raises(exceptions.InvalidArgument, match="they add up to 99"):
        shift(vertex, endpoint, {first: 49, second: 50})
    with pytest.raises(exceptions.InvalidArgument, match="not the ID of a DeployedModel"):
        shift(vertex, endpoint, {first: 50, "77": 50})
    shift(vertex, endpoint, {first: 0, second: 100})
    assert {p["model"] for p in predict(*range(20))} == {"second"}

    undeploy = vertex.endpoints.undeploy_model
    with pytest.raises(exceptions.FailedPrecondition, match="has traffic assigned to it"):
        undeploy(endpoint=endpoint, deployed_model_id=second)
    with pytest.raises(exceptions.FailedPrecondition, match="Undeploy them before"):
        vertex.endpoints.delete_endpoint(name=endpoint)
    undeploy(endpoint=endpoint, deployed_model_id=first).result(timeout=60)
    assert split(vertex, endpoint) == {second: 100}
    undeploy(endpoint=endpoint, deployed_model_id=second).result(timeout=60)
    assert split(vertex, endpoint) == {}, "the last one takes all traffic with it"
    with pytest.raises(exceptions.NotFound):
        undeploy(endpoint=endpoint, deployed_model_id=second)
    vertex.endpoints.delete_endpoint(name=endpoint).result(timeout=60)


def shift(vertex, endpoint, traffic):
    sent = {"name": endpoint, "traffic_split": traffic}
    vertex.endpoints.update_endpoint(endpoint=sent, update_mask=MASK)


def test_without_a_split_a_deployed_model_takes_no_traffic(
    vertex, upload, endpoint, deploy, predict
):
    """DeployModelRequest.traffic_split: "If this field is empty, then the Endpoint's traffic_split
    is not updated." It is Google's SDK that sends {"0": 100} for the first.
    """
    deploy(upload())
    assert split(vertex, endpoint) == {}
    with pytest.raises(exceptions.FailedPrecondition, match="doesn't have traffic_split"):
        predict(1)


def test_an_unfinished_deployment_is_found_and_not_begun_twice(vertex, upload, endpoint, begin):
    model = upload(START=1)
    going = begin(model, {"0": 100}, id="42")

    def unfinished(client, name):
        found = client.list_operations({"name": name, "filter": "done=false"}).operations
        return [operation.name for operation in found]

    assert unfinished(vertex.endpoints, endpoint) == [going.operation.name]
    assert unfinished(vertex.models, model) == []
    uploads = vertex.models.list_operations({"name": model}).operations
    assert [api.UploadModelResponse.deserialize(o.response.value).model for o in uploads] == [model]
    with pytest.raises(exceptions.AlreadyExists, match="deployedModels/42 already exists"):
        begin(model, {"0": 100}, id="42")
    going.result(timeout=60)
    assert unfinished(vertex.endpoints, endpoint) == []
    with pytest.raises(exceptions.AlreadyExists):
        begin(model, {"0": 100}, id="42")


def test_what_was_asked_for_is_shown(vertex, upload, endpoint, deploy):
    model = upload("digits")
    account = "trainer@local-gcp.iam.gserviceaccount.com"
    machine = {
        "machine_type": "n1-standard-8",
        "accelerator_type": "NVIDIA_TESLA_T4",
        "accelerator_count": 1,
    }
    resources = {"machine_spec": machine, "min_replica_count": 1, "max_replica_count": 3}
    deployed = deploy(
        model, {"0": 100}, dedicated_resources=resources, service_account=account, id="42"
    )
    (shown,) = vertex.endpoints.get_endpoint(name=endpoint).deployed_models
    assert (shown.id, deployed, shown.display_name) == ("42", "42", "digits")
    assert (shown.model, shown.model_version_id) == (model, "1")
    assert shown.service_account == account
    assert shown.dedicated_resources.machine_spec.machine_type == "n1-standard-8"
    assert shown.dedicated_resources.max_replica_count == 3
    assert shown.status.available_replica_count == 1
    (reference,) = vertex.models.get_model(name=model).deployed_models
    assert (reference.endpoint, reference.deployed_model_id) == (endpoint, "42")
    with pytest.raises(exceptions.FailedPrecondition, match="Please undeploy the model"):
        vertex.models.delete_model(name=model)


def test_a_deployment_fails_with_the_last_words_of_its_container(vertex, upload, endpoint, begin):
    model = upload(FAIL=3)
    with pytest.raises(exceptions.FailedPrecondition) as failed:
        begin(model, {"0": 100}).result(timeout=60)
    assert "exited with code 3" in failed.value.message
    assert "no such file: saved_model.pb" in failed.value.message
    shown = vertex.endpoints.get_endpoint(name=endpoint)
    assert not shown.deployed_models
    assert not shown.traffic_split
    vertex.endpoints.delete_endpoint(name=endpoint).result(timeout=60)
    vertex.models.delete_model(name=model).result(timeout=60)


def test_one_that_never_becomes_healthy_fails(vertex, upload, begin, tmp_path, monkeypatch):
    monkeypatch.setattr("local_gcp.vertex.endpoints.container.HEALTHY_WITHIN", 1.0)
    (tmp_path / "sick").touch()
    with pytest.raises(exceptions.FailedPrecondition, match="Model server never became ready"):
        begin(upload(SICK=tmp_path / "sick"), {"0": 100}).result(timeout=60)


def test_the_numbers_of_replicas_can_be_changed(vertex, upload, endpoint, deploy, predict):
    deployed = deploy(upload(), {"0": 100})
    mutated = vertex.endpoints.mutate_deployed_model(
        endpoint=endpoint,
        deployed_model={
            "id": deployed,
            "dedicated_resources": {"min_replica_count": 2, "max_replica_count": 2},
        },
        update_mask={
            "paths": [
                "dedicated_resources.min_replica_count",
                "dedicated_resources.max_replica_count",
            ]
        },
    ).result(timeout=60)
    assert mutated.deployed_model.dedicated_resources.min_replica_count == 2
    (shown,) = vertex.endpoints.get_endpoint(name=endpoint).deployed_models
    assert shown.status.available_replica_count == 2
    assert shown.dedicated_resources.machine_spec.machine_type == "n1-standard-4"
    assert len({predict(1)[0]["pid"] for _ in range(30)}) == 2


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        (
            {"min_replica_count": 0},
            exceptions.InvalidArgument,
            "min_replica_count; Message: 0 is less than 1",
        ),
        ({"max_replica_count": 1, "min_replica_count": 2}, exceptions.InvalidArgument, "less than"),
        ({"max_replica_count": 10**6}, exceptions.ResourceExhausted, "local_gcp starts at most"),
        ({"machine_spec": {}}, exceptions.InvalidArgument, "machine_type; Message: Required"),
    ],
)
def test_impossible_resources_are_refused(upload, begin, changes, error, words):
    resources = {"machine_spec": {"machine_type": "n1-standard-4"}, "min_replica_count": 1}
    with pytest.raises(error, match=words):
        begin(upload(), dedicated_resources={**resources, **changes})


def test_what_is_not_there_or_not_emulated_is_refused(vertex, upload, endpoint, begin):
    with pytest.raises(exceptions.NotFound):
        begin(f"{vertex.parent}/models/77")
    model = upload()
    with pytest.raises(exceptions.InvalidArgument, match="'5' is not the ID of a DeployedModel"):
        begin(model, {"0": 50, "5": 50})
    pool = f"{vertex.parent}/deploymentResourcePools/p"
    with pytest.raises(exceptions.MethodNotImplemented, match="shared_resources"):
        vertex.endpoints.deploy_model(
            endpoint=endpoint, deployed_model={"model": model, "shared_resources": pool}
        )
    sent = {"display_name": "x", "network": "projects/1/global/networks/n"}
    with pytest.raises(exceptions.MethodNotImplemented, match=r"endpoint\.network"):
        vertex.endpoints.create_endpoint(parent=vertex.parent, endpoint=sent)
    with pytest.raises(exceptions.MethodNotImplemented, match="UpdateEndpointLongRunning"):
        vertex.endpoints.update_endpoint_long_running(endpoint={"name": endpoint})
