"""Whole runs that ask people before they deploy, answered through Airflow's API."""

import json

import pytest

from tests.airflow_side import clear_and_go_on, run_dag
from tests.trellis.answering import People, api
from tests.trellis.workflow.whole_runs import a_dag, folder, said, states
from tests.wording import says

__all__ = ["a_dag", "folder"]


@pytest.fixture(scope="module")
def browser(google):
    with api() as made:
        yield made


def deploy(**others):
    gate = {"require": {"accuracy": 1e-9}}
    return {"gate": gate, "canary": [100], "approve": ["role:Op"], "within": "1 hour", **others}


def index_record(google, dag, folder):
    index = google.buckets / "runs-tests/_index" / dag.dag_id / "runs"
    return json.loads((index / f"{folder(dag).name}.json").read_text())["result"]


def test_a_rejected_run_is_green_and_its_history_says_why(google, a_dag, folder, browser):
    dag = a_dag(deploy=deploy())
    run = run_dag(dag, People(browser, dag.dag_id, ("olga", "Reject", "site B is worse")))
    assert run.state == "success"
    found = states(run)
    assert found["approve"] == found["settled"] == found["result"] == "success"
    behind = {name: state for name, state in found.items() if name.startswith("deploy")}
    assert set(behind.values()) == {"skipped"}
    assert "olga rejected it: site B is worse" in said(run)
    result = index_record(google, dag, folder)
    assert result["promoted"] is True
    assert result["failure"] is None
    assert result["approval"]["state"] == "rejected"
    assert result["approval"]["by"] == "olga"
    assert result["approval"]["why"] == "olga rejected it: site B is worse"


@pytest.mark.slow
def test_an_approved_run_serves_its_model(google, a_dag, folder, browser):
    dag = a_dag(deploy=deploy(approve=["olga"]))
    run = run_dag(dag, People(browser, dag.dag_id, ("olga", "Approve", None)))
    assert run.state == "success", states(run)
    assert says(said(run), "training/1", "deployed: projects/")
    result = index_record(google, dag, folder)
    assert result["deployment"]["state"] == "serving"
    assert result["approval"]["why"] == "olga approved it"

    # Cleared as a whole, it asks nobody again.
    again = clear_and_go_on(dag, run)
    assert again.state == "success"
    assert said(again) == said(run)
