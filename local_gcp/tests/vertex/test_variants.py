"""Vertex AI in each of the ways that Google's documentation leaves open."""

import time

import pytest
from google.api_core import exceptions

pytestmark = pytest.mark.usefixtures("vertex")
SPEC = {"image_uri": "example.com/serve:1"}


@pytest.fixture
def variants(request):
    """From the mark: @pytest.mark.parametrize("variants", ["..."], indirect=True)."""
    return request.param


def variant(text):
    return pytest.mark.parametrize("variants", [text], indirect=True)


def create_endpoint(vertex, **options):
    sent = {"display_name": "e"}
    return vertex.endpoints.create_endpoint(
        request={"parent": vertex.parent, "endpoint": sent, **options}
    )


def upload(vertex, *aliases, **options):
    sent = {"display_name": "m", "container_spec": SPEC, "version_aliases": aliases}
    return vertex.models.upload_model(
        request={"parent": vertex.parent, "model": sent, **options}
    ).result(timeout=60)


@variant("operation-seconds=0.5")
def test_an_endpoint_that_is_being_created_is_listed_as_operation_and_its_id_taken(vertex):
    going = create_endpoint(vertex, endpoint_id="digits")
    name = f"{vertex.parent}/endpoints/digits"
    (listed,) = vertex.endpoints.list_operations({"name": name}).operations
    assert (listed.name, listed.done) == (going.operation.name, False)
    with pytest.raises(exceptions.NotFound):
        vertex.endpoints.get_endpoint(name=name)
    with pytest.raises(exceptions.AlreadyExists):
        create_endpoint(vertex, endpoint_id="digits")
    assert going.result(timeout=60).name.endswith("/endpoints/digits")
    assert vertex.endpoints.get_endpoint(name=name).display_name == "e"
    assert vertex.endpoints.list_operations({"name": name}).operations[0].done


@variant("operation-seconds=0.2")
def test_what_is_deleted_is_there_until_its_operation_ends(vertex):
    model = upload(vertex).model
    going = vertex.models.delete_model(name=model)
    vertex.models.get_model(name=model)
    going.result(timeout=60)
    with pytest.raises(exceptions.NotFound):
        vertex.models.get_model(name=model)


@variant("operation-seconds=0.1,failing-operations=1")
def test_the_first_operation_of_each_method_fails_late(vertex):
    for attempt in ("fails", "succeeds"):
        for begin in (
            lambda: create_endpoint(vertex),
            lambda: vertex.models.upload_model(
                parent=vertex.parent, model={"display_name": "m", "container_spec": SPEC}
            ),
        ):
            going = begin()
            if attempt == "fails":
                with pytest.raises(exceptions.InternalServerError):
                    going.result(timeout=60)
            else:
                going.result(timeout=60)
    assert len(list(vertex.endpoints.list_endpoints(parent=vertex.parent))) == 1
    assert len(list(vertex.models.list_models(parent=vertex.parent))) == 1


@variant("operation-seconds=0,taken-aliases=refused")
def test_an_alias_of_another_version_is_refused_until_it_is_removed_there(vertex):
    first = upload(vertex, "champion").model
    second = f"{first}@{upload(vertex, parent_model=first).model_version_id}"

    def merge(name, *changes):
        return vertex.models.merge_version_aliases(name=name, version_aliases=changes)

    with pytest.raises(exceptions.FailedPrecondition, match=r"champion is in use by .*@1"):
        merge(second, "champion")
    merge(f"{first}@1", "-champion")
    assert "champion" in merge(second, "champion", "default").version_aliases


@variant("operation-seconds=0,list-lag=1")
def test_lists_show_what_was_and_a_get_shows_what_is(vertex):
    made = create_endpoint(vertex).result(timeout=60)
    version = upload(vertex, "challenger")
    begun = time.monotonic()
    seen = list(vertex.endpoints.list_endpoints(parent=vertex.parent))
    if time.monotonic() - begun < 0.5:
        assert seen == []
    assert vertex.endpoints.get_endpoint(name=made.name).name == made.name
    time.sleep(1.1)
    (endpoint,) = vertex.endpoints.list_endpoints(parent=vertex.parent)
    assert endpoint.name == made.name
    begun = time.monotonic()
    vertex.models.merge_version_aliases(name=version.model, version_aliases=["champion"])
    (stale,) = vertex.models.list_model_versions(name=version.model)
    if time.monotonic() - begun < 0.9:
        assert "champion" not in stale.version_aliases
    assert "champion" in vertex.models.get_model(name=version.model).version_aliases


@pytest.mark.parametrize(
    ("variants", "error"),
    [
        ("operation-seconds=0,etags=aborted", exceptions.Aborted),
        ("operation-seconds=0,etags=failed-precondition", exceptions.FailedPrecondition),
    ],
    indirect=["variants"],
)
def test_every_first_update_with_an_etag_meets_another_change(vertex, error):
    made = create_endpoint(vertex).result(timeout=60)

    def update(etag):
        sent = {"name": made.name, "description": "d", "etag": etag}
        mask = {"paths": ["description"]}
        return vertex.endpoints.update_endpoint(endpoint=sent, update_mask=mask)

    for _ in range(2):
        with pytest.raises(error, match="does not match"):
            update(vertex.endpoints.get_endpoint(name=made.name).etag)
        assert update(vertex.endpoints.get_endpoint(name=made.name).etag).description == "d"
