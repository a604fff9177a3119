"""Whole runs through the user's door, with real processes only: see local_run.py.

Every session gets a `.local` folder of its own, so a demo that is running beside the tests is left
alone.
"""

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.local_run import SMALL, Demo
from tests.end_to_end import contended

# A shell lets programs in the background (tests/run.sh) ignore Ctrl-C: the demo would go on.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def demo() -> Iterator[Demo]:
    # Not pytest's tmp_path: Airflow's log paths are long, and a failed run's logs shall be found.
    local = Path(tempfile.mkdtemp(prefix="trellis-"))
    demo = Demo(local)
    demo.replace_images([])
    yield demo
    demo.command("stop").communicate(timeout=120)
    if not os.environ.get("TRELLIS_KEEP"):
        shutil.rmtree(local, ignore_errors=True)


@pytest.fixture
def served_run(demo) -> Path:
    """The folder of a digits run whose model is served; made if there is none."""

    def promoted(run: Path) -> bool:
        record = run / "deployment.json"
        return record.exists() and json.loads(record.read_text())["state"] == "serving"

    if not any(map(promoted, demo.runs())):
        done = demo.run(SMALL)
        assert done.returncode == 0, done.stdout
    return next(run for run in reversed(demo.runs()) if promoted(run))


@pytest.fixture(scope="session")
def calm_winner() -> dict:
    """The winner of a run in a local_gcp as it comes, see contended.winner."""
    with contended.new_demo() as demo:
        return contended.winner(contended.check_run(demo))
