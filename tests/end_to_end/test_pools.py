"""Jobs wait for slots of the group's Airflow pools (platform.yaml's `pools`): a real scheduler."""

import json
import subprocess
import time

import pytest
import yaml

from testbed.local_run import PLATFORM
from tests.end_to_end import contended

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

# The trainings of digits have two workers each, so a pool of two slots runs one at a time.
PARAMS = {"trials": 2, "parallel": 2, "top": 2, "tune_epochs": 1, "train_epochs": 20}
POOL = "vertex-machines"


def test_trainings_wait_for_slots_while_others_are_deferred(tmp_path, monkeypatch):
    platform = tmp_path / "platform.yaml"
    platform.write_text(yaml.safe_dump(PLATFORM | {"pools": {"vertex": POOL}}))
    monkeypatch.setenv("TRELLIS_PLATFORM", str(platform))
    with contended.new_demo() as demo:
        running = demo.command("run", "digits", "--conf", json.dumps(PARAMS))
        make_pool(demo, slots=2)
        together = []
        while running.poll() is None:
            states = [job["state"] for job in demo.jobs("custom", "digits training")]
            together.append(sum(state != "JOB_STATE_SUCCEEDED" for state in states))
            time.sleep(1)
        assert running.returncode == 0, running.stdout.read()
        assert len(demo.jobs("custom", "digits training")) == 2
    assert max(together) == 1


def make_pool(demo, slots):
    """Deferred tasks, whose jobs run, hold their slots only with --include-deferred."""
    deadline = time.monotonic() + 300
    while True:
        try:
            return demo.airflow("pools", "set", POOL, str(slots), "tests", "--include-deferred")
        except subprocess.CalledProcessError:
            # Airflow has no database yet.
            assert time.monotonic() < deadline
            time.sleep(2)
