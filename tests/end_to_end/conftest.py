"""Whole runs through the user's door, with real processes only: see local_run.py.

Every session gets a `.local` folder of its own, so a demo that is running beside the tests is left
alone.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from local_gcp.testing import LocalGcp
from testbed.local_run import ROOT, SMALL, Demo
from tests.end_to_end import contended

# Of whole_run.py: the experiment, the bucket, the source.
NAME, BUCKET, TABLE = "cells", "lineage", "research.cells"

# A shell lets programs in the background (make test &) ignore Ctrl-C: the demo would go on.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that count what the first run of an experiment made come before others that run it."""
    items.sort(key=lambda item: "first_run" not in getattr(item, "fixturenames", ()))


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


@pytest.fixture(scope="session")
def whole_run(tmp_path_factory, local_gcp_environments):
    """The output of whole_run.py, and its OpenLineage events."""
    home = tmp_path_factory.mktemp("lineage")
    cloud = LocalGcp(home / "gcp", local_gcp_environments)
    images = (ROOT / "tests/trellis/images.yaml", ROOT / "demo/images.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCAL_GCP_IMAGES", os.pathsep.join(map(str, images)))
        cloud.up()
    transport = {"type": "file", "log_file_path": str(home / "events.jsonl"), "append": True}
    try:
        (cloud.buckets / BUCKET).mkdir()
        google = cloud.client_env
        done = subprocess.run(
            [sys.executable, "-m", "tests.end_to_end.whole_run", NAME, BUCKET, TABLE],
            cwd=ROOT,
            env=os.environ
            | google
            | {
                "PYTHONPATH": f"{ROOT}:{ROOT / 'plugins'}:{google['PYTHONPATH']}",
                "AIRFLOW_HOME": str(home / "airflow"),
                "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
                "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
                "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
                "AIRFLOW__OPENLINEAGE__NAMESPACE": "research",
            },
            capture_output=True,
            text=True,
            timeout=840,
        )
    finally:
        cloud.down()
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (home / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return SimpleNamespace(**json.loads(done.stdout.splitlines()[-1]), events=events)
