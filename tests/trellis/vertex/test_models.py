"""Registering models with a real ModelService, as local_gcp emulates it."""

import pytest

from tests.trellis.vertex.deploying import PARENT, PLACE, deploy, model, register, run
from trellis.verdict import JobFailedForGood
from trellis.vertex.models import AliasOperator, DeleteOldVersionsOperator, ModelVersionOperator


@pytest.fixture
def aliases(serving, name):
    """The aliases of each version of the test's model."""

    def read():
        versions = serving.models.list_model_versions(name=f"{PARENT}/models/{name}")
        return {v.version_id: sorted(v.version_aliases) for v in versions}

    return read


def give(version, **arguments):
    arguments = {"alias": "champion", "previous": "previous", "drop": ["challenger"], **arguments}
    return run(AliasOperator(task_id="finish", model_id=version, **arguments, **PLACE))


def test_each_run_has_one_version(serving, name, aliases):
    first = register(name, run_id="one")
    assert first.endswith(f"/models/{name}@1")
    assert register(name, run_id="one") == first
    assert register(name, run_id="two").endswith("@2")
    assert register(name, run_id="one") == first
    assert aliases() == {"1": ["default"], "2": ["challenger"]}


def test_of_two_versions_of_one_run_the_one_in_use_stays(serving, name, aliases):
    """The upload's answer came after the next attempt's look."""
    register(name, run_id="before")
    first = register(name, run_id="run")
    twin = serving.models.get_model(name=first)
    sent = {**model(name), "labels": dict(twin.labels), "version_aliases": ["challenger"]}
    request = {"parent": PARENT, "parent_model": twin.name, "model": sent}
    serving.models.upload_model(request=request).result(timeout=10)
    assert aliases() == {"1": ["default"], "2": [], "3": ["challenger"]}
    assert register(name, run_id="run").endswith("@3")
    assert aliases() == {"1": ["default"], "3": ["challenger"]}


def test_a_model_of_someone_else_gets_no_version(serving, name):
    theirs = {**model(name), "labels": {}}
    request = {"parent": PARENT, "model_id": name, "model": theirs}
    serving.models.upload_model(request=request).result(timeout=10)
    with pytest.raises(JobFailedForGood, match="trellis-experiment is not set"):
        register(name)


def test_a_model_without_files_is_not_tried_again(serving, name):
    sent = {**model(name), "artifact_uri": "gs://serving-tests/nowhere"}
    with pytest.raises(JobFailedForGood, match=r"could not upload .*gs://serving-tests/now"):
        register(name, sent=sent)


def test_a_field_that_is_none_of_a_model(serving, name):
    with pytest.raises(ValueError, match=r"This is no model.*colour"):
        register(name, sent={**model(name), "colour": "red"})


def test_the_champion_changes_and_the_one_before_is_known(serving, name, aliases):
    first, second = (register(name, run_id=run_id) for run_id in ("one", "two"))
    assert give(first) == {"version": "1", "previous": None}
    assert give(second) == {"version": "2", "previous": "1"}
    assert aliases() == {"1": ["previous"], "2": ["champion", "default"]}
    assert give(second) == {"version": "2", "previous": "1"}
    assert aliases() == {"1": ["previous"], "2": ["champion", "default"]}


def test_an_alias_for_a_version_that_is_gone(serving, name):
    register(name)
    with pytest.raises(JobFailedForGood, match="Clear the task that registers it"):
        give(f"{PARENT}/models/{name}@9")


def test_old_versions_go_but_for_those_that_are_in_use(serving, name, endpoint, aliases):
    versions = [register(name, run_id=str(n), aliases=()) for n in range(6)]
    deploy(endpoint, versions[1])
    give(versions[2])

    def keep(number):
        retention = DeleteOldVersionsOperator(
            task_id="retention", model_id=versions[5], keep=number, **PLACE
        )
        return run(retention)["deleted"]

    assert keep(None) == []
    assert keep(6) == []
    # The second is deployed, the third the champion.
    assert keep(2) == ["1", "4"]
    assert keep(2) == []
    assert sorted(aliases()) == ["2", "3", "5", "6"]


def test_a_model_id_that_vertex_refuses(serving):
    upload = ModelVersionOperator(task_id="register", model_id="No", model=model("x"), **PLACE)
    with pytest.raises(JobFailedForGood, match=r"refuses to upload the model: .*model_id"):
        run(upload)
