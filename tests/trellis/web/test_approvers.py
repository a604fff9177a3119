"""Approvers as FAB's auth manager has them, Composer's: users of numbers as ids and names, with
addresses and several roles. tests/trellis/workflow/stages/test_approve.py has those of the simple
auth manager.
"""

import pytest

from tests.airflow_side import run_dag
from tests.trellis.answering import FAB, People, api, ask

pytest.importorskip("airflow.providers.fab", reason="FAB is in the environment of Composer alone")

PEOPLE = {
    "ada": ("Admin",),
    "olga": ("Viewer", "Op"),
    "oskar": ("Op",),
    "uwe": ("User",),
    "vera": ("Viewer", "Reviewers"),
    "rita": ("User", "Reviewers"),
}


@pytest.fixture(scope="module")
def browser(google):
    with api(FAB, PEOPLE) as made:
        yield made


@pytest.mark.parametrize(
    ("approvers", "user", "allowed"),
    [
        (["olga@example.com"], "olga", True),
        (["Olga@Example.com"], "olga", True),
        (["role:Op"], "olga", True),  # by the second of two roles
        (["role:reviewers"], "rita", True),
        (["accounts.google.com:3"], "oskar", True),
        (["olga@example.com"], "oskar", False),
        (["role:Op"], "uwe", False),
        (["role:Reviewers"], "vera", False),  # a viewer changes nothing, whatever else it is
    ],
)
def test_a_user_is_known_by_address_or_any_role(
    google, digits, group, request, browser, approvers, user, allowed
):
    these = ask(google, digits, group, request.function.__name__, "ada@example.com", *approvers)
    # If the first is refused, another ends the wait.
    answers = [user] if allowed else [user, "ada"]
    said = [(name, "Reject", f"said {name}") for name in answers]
    people = People(browser, these.dag.dag_id, *said)
    run_dag(these.dag, people)
    assert people.codes == ([200] if allowed else [403, 200])
    found = these.record
    number = list(PEOPLE).index(answers[-1]) + 1
    assert found["by"] == f"accounts.google.com:{number}"
    assert (found["state"], found["reason"]) == ("rejected", f"said {answers[-1]}")
