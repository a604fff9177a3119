"""Vertex AI Experiments' contexts, through Google's own client and its SDK."""

import pytest
from google.api_core import exceptions

RUN = {"schema_title": "system.ExperimentRun", "schema_version": "0.0.1"}


@pytest.fixture
def store(vertex):
    """Name of the metadata store `default`, which is made."""
    name = f"{vertex.parent}/metadataStores/default"
    with pytest.raises(exceptions.NotFound):
        vertex.metadata.get_metadata_store(name=name)
    request = {"parent": vertex.parent, "metadata_store_id": "default", "metadata_store": {}}
    made = vertex.metadata.create_metadata_store(request=request).result(timeout=60)
    assert vertex.metadata.get_metadata_store(name=name) == made
    return made.name


@pytest.fixture
def context(vertex, store):
    """Makes a context with this id."""

    def make(context_id, **fields):
        return vertex.metadata.create_context(
            parent=store, context={**RUN, **fields}, context_id=context_id
        )

    return make


def test_a_context_is_there_once_and_its_metadata_can_be_replaced(vertex, context):
    made = context("digits-1", display_name="one", metadata={"_params": {"units": 32}})
    with pytest.raises(exceptions.AlreadyExists):
        context("digits-1")
    changed = {"name": made.name, "display_name": "two", "metadata": {"_params": {"units": 64}}}
    request = {"context": changed, "update_mask": {"paths": ["metadata"]}}
    vertex.metadata.update_context(request=request)
    found = vertex.metadata.get_context(name=made.name)
    assert (found.display_name, found.metadata["_params"]["units"]) == ("one", 64)
    assert found.etag != made.etag


def test_children_are_found_by_their_parent(vertex, store, context):
    parent, other = context("digits", schema_title="system.Experiment"), context("other")
    runs = [context(f"digits-{n}").name for n in range(3)]
    for _ in range(2):  # those that are children already are skipped
        vertex.metadata.add_context_children(context=parent.name, child_contexts=runs[:2])

    def found(where):
        listed = vertex.metadata.list_contexts(request={"parent": store, "filter": where})
        return sorted(one.name for one in listed)

    by_id = parent.name.replace("projects/100000000001/", "projects/local-gcp/")
    of_runs = '(schema_title="system.Run" OR schema_title="system.ExperimentRun")'
    assert found(f'{of_runs} AND parent_contexts:"{by_id}"') == runs[:2]
    assert found(of_runs) == sorted([*runs, other.name])
    assert vertex.metadata.get_context(name=runs[0]).parent_contexts == [parent.name]


@pytest.mark.parametrize(
    ("refused", "error", "message"),
    [
        ({"context_id": "Digits"}, exceptions.InvalidArgument, "context_id"),
        ({"context": {}}, exceptions.InvalidArgument, "context.schema_title"),
        ({"parent": "other"}, exceptions.NotFound, "metadataStores/other"),
    ],
)
def test_what_is_no_context_is_refused(vertex, store, refused, error, message):
    request = {"parent": store, "context": RUN, "context_id": "a"} | refused
    if request["parent"] == "other":
        request["parent"] = store.replace("default", "other")
    with pytest.raises(error, match=message):
        vertex.metadata.create_context(request=request)


def test_artifacts_are_refused_by_name(vertex, store):
    with pytest.raises(exceptions.MethodNotImplemented, match="CreateArtifact"):
        vertex.metadata.create_artifact(parent=store, artifact={}, artifact_id="a")
