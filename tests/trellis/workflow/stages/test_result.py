from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.trellis.results.made import a_contender, a_leaderboard
from tests.wording import says
from trellis.workflow.assembly.chain import STAGES
from trellis.workflow.lookups import plans
from trellis.workflow.stages import result
from trellis.workflow.stages.result import deployment, failed, summary, winner
from trellis_contracts.deployment import Deployment
from trellis_contracts.leaderboard import Promotion

FAILED = {"metrics": {}, "selected": None, "status": "failed", "reason": "no metrics.json"}
CONTENDERS = (
    a_contender("training/2", 0.97, 0.95, 0.98, selected=True),
    a_contender("training/1", 0.95, 0.93, 0.97, selected=False),
    a_contender("training/3", 0, 0, 0, **FAILED),
)
BOARD = a_leaderboard(*CONTENDERS)


def test_the_winner_comes_first():
    assert summary(BOARD) == [
        "Winner: training/2",
        "training/2: accuracy 0.9700",
        "training/1: accuracy 0.9500",
        "training/3: failed, no metrics.json",
    ]
    assert winner(BOARD) == {"winner": "training/2", "metric": "accuracy", "value": 0.97}


def test_a_cost_that_google_does_not_tell_fails_no_run(digits, group, monkeypatch, capsys):
    def refused(*_):
        raise PermissionError("no dataflow.jobs.get")

    monkeypatch.setattr(plans, "load", refused)
    assert result._spent(digits, group, STAGES, SimpleNamespace(run_id="r"), BOARD) is None
    assert "not known: no dataflow.jobs.get" in capsys.readouterr().out


def test_who_is_missing_and_why():
    assert failed(BOARD) == "training/3 failed (no metrics.json)"
    assert failed(a_leaderboard(*CONTENDERS[:2])) == ""


def record(**changes):
    """Return deployment.json of a model that is served."""
    known = Deployment(run="R", challenger="C", endpoint="E", model="M@3", previous=None)
    return replace(known, **{"state": "serving", **changes})


def decided(promoted):
    decision = Promotion("training/2", promoted, "accuracy 0.97 is below 0.99", (), None)
    return replace(BOARD, promotion=decision)


def test_what_became_of_the_promotion():
    assert says(deployment(decided(True), record(), []), "training/2", "M@3")
    assert deployment(decided(False), None, []) == (
        "training/2 is not promoted: accuracy 0.97 is below 0.99. The served version stays."
    )
    assert "switched off for this run" in deployment(replace(BOARD, promotion=None), None, [])


def test_why_a_deployment_failed():
    retreated = record(state="retreated", reason="smoke_10: too slow", previous="M@2")
    text = deployment(decided(True), retreated, ["deploy.smoke_10"])
    assert says(text, "training/2", "not deployed: smoke_10: too slow", "previous version")
    first = replace(retreated, previous=None)
    assert "previous version" not in deployment(decided(True), first, ["deploy.smoke_10"])


@pytest.mark.parametrize("promoted", [True, False])
@pytest.mark.parametrize("written", [None, record(), record(state="retreated", reason="slow")])
@pytest.mark.parametrize("task", ["promote", "deploy.smoke_10", "deploy.retention"])
def test_the_task_that_failed_or_was_marked_is_named_and_to_be_cleared(promoted, written, task):
    text = deployment(decided(promoted), written, [task])
    assert text.endswith(f" Clear `{task}` to do it and what follows again.")
    served = promoted and written is not None and written.state == "serving"
    assert ("E serves M@3" in text) == served


def test_what_fails_after_the_deployment_does_not_take_it_back():
    serving = record(reason="retention: no")
    text = deployment(decided(True), serving, ["deploy.retention"])
    assert says(text, "training/2", "deployed: E serves M@3. But ", "retention: no")
