"""kill -9 of a deployment right after a call, and a second try: nothing twice, traffic right."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "tests/trellis/programs/killed_deployment.py"
LEFT = {
    "forward": {
        # Two are kept.
        "versions": [["3", ["previous"]], ["4", ["champion", "default"]]],
        "shares": {"4": 100},
    },
    "back": {
        "versions": [["1", ["default"]], ["2", []], ["3", ["champion"]], ["4", ["challenger"]]],
        "shares": {"3": 100},
    },
}


@pytest.fixture
def kills(serving):
    """Runs the program; what it says of each kill."""

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, PROGRAM, *arguments],
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'plugins'}"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    return run


def check(kill, flow):
    where = f"killed after call {kill['call']}, {kill['method']}"
    assert kill["lost"]["traffic"] == 100, where
    assert kill["lost"]["strays"] == [], where
    assert kill["after"] == {**LEFT[flow], "traffic": 100, "strays": []}, where


@pytest.mark.slow
def test_a_deployment_that_is_lost_halfway(kills):
    (deployed,) = kills("forward", "deploy_model")
    assert deployed["method"] == "deploy_model"
    assert deployed["lost"]["shares"]["3"] == 100
    check(deployed, "forward")


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("flow", "calls"), [("forward", 25), ("back", 15)])
def test_a_deployment_that_is_lost_after_any_call(kills, flow, calls):
    seen = kills(flow)
    assert [kill["call"] for kill in seen] == list(range(1, len(seen) + 1))
    assert len(seen) > calls
    for kill in seen:
        check(kill, flow)
