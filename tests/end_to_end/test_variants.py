"""A run, and a second deployment, under each answer that Google's documentation leaves open.

docs/first-real-run.md says the switch for each unknown.
"""

import pytest

from tests.end_to_end import contended

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

VARIANTS = (
    "list-operations=unimplemented",
    "taken-aliases=refused",
    "list-lag=5",
    "etags=aborted",
    "etags=failed-precondition",
    "failing-operations=1",
    "operation-seconds=12",  # longer than a task polls itself: it waits deferred
)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_and_a_second_deployment_succeed_under(variant, calm_winner, monkeypatch):
    monkeypatch.setenv("LOCAL_GCP_VARIANTS", variant)
    with contended.new_demo() as demo:
        run = contended.check_run(demo)
        assert contended.winner(run) == calm_winner
        contended.check_redeployment(demo, run)
