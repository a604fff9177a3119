"""Rollbacks with real serving processes."""

import datetime
import json
import shutil

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from tests.airflow_side import clear_and_run
from tests.wording import says
from trellis.vertex.models import AliasOperator
from trellis.vertex.registry import move_aliases
from trellis.workflow.lookups import versions as registry_of
from trellis.workflow.stages.rollback import resolve

TASKS = ["resolve", "endpoint", "deploy", "champion", "shift", "undeploy", "result"]


def test_the_version_before_is_deployed_and_served(two, states):
    run = two.run()
    assert states(run) == dict.fromkeys(TASKS, "success")
    assert two.traffic == {"1": 100}
    assert two.aliases == {"champion": "1", "previous": "2"}
    index = two.folder.parent / "_index" / two.name / "rollbacks"
    (record,) = [json.loads(file.read_text()) for file in index.iterdir()]
    assert (record["run_id"], record["asked"]) == (run.run_id, "previous")
    assert [record[key][-2:] for key in ("version", "before")] == ["@1", "@2"]
    # Cleared, it keeps to what it decided, though `previous` names another version by now.
    assert clear_and_run(two.dag, run) == dict.fromkeys(TASKS, "success")
    assert two.traffic == {"1": 100}
    assert two.aliases == {"champion": "1", "previous": "2"}


def test_a_version_that_is_deployed_only_gets_the_requests(two, monkeypatch):
    """Whatever else is being deployed meanwhile: that is left to the run that deploys it."""
    two.deploy("1", m2=100).result(timeout=30)
    (before,) = [m.id for m in two._endpoint().deployed_models if m.model_version_id == "1"]
    two.upload(START="1.5")
    slow = two.deploy("3", m2=90)

    # It ends, and sets its own shares, between the first shift of the requests and the last.
    move_alias = AliasOperator._advance

    def move_alias_afterwards(self, context, done):
        slow.result(timeout=30)
        return move_alias(self, context, done)

    monkeypatch.setattr(AliasOperator, "_advance", move_alias_afterwards)
    assert two.run("1").state == "success"
    # Undeployed if it was there in time.
    assert two.traffic in ({"1": 100}, {"1": 100, "3": 0})
    assert before in [m.id for m in two._endpoint().deployed_models]


def test_what_is_so_already_is_left_alone(two, states, capfd):
    run = two.run("champion")
    assert run.state == "success"
    assert set(states(run).values()) == {"skipped"}
    assert "Nothing to do: version 2 (champion)" in capfd.readouterr().out
    assert two.traffic == {"2": 100}


@pytest.mark.slow
def test_an_endpoint_that_someone_deleted_is_made_again(two):
    two.deploy("1", m2=100).result(timeout=30)
    for deployed in sorted(two._endpoint().deployed_models, key=lambda m: m.model_version_id):
        request = {"endpoint": two.endpoint_name, "deployed_model_id": deployed.id}
        two.endpoints.undeploy_model(request=request).result(timeout=30)
    two.endpoints.delete_endpoint(name=two.endpoint_name).result(timeout=30)
    assert two.run("champion").state == "success"
    assert two.traffic == {"2": 100}
    assert two.aliases == {"champion": "2", "previous": "1"}


@pytest.mark.slow
def test_the_files_of_the_run_are_not_needed(two):
    """Vertex AI keeps a copy of what was uploaded."""
    shutil.rmtree(two.folder / "runs")
    assert two.run().state == "success"
    assert two.traffic == {"1": 100}


def test_a_version_that_does_not_start_leaves_what_is_served(two, states, capfd):
    two.upload(FAIL="3")
    run = two.run("3")
    assert run.state == "failed"
    assert states(run)["deploy"] == "failed"
    assert two.traffic == {"2": 100}
    assert two.aliases == {"champion": "2", "previous": "1"}
    assert "no such file: saved_model.pb" in capfd.readouterr().out


@pytest.mark.slow
def test_each_task_may_die_after_its_work(two, states):
    """The next attempt of each task finds everything done."""
    for task in two.dag.tasks:
        task.retries, task.retry_delay = 1, datetime.timedelta(0)
        task.post_execute = dying_once()
    run = two.run()
    assert states(run) == dict.fromkeys(TASKS, "success")
    assert {ti.try_number for ti in run.get_task_instances()} == {2}
    assert two.traffic == {"1": 100}
    assert two.aliases == {"champion": "1", "previous": "2"}
    assert len(two.versions()) == 2


def dying_once():
    deaths = []

    def die(context, result=None):
        if not deaths:
            deaths.append(1)
            raise RuntimeError("killed after the work")

    return die


def lost(*_, **__):
    raise AirflowFailException("lost")


def lost_at_the_champion(client, version, aliases):
    """After the alias `previous`, before `champion`."""
    if "champion" in aliases:
        lost()
    move_aliases(client, version, aliases)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "failing", "left"),
    [
        ("trellis.vertex.endpoints.TrafficOperator._advance", lost, "1"),
        ("trellis.vertex.models.move_aliases", lost_at_the_champion, "2"),
    ],
    ids=["after", "between"],
)
def test_previous_again_completes_what_failed_after_an_alias_moved(
    two, monkeypatch, capfd, place, failing, left
):
    """The alias is on the version that was to be replaced by then."""
    with monkeypatch.context() as patch:
        patch.setattr(place, failing)
        assert two.run().state == "failed"
    assert (two.aliases["champion"], two.aliases["previous"]) == (left, "2")
    assert two.run().state == "success"
    assert two.traffic == {"1": 100}
    assert two.aliases == {"champion": "1", "previous": "2"}
    assert "this run completes it" in capfd.readouterr().out
    # That was the end of it: `previous` means what it says again.
    assert two.run().state == "success"
    assert two.traffic == {"2": 100}


@pytest.mark.parametrize(
    ("wanted", "said"),
    [("7", "Known: 1, 2, champion, previous"), ("chapmion", "'champion'")],
    ids=["number", "alias"],
)
def test_a_version_that_is_not_there_is_refused(two, states, capfd, wanted, said):
    run = two.run(wanted)
    assert states(run)["resolve"] == "failed"
    out = capfd.readouterr().out
    assert says(out, "Refused, nothing was changed", f"'{wanted}'", said)
    # All that there are, with when, and by which run.
    assert "\n  2 (champion): 20" in out
    assert " UTC, by run-1" in out
    assert two.traffic == {"2": 100}


def test_a_parameter_with_a_slip_in_its_name_is_refused(two, states, capfd):
    """Ignored, it would roll back to `previous` instead of the version that was asked for."""
    assert states(two.run(versoin="1"))["resolve"] == "failed"
    out = capfd.readouterr().out
    assert says(out, "Refused", "rollback", "versoin: ", "'version'")
    assert two.traffic == {"2": 100}


def test_nothing_was_ever_deployed(registry, states, capfd):
    run = registry.run()
    assert states(run)["resolve"] == "failed"
    assert "was never deployed" in capfd.readouterr().out


def test_a_version_that_someone_uploaded_beside_does_not_stand_in_the_way(two):
    two.upload(labels={"made-by": "hand"})
    assert [str(v.number) for v in registry_of.versions(two.experiment, two.platform)] == ["2", "1"]


def test_nothing_was_replaced_yet(registry, capfd):
    registry.upload("champion")
    assert registry.run().state == "failed"
    assert "no version 'previous'" in capfd.readouterr().out


@pytest.mark.slow
def test_two_that_were_triggered_in_a_hurry_are_one(two):
    before = datetime.datetime.now(datetime.UTC)
    during = []
    two.dag.get_task("champion").post_execute = lambda context, result=None: during.append(
        datetime.datetime.now(datetime.UTC)
    )
    assert two.run().state == "success"
    for triggered in (before, *during):
        with pytest.raises(AirflowSkipException, match="another run has rolled back since"):
            resolve.make(two.experiment, two.platform, "previous", "second", triggered)
    # A number says what it means, whenever it was triggered.
    decided = resolve.make(two.experiment, two.platform, "2", "third", triggered)
    assert decided["version"] == f"{two.model}@2"
