"""The served model, as `served` writes it down and `promote` looks again, at a real endpoint."""

import dataclasses
import json

import pytest
from airflow.sdk.exceptions import AirflowFailException

from tests.trellis.vertex import deploying
from trellis.workflow.contracts import layout
from trellis.workflow.lookups import documents
from trellis.workflow.spec.platform import Platform
from trellis.workflow.stages import promote, served
from trellis_contracts.leaderboard import Check, Promotion, ServedModel
from trellis_contracts.served import Served

NAME = "served-tests"
BUCKET = "served-tests"


@pytest.fixture(scope="module")
def platform(google, group):
    """The group's, with a bucket of its own that has the files of a model."""
    folder = google.buckets / deploying.BUCKET / "model"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights").write_text("1")
    (google.buckets / BUCKET).mkdir(exist_ok=True)
    return group.model_copy(update={"bucket": BUCKET})


@pytest.fixture(scope="module")
def halfway(platform):
    """The first run's model has 60% of the requests, the second's 40%: their names."""
    endpoint = deploying.make_endpoint(NAME)
    versions = []
    for run in ("first", "second"):
        model = deploying.model(NAME)
        model["labels"]["trellis-run"] = run
        versions.append(deploying.register(NAME, run_id=run, sent=model))
        deploying.deploy(endpoint, versions[-1], share=40)
    return versions


def run(name, experiment=NAME):
    return layout.Run(BUCKET, experiment, name)


def decision(scored):
    served = ServedModel(scored, None) if scored else None
    return Promotion("training/1", True, "it passes", (), served)


def test_before_the_first_deployment_nothing_is_served(platform, google):
    content = served.record(platform, run("first", "served-by-none"))
    assert content == Served()
    file = google.buckets / BUCKET / "served-by-none/runs/first/served.json"
    assert json.loads(file.read_text()) == content.to_document()
    assert served.describe(content).startswith("Nothing is served: ")
    promote.check_served(platform, run("first", "served-by-none"), decision(None))


def test_the_model_with_most_requests_is_compared_with(platform, halfway):
    first, second = halfway
    content = served.record(platform, run("third"))
    assert (content.model, content.traffic) == (first, 60)
    assert content.artifact_uri == f"gs://{deploying.BUCKET}/model"
    assert f"serves {first} (60% of the requests)" in served.describe(content)

    # The run whose model is on its way is not compared with itself.
    own = served.record(platform, run("second"))
    assert own.model == first
    promote.check_served(platform, run("second"), decision(first))

    # Decided anew: what is on its way must not stay there, unseen.
    with pytest.raises(AirflowFailException, match=r"has 40% of the requests and is not the cham"):
        promote.check_none_halfway(platform, run("second"))
    promote.check_none_halfway(platform, run("third"))

    # All the way: what the run wrote down then stays, whatever is cleared.
    deploying.shift(own.endpoint, second, 100)
    assert served.record(platform, run("second")) == own
    promote.check_served(platform, run("second"), decision(first))
    assert served.record(platform, run("third")).model == second
    models, _ = deploying.clients()
    models.merge_version_aliases(name=second, version_aliases=["champion"])
    promote.check_none_halfway(platform, run("second"))


def test_what_is_served_must_be_what_was_compared_with(platform, halfway):
    with pytest.raises(AirflowFailException, match=r"compared with nothing, .* Clear `served`"):
        promote.check_served(platform, run("third"), decision(None))
    gone = f"{halfway[0].partition('@')[0]}@9"
    with pytest.raises(AirflowFailException, match=r"models/served-tests@9, but now projects/"):
        promote.check_served(platform, run("third"), decision(gone))


def test_the_same_files_under_another_number_are_what_was_compared_with(platform, halfway):
    """The DAG EXPERIMENT-reserve has registered them once more meanwhile."""
    first, second = halfway
    now = served.record(platform, run("fourth"))
    deploying.shift(now.endpoint, second, 100)
    before = dataclasses.replace(now, model=first)
    documents.write_file(platform, run("fourth").served, before)
    promote.check_served(platform, run("fourth"), decision(first))
    other = dataclasses.replace(before, artifact_uri="gs://elsewhere/model")
    documents.write_file(platform, run("fourth").served, other)
    with pytest.raises(AirflowFailException, match="Clear `served`"):
        promote.check_served(platform, run("fourth"), decision(first))


def test_a_public_endpoint_does_not_become_private(platform, halfway):
    with pytest.raises(AirflowFailException, match=r"is a public endpoint, and deploy.private"):
        served.record(platform, run("third"), private=True)


def test_a_region_that_does_not_exist(platform):
    elsewhere = Platform.model_validate(
        platform.model_dump(mode="json", exclude_none=True) | {"region": "us-centre1"}
    )
    with pytest.raises(AirflowFailException, match=r"(?s)in us-centre1 .*Does that region exist"):
        served.record(elsewhere, run("third"))


def test_a_person_reads_why():
    checks = (Check("beats bqml-x", False, "ahead by -0.01"),)
    decision = Promotion("training/1", False, "no lead", checks, None)
    assert promote.summary(decision) == [
        "training/1 is not promoted: no lead",
        "  FAILED: beats bqml-x (ahead by -0.01)",
    ]
