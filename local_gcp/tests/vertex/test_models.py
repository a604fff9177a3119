"""The model registry through Google's own client: versions and aliases."""

import pytest
from google.api_core import exceptions

IMAGE = {"image_uri": "example.com/serve:1"}


@pytest.fixture
def artifact(home):
    """gs:// folder with a file in it."""
    folder = home.buckets / "bucket/model"
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_text("weights")
    return "gs://bucket/model"


@pytest.fixture
def upload(vertex, artifact):
    """upload(...): a model's version, as get_model shows it."""

    def make(display_name="digits", aliases=(), parent_model="", model_id="", **fields):
        model = {
            "display_name": display_name,
            "artifact_uri": artifact,
            "container_spec": IMAGE,
            "version_aliases": aliases,
            **fields,
        }
        request = {
            "parent": vertex.parent,
            "model": model,
            "parent_model": parent_model,
            "model_id": model_id,
        }
        answer = vertex.models.upload_model(request=request).result(timeout=60)
        return vertex.models.get_model(name=f"{answer.model}@{answer.model_version_id}")

    return make


def model_of(version):
    """Name of the model: that of a version is MODEL@VERSION."""
    return version.name.partition("@")[0]


def aliases(vertex, name):
    versions = vertex.models.list_model_versions(name=name)
    return {version.version_id: sorted(version.version_aliases) for version in versions}


def test_the_first_version_is_the_default(vertex, upload):
    model = upload(labels={"team": "vision"})
    assert model.version_id == "1"
    assert model.name.endswith("@1")
    assert [kind.name for kind in model.supported_deployment_resources_types] == [
        "DEDICATED_RESOURCES",
        "SHARED_RESOURCES",
    ]
    by_model = vertex.models.get_model(name=model.name.removesuffix("@1"))
    assert by_model == vertex.models.get_model(name=model.name) == model
    assert dict(model.labels) == {"team": "vision"}
    assert model.container_spec.image_uri == IMAGE["image_uri"]


def test_versions_and_aliases(vertex, upload):
    name = model_of(upload())
    upload(parent_model=name, aliases=["candidate", "of_2026"])
    assert aliases(vertex, name) == {"1": ["default"], "2": ["candidate", "of_2026"]}
    vertex.models.merge_version_aliases(name=f"{name}@of_2026", version_aliases=["-of_2026"])

    upload(parent_model=name, aliases=["default", "candidate"])
    assert aliases(vertex, name) == {"1": [], "2": [], "3": ["candidate", "default"]}
    assert vertex.models.get_model(name=f"{name}@candidate").version_id == "3"
    assert vertex.models.get_model(name=name).version_id == "3"

    merge = vertex.models.merge_version_aliases
    merge(name=f"{name}@2", version_aliases=["champion", "default"])
    merge(name=f"{name}@3", version_aliases=["-candidate"])
    assert aliases(vertex, name) == {"1": [], "2": ["champion", "default"], "3": []}
    with pytest.raises(exceptions.FailedPrecondition, match="default version"):
        merge(name=f"{name}@2", version_aliases=["-default"])
    with pytest.raises(exceptions.InvalidArgument, match="'9' is not an alias"):
        merge(name=f"{name}@2", version_aliases=["9"])


def test_a_version_says_where_it_comes_from(vertex, upload, artifact):
    name = model_of(upload(model_id="digits", labels={"run": "1"}, version_description="one"))
    spec = {
        "parameters": {"sampled_shapley_attribution": {"path_count": 10}},
        "metadata": {"inputs": {"x": {}}, "outputs": {"value": {}}},
    }
    second = {"labels": {"run": "2"}, "version_description": "two", "explanation_spec": spec}
    upload(parent_model=name, **second)
    request = {"name": name, "filter": "labels.run=2"}
    (found,) = vertex.models.list_model_versions(request=request)
    assert (found.version_id, found.version_description, found.name) == ("2", "two", f"{name}@2")
    assert found.artifact_uri == artifact
    assert found.explanation_spec.parameters.sampled_shapley_attribution.path_count == 10
    assert vertex.models.get_model(name=name).version_description == "one", "of the default"
    with pytest.raises(exceptions.InvalidArgument, match="only for a new model"):
        upload(parent_model=name, model_id="digits")


def test_lists_show_the_default_version_of_each_model(vertex, upload):
    first, second = upload("one"), upload("two", labels={"team": "audio"})
    upload("one again", parent_model=first.name)

    def listed(text=""):
        request = {"parent": vertex.parent, "filter": text}
        return [model.display_name for model in vertex.models.list_models(request=request)]

    assert listed() == ["two", "one"]
    assert listed('display_name="one"') == ["one"]
    assert listed("labels.team=audio") == ["two"]
    assert second.name != first.name


def test_deleting(vertex, upload):
    name = model_of(upload())
    upload(parent_model=name)
    vertex.models.delete_model_version(name=f"{name}@2").result(timeout=60)
    assert list(aliases(vertex, name)) == ["1"]
    with pytest.raises(exceptions.FailedPrecondition, match="cannot be deleted"):
        vertex.models.delete_model_version(name=f"{name}@default")
    vertex.models.delete_model(name=name).result(timeout=60)
    for call in (vertex.models.get_model, vertex.models.list_model_versions):
        with pytest.raises(exceptions.NotFound):
            call(name=name)


def test_an_id_of_ones_own_is_taken_once(upload):
    assert model_of(upload(model_id="digits")).endswith("/models/digits")
    with pytest.raises(exceptions.AlreadyExists):
        upload(model_id="digits")


def test_a_folder_without_files_is_refused_by_the_operation(upload):
    with pytest.raises(exceptions.FailedPrecondition, match='no files under "gs://bucket/empty"'):
        upload(artifact_uri="gs://bucket/empty")


def test_what_is_refused(vertex, upload):
    with pytest.raises(exceptions.InvalidArgument, match="image_uri"):
        upload(container_spec={})
    with pytest.raises(exceptions.InvalidArgument, match="'Best' is not an alias"):
        upload(aliases=["Best"])
    with pytest.raises(exceptions.NotFound):
        upload(parent_model=f"{vertex.parent}/models/none")
    with pytest.raises(exceptions.MethodNotImplemented, match="order_by"):
        vertex.models.list_models(request={"parent": vertex.parent, "order_by": "create_time"})
    with pytest.raises(exceptions.MethodNotImplemented, match=r"ModelService\.ExportModel"):
        vertex.models.export_model(name="x", output_config={})


def test_updating_a_model_and_a_version(vertex, upload):
    name = model_of(upload("digits"))
    upload("digits", parent_model=name)

    def update(name, *paths, **fields):
        mask = {"paths": paths or list(fields)}
        return vertex.models.update_model(model={"name": name, **fields}, update_mask=mask)

    update(name, display_name="numbers", labels={"team": "vision"})
    shown = [vertex.models.get_model(name=f"{name}@{version}") for version in (1, 2)]
    assert [model.display_name for model in shown] == ["numbers"] * 2
    assert [dict(model.labels) for model in shown] == [{"team": "vision"}] * 2
    changed = update(f"{name}@2", version_description="more layers", labels={"run": "7"})
    assert (changed.version_id, changed.version_description) == ("2", "more layers")
    assert dict(vertex.models.get_model(name=f"{name}@1").labels) == {"team": "vision"}
    with pytest.raises(exceptions.FailedPrecondition, match="display_name cannot be updated"):
        update(f"{name}@2", display_name="other")
    with pytest.raises(exceptions.FailedPrecondition, match="version_description cannot be"):
        update(name, version_description="all")
    with pytest.raises(exceptions.InvalidArgument, match="'artifact_uri' cannot be updated"):
        update(name, artifact_uri="gs://bucket/other")


def test_what_is_served_is_a_copy_of_the_files(vertex, upload, home):
    model = upload()
    (home.buckets / "bucket/model/saved_model.pb").write_text("other weights")

    def copies():
        return [path.read_text() for path in home.buckets.glob("caip-tenant-*/*/artifacts/*")]

    assert copies() == ["weights"]
    copied = vertex.models.copy_model(
        request={"parent": vertex.parent, "source_model": model.name, "model_id": "twin"}
    ).result(timeout=60)
    assert copied.model.endswith("/models/twin")
    vertex.models.delete_model(name=model.name).result(timeout=60)
    assert copies() == ["weights"], "the twin's"
    vertex.models.delete_model(name=copied.model).result(timeout=60)
    assert copies() == []


def test_every_answer_names_the_version_and_the_newest_is_listed_first(vertex, upload):
    model = model_of(upload())
    for _ in range(10):
        upload(parent_model=model)
    versions = list(vertex.models.list_model_versions(name=model))
    assert [v.name for v in versions] == [f"{model}@{number}" for number in range(11, 0, -1)]
    merged = vertex.models.merge_version_aliases(name=f"{model}@3", version_aliases=["champion"])
    assert merged.name == f"{model}@3"
    assert vertex.models.get_model(name=f"{model}@champion").name == f"{model}@3"
    assert vertex.models.get_model(name=model).name == f"{model}@1"
    mask = {"paths": ["display_name"]}
    renamed = {"name": model, "display_name": "numbers"}
    assert vertex.models.update_model(model=renamed, update_mask=mask).name == f"{model}@1"
