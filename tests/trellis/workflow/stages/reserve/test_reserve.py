"""Champions that today's image serves, with real serving processes."""

import json
import re
import shutil

from tests.airflow_side import clear_and_go_on
from tests.wording import says
from trellis.workflow.contracts.aliases import FIRST_LABEL
from trellis.workflow.lookups import versions, watched


def test_the_champion_is_served_by_todays_image_untrained(reserves, states, capfd):
    these = reserves()
    trained = these.model(1)
    run = these.run("9.9.9")
    assert run.state == "success"
    assert states(run)["retreat"] == "skipped"
    assert states(run)["result"] == "success"
    assert these.deployed.traffic == {"2": 100}
    assert these.deployed.aliases == {"champion": "2", "previous": "1"}
    model = these.model(2)
    # By digest: whoever moves the tag now changes nothing that is served.
    assert re.search(r"/serve@sha256:[0-9a-f]{64}$", model.container_spec.image_uri)
    assert model.container_spec.image_uri != trained.container_spec.image_uri
    assert model.container_spec.command == trained.container_spec.command
    for field in ("artifact_uri", "version_description", "display_name"):
        assert getattr(model, field) == getattr(trained, field)
    assert model.labels["trellis-dataset"] == trained.labels["trellis-dataset"]
    # Its steps are those of a promoted training, tests of its answers included.
    record = these.record
    assert (record["state"], record["share"], record["previous"][-2:]) == ("serving", 100, "@1")
    steps = {step["step"]: step for step in record["steps"]}
    assert {"canary_100", "smoke_100", "champion"} <= steps.keys()
    assert steps["smoke_100"]["examples"] == 3
    (found,) = these.index
    assert (found["version"][-2:], found["before"][-2:]) == ("@2", "@1")
    assert found["image"] == model.container_spec.image_uri
    assert watched.champion(these.deployed.experiment, these.deployed.platform) == "1"
    # Cleared, it finds everything done.
    before = these.deployed.endpoint
    assert clear_and_go_on(these.dag, run).state == "success"
    assert these.deployed.endpoint == before
    assert these.deployed.aliases == {"champion": "2", "previous": "1"}

    # A second image is served by the same files again.
    last = these.run("9.9.10")
    assert last.state == "success"
    assert these.deployed.aliases == {"champion": "3", "previous": "2"}
    assert these.model(3).labels[FIRST_LABEL] == "1"
    assert these.model(3).artifact_uri == trained.artifact_uri
    experiment, platform = these.deployed.experiment, these.deployed.platform
    assert {version.run for version in versions.versions(experiment, platform)} == {
        json.loads(trained.version_description)["run"]
    }
    # Whoever waits for a new champion is started by a training alone.
    assert watched.champion(experiment, platform) == "1"
    assert these.deployed.run().state == "success"
    assert watched.champion(experiment, platform) == "4"
    # A cleared run does not replace that.
    assert clear_and_go_on(these.dag, last).state == "failed"
    assert "became the champion since" in capfd.readouterr().out
    assert these.deployed.traffic == {"4": 100}


def test_an_image_that_answers_differently_is_taken_back(reserves, states, capfd):
    these = reserves()
    these.deployed.expect({1: 2, 2.5: 5, -3: -7})
    run = these.run("9.9.9")
    assert run.state == "failed"
    assert (states(run)["smoke_100"], states(run)["retreat"]) == ("failed", "success")
    assert these.deployed.traffic == {"1": 100}
    assert these.deployed.aliases["champion"] == "1"
    assert these.index == []
    assert says(capfd.readouterr().out, "as before", "`deploy.smoke_100` failed")
    # With the image repaired, a new run brings it into service.
    these.deployed.expect({1: 2, 2.5: 5, -3: -6})
    assert these.run("9.9.10").state == "success"
    assert these.deployed.traffic == {"3": 100}


def test_no_deployment_is_disturbed(reserves, states, capfd):
    """A version that has requests and is not the champion is a canary, or was left half-way."""
    these = reserves()
    these.deployed.promote_another()
    these.deployed.deploy_all("2")
    these.deployed.put_back("1")
    ids = {m.model_version_id: m.id for m in these.deployed.endpoint.deployed_models}
    these.deployed.endpoints.update_endpoint(
        endpoint={
            "name": these.deployed.endpoint.name,
            "traffic_split": {ids["1"]: 60, ids["2"]: 40},
        },
        update_mask={"paths": ["traffic_split"]},
    )
    run = these.run("9.9.9")
    assert run.state == "failed"
    assert (states(run)["resolve"], states(run)["result"]) == ("failed", "failed")
    assert says(capfd.readouterr().out, "40% of the requests", "not the champion")
    assert these.deployed.traffic == {"1": 60, "2": 40}


def test_with_the_image_that_serves_it_or_without_the_files_of_its_run_nothing_is_changed(
    reserves, states, capfd
):
    these = reserves()
    run = these.run()
    assert run.state == "success"
    assert set(states(run).values()) == {"skipped"}
    assert "Nothing to do: version 1 (champion)" in capfd.readouterr().out
    assert these.deployed.aliases == {"champion": "1"}

    challenger = these.deployed.folder / "leaderboard/challenger.json"
    content = challenger.read_text()
    another = content.replace("training/1", "training/2")
    for message, lose in (
        ("is of another training", lambda: challenger.write_text(another)),
        ("with its test examples, is not there", challenger.unlink),
        (
            "has no files any more",
            lambda: shutil.rmtree(these.deployed.folder / "training/1/model"),
        ),
    ):
        challenger.write_text(content)
        lose()
        run = these.run("9.9.9")
        assert run.state == "failed", message
        assert states(run)["resolve"] == "failed"
        assert message in capfd.readouterr().out
        assert these.deployed.aliases == {"champion": "1"}


def test_without_a_champion_there_is_nothing_to_serve(deployments, monkeypatch, capfd):
    from tests.trellis.workflow.stages.reserve.conftest import Reserves

    these = Reserves(deployments(), monkeypatch)
    assert these.run("9.9.9").state == "failed"
    assert "has no champion" in capfd.readouterr().out


def test_the_tasks_are_those_of_the_experiments_own_deployment(digits, group):
    from trellis.workflow.assembly import reserve, training

    own = {t.task_id: t for t in training.build(digits, group).tasks}
    there = {t.task_id: t for t in reserve.build(digits, group).tasks}
    deploying = {name for name in own if name.startswith("deploy.")}
    assert there.keys() == deploying | {"resolve", "result"}
    assert {type(own[name]) for name in deploying} == {type(there[name]) for name in deploying}
