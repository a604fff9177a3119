"""OpenLineage events of a whole run: from the source's table to the endpoint, step by step."""

from collections import defaultdict

import pytest

from testbed.local_run import ROOT
from tests.end_to_end import lineage_drawing
from tests.end_to_end.conftest import BUCKET, NAME, TABLE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

FOLDER = f"gs://{BUCKET} {NAME}"


@pytest.fixture(scope="module")
def states(whole_run):
    return whole_run.states


@pytest.fixture(scope="module")
def events(whole_run):
    return whole_run.events


@pytest.fixture(scope="module")
def ended(events):
    """By task: the types of its last events, and all that they name as read and as written."""
    found = defaultdict(lambda: {"types": [], "inputs": set(), "outputs": set()})
    for event in events:
        task = event["job"]["name"].removeprefix(f"{NAME}.")
        if event["eventType"] in ("COMPLETE", "FAIL", "ABORT"):
            found[task]["types"].append(event["eventType"])
            for way in ("inputs", "outputs"):
                names = {f"{d['namespace']} {d['name']}" for d in event.get(way, [])}
                found[task][way] |= names
    return found


def test_each_task_begins_and_ends_in_the_groups_namespace(states, events, ended):
    assert {event["job"]["namespace"] for event in events} == {"research"}
    began = {event["job"]["name"] for event in events if event["eventType"] == "START"}
    done = {task for task, state in states.items() if state in ("success", "failed")}
    assert done <= {name.removeprefix(f"{NAME}.") for name in began}
    assert done <= ended.keys()
    for task in done:
        assert set(ended[task]["types"]) == {"FAIL" if states[task] == "failed" else "COMPLETE"}


def test_each_product_is_written_by_one_task_and_read_by_the_next(ended):
    (snapshot,) = ended["snapshot"]["outputs"]
    assert snapshot.startswith("bigquery local-gcp.")
    assert f"bigquery local-gcp.{TABLE}" in ended["snapshot"]["inputs"]
    assert ended["extract"]["inputs"] == {snapshot}
    assert ended["export"]["inputs"] == ended["extract"]["outputs"]
    (dataset,) = ended["export"]["outputs"]
    assert dataset.startswith(f"{FOLDER}/datasets/")
    assert ended["tune"]["inputs"] == ended["train"]["inputs"] == {dataset}
    (run,) = {name.rpartition("/tuning")[0] for name in ended["tune"]["outputs"]}
    trained = {f"{run}/training/{n}" for n in (1, 2)}
    assert ended["train"]["outputs"] == trained | {f"{name}/model" for name in trained}
    assert ended["compare"]["inputs"] == trained
    assert ended["compare"]["outputs"] == {f"{run}/leaderboard"}
    assert ended["deploy.register"]["inputs"] == {f"{run}/training/1/model"}
    version = f"vertex_ai model:local-gcp.us-central1.{NAME}.1"
    assert ended["deploy.register"]["outputs"] == {version}
    assert ended["deploy.canary_100"]["inputs"] == {version}
    endpoint = f"vertex_ai endpoint:local-gcp.us-central1.{NAME}"
    assert ended["deploy.canary_100"]["outputs"] == {endpoint}


def test_a_baseline_reads_the_snapshot(ended):
    assert ended["snapshot"]["outputs"] <= ended["bqml.logistic_reg"]["inputs"]


def test_a_failure_is_told_with_its_reason(states, events, ended):
    failed = {task for task, state in states.items() if state == "failed"}
    assert failed == {"bqml.boosted_tree_classifier"}
    assert set(ended["bqml.boosted_tree_classifier"]["types"]) == {"FAIL"}
    name = f"{NAME}.bqml.boosted_tree_classifier"
    (end,) = (e for e in events if e["eventType"] == "FAIL" and e["job"]["name"] == name)
    # BigQuery's own message may quote rows.
    assert "BigQuery says (invalidQuery)" in end["run"]["facets"]["errorMessage"]["message"]


def test_a_skipped_task_has_read_the_plan_at_most(states, ended):
    skipped = {task for task, state in states.items() if state == "skipped"}
    assert "automl.views" in skipped
    for task in skipped & ended.keys():
        assert set(ended[task]["types"]) == {"COMPLETE"}
        assert all(name.endswith("/plan.json") for name in ended[task]["inputs"])
        assert ended[task]["outputs"] == set()


def test_a_function_tells_the_runs_files(ended):
    assert any(name.endswith("/trials.json") for name in ended["choose"]["outputs"])
    assert any(name.endswith("/plan.json") for name in ended["plan"]["outputs"])


def test_the_documentation_shows_this_run(events):
    assert (ROOT / "docs/lineage.svg").read_text() == lineage_drawing.svg(events)
