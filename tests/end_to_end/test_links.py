"""A run's links to Google's console, as the UI has them: each leads to its task's job."""

import pytest

from trellis.identity import label_value

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_link_to_a_job_leads_to_the_job_of_its_task(whole_run):
    linked = set()
    for link in whole_run.links:
        labels = link["labels"] or {}
        if "airflow-task" in labels and not link["task"].startswith("deploy."):
            assert labels["airflow-task"] == label_value(link["task"]), link
            assert labels["airflow-run"] == label_value(whole_run.run), link
            index = str(link["index"]) if link["index"] >= 0 else "none"
            assert labels["airflow-map-index"] == index, link
            linked.add((link["task"], link["index"]))
    baselines = {f"bqml.{name}" for name in ("logistic_reg", "boosted_tree_classifier")}
    jobs = {"snapshot", "check", "extract", "export", "tune", "compare"} | baselines
    assert linked == {(task, -1) for task in jobs} | {("train", 0), ("train", 1)}


def test_no_link_of_vertex_ai_is_empty(whole_run):
    done = [link for link in whole_run.links if whole_run.states[link["task"]] == "success"]
    named = {link["name"] for link in done if link["url"]}
    assert named >= {"Vertex AI Training", "Vertex AI Custom Job", "Vertex AI Model", "Endpoint"}
    empty = {(link["task"], link["name"]) for link in done if not link["url"]}
    # A script has no table of its own.
    assert {name for _, name in empty} <= {"BigQuery Table"}, empty


def test_a_step_of_the_deployment_links_to_the_experiments_model_and_endpoint(whole_run):
    steps = [link for link in whole_run.links if link["task"].startswith("deploy.")]
    names = {link["name"] for link in steps if link["labels"]}
    assert names >= {"Vertex AI Model", "Endpoint"}
    assert {link["labels"]["trellis-experiment"] for link in steps if link["labels"]} == {"cells"}
