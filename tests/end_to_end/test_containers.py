"""The digits experiment with every job in a container of its image: the same leaderboard."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.docker import builder
from tests.end_to_end.local_run import SMALL, Demo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

COMPARED = ("name", "rank", "kind", "status", "metrics", "difference", "trial", "hyperparameters")


@pytest.fixture(scope="module")
def layouts():
    """Folder of each image, built from docker/Dockerfile."""
    if why_not := builder.install_tools():
        pytest.skip(why_not)
    return {target: builder.layout(target) for target in builder.TARGETS}


@pytest.fixture
def in_containers(layouts):
    """A local run of its own, whose jobs are containers."""
    local = Path(tempfile.mkdtemp(prefix="trellis-"))
    demo = Demo(local)
    images = [{"image": f"*/trellis/{name}:*", "oci": str(o)} for name, o in layouts.items()]
    demo.replace_images(images)
    yield demo
    demo.command("stop").communicate(timeout=120)
    shutil.rmtree(local, ignore_errors=True)


def test_containers_and_plain_processes_learn_the_same(demo, served_run, in_containers):
    demo.command("stop").communicate(timeout=120)
    done = in_containers.run(SMALL, timeout=3600)
    assert done.returncode == 0, done.stdout
    (run,) = in_containers.runs()
    logs = [Path(job["replicas"][0]["log"]).read_text() for job in in_containers.jobs("CustomJob")]
    assert logs
    assert all("layouts/trainer" in log for log in logs), "each begins with what ran it"
    assert contenders(run) == contenders(served_run)


def contenders(run: Path) -> list[dict]:
    """What the leaderboard says of each, without times and addresses."""
    board = json.loads((run / "leaderboard/leaderboard.json").read_text())
    return [{key: entry[key] for key in COMPARED} for entry in board["contenders"]]
