"""The question whether a promoted training is deployed, asked by a real run and answered through
Airflow's API.
"""

from datetime import timedelta

import pytest
from airflow.sdk.exceptions import AirflowFailException

from tests.airflow_side import clear_and_go_on, run_dag
from tests.trellis.answering import People, api, ask, sweep
from tests.trellis.results.made import a_leaderboard, an_approval
from tests.trellis.vertex import deploying
from trellis.workflow.contracts import layout
from trellis.workflow.lookups import documents
from trellis.workflow.stages import approve_operator
from trellis.workflow.stages.deploy.subject import Subject
from trellis_contracts.approval import Approval, digest


@pytest.fixture(scope="module", autouse=True)
def weights(google):
    """The files of the model that others deploy."""
    folder = google.buckets / deploying.BUCKET / "model"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights").write_text("1")


def others_deploy(name):
    endpoint = deploying.make_endpoint(name)
    version = deploying.register(name, run_id="other")
    deploying.deploy(endpoint, version, share=100)


@pytest.fixture(scope="module")
def browser(google):
    with api() as made:
        yield made


@pytest.fixture
def asking(google, digits, group, request):
    """A run of the test's own experiment that asks these people."""
    return lambda *people, **within: ask(
        google, digits, group, request.node.name, *people, **within
    )


def test_an_approval_lets_the_deployment_begin_and_is_not_asked_for_twice(asking, browser):
    these = asking("olga")
    people = People(browser, these.dag.dag_id, ("olga", "Approve", "better on site B"))
    run = run_dag(these.dag, people)
    assert people.codes == [200]
    assert these.states(run) == {"promote": "success", "approve": "success", "deploy": "success"}
    found = these.record
    assert (found["state"], found["by"], found["reason"]) == (
        *("approved", "olga"),
        "better on site B",
    )
    assert found["asked"] <= found["at"] <= found["until"]
    (question,) = people.questions
    assert "/trellis/experiments/" in question["body"]
    assert "leaderboard/report.html" in question["body"]
    (message,) = these.sent
    assert message.startswith("TRELLIS APPROVAL: ")
    assert "/tasks/approve/required_actions" in message

    # Whatever is cleared: who has answered is not asked again.
    assert these.states(clear_and_go_on(these.dag, run, "approve"))["deploy"] == "success"
    assert these.record == found
    assert len(these.sent) == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (" site B is worse ", "site B is worse"),
        (None, None),
        ({}, None),
        ({"reason": 7, "why": "a field that nobody asked for"}, "7"),
    ],
)
def test_a_rejection_ends_green_and_without_a_deployment(asking, browser, given, told):
    these = asking("olga", "role:Admin")
    run = run_dag(these.dag, People(browser, these.dag.dag_id, ("olga", "Reject", given)))
    assert these.states(run)["deploy"] == "skipped"
    assert (these.record["state"], these.record["reason"]) == ("rejected", told)


@pytest.mark.parametrize(
    ("approvers", "user", "allowed"),
    [
        (["role:Op"], "olga", True),
        (["role:OP", "vera"], "oskar", True),
        (["role:Op"], "ada", False),  # an administrator has no other role
        (["role:Op"], "uwe", False),
        (["olga"], "oskar", False),
        (["vera"], "vera", False),  # a viewer changes nothing
        (["role:Viewer"], "vera", False),
    ],
)
def test_only_who_is_listed_and_may_change_the_run_answers(
    asking, browser, approvers, user, allowed
):
    these = asking("ada", *approvers) if user != "ada" else asking(*approvers)
    # If the first is refused, another ends the wait.
    last = "ada" if user != "ada" else "olga"
    people = People(
        browser,
        these.dag.dag_id,
        (user, "Reject", "no"),
        *([] if allowed else [(last, "Reject", "x")]),
    )
    run_dag(these.dag, people)
    assert people.codes == ([200] if allowed else [403, 200])
    assert these.record["by"] == (user if allowed else last)


def test_without_an_answer_in_time_nothing_is_deployed(asking):
    these = asking("role:Op", within="1 second")
    run = run_dag(these.dag, sweep)
    assert these.states(run) == {"promote": "success", "approve": "success", "deploy": "skipped"}
    assert (these.record["state"], these.record["by"]) == ("expired", None)

    # Cleared, it asks anew, and has the whole time again.
    before = these.record["until"]
    again = asking("role:Op", within="1 second")
    assert run_dag(again.dag, sweep).state == "success"
    assert again.record["until"] > before


def test_another_champion_overtakes_a_run_that_waits(asking, monkeypatch):
    monkeypatch.setattr(approve_operator, "_LOOK", timedelta(seconds=1))
    these = asking("olga")
    looks = []

    def others():
        looks.append(None)
        sweep()
        if len(looks) == 1:
            others_deploy(these.dag.dag_id)

    run = run_dag(these.dag, others)
    assert these.states(run)["deploy"] == "skipped"
    found = these.record
    assert (found["state"], found["by"]) == ("overtaken", None)
    assert f"models/{these.dag.dag_id}@1 is served" in found["reason"]


def test_an_approval_that_comes_too_late_deploys_nothing(asking, browser):
    these = asking("olga")
    people = People(browser, these.dag.dag_id, ("olga", "Approve", None))

    def others():
        if not people.codes:
            others_deploy(these.dag.dag_id)
        people()

    run = run_dag(these.dag, others)
    assert these.states(run)["deploy"] == "skipped"
    assert these.record["state"] == "overtaken"
    assert these.record["by"] == "olga"


@pytest.mark.parametrize(
    ("state", "same", "begins"),
    [
        ("approved", True, True),
        ("approved", False, False),
        *((state, True, False) for state in ("waiting", "rejected", "expired", "overtaken")),
        (None, True, False),
    ],
)
def test_a_deployment_begins_with_an_approval_of_this_comparison_alone(asking, state, same, begins):
    """Somebody may mark the question as answered, or compare again after the answer."""
    these = asking("ada")
    run = layout.Run.of(these.experiment, these.platform, "r")
    documents.write_file(these.platform, run.leaderboard, a_leaderboard())
    if state:
        of = digest(a_leaderboard()) if same else "f" * 64
        answer = Approval.from_document(an_approval(state) | {"leaderboard": of})
        documents.write_file(these.platform, run.approval, answer)
    subject = Subject(these.experiment, these.platform)
    if begins:
        subject.approved({"run_id": "r"})
        return
    with pytest.raises(AirflowFailException, match="clear `approve` and the tasks after it"):
        subject.approved({"run_id": "r"})
