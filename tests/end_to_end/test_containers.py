"""The digits experiment with every job in a container of its image: the same leaderboard."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest

from testbed.local_run import SMALL, Demo
from tests.docker import builder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

# The first trial of a study is the middle of its space; local_gcp draws the others by the job's ID.
ONE_TRIAL = {**SMALL, "trials": 1, "parallel": 1}
COMPARED = ("name", "rank", "kind", "status", "metrics", "difference", "trial", "hyperparameters")


@pytest.fixture(scope="module")
def layouts():
    """Folder of each image, built from docker/Dockerfile."""
    if why_not := builder.install_tools():
        pytest.skip(why_not)
    yield {target: builder.layout(target) for target in builder.TARGETS}
    builder.release()


@pytest.fixture
def first_run():
    """The demo, and its first run of digits, where these are the images: nothing is served yet."""
    demos = []

    def run(images):
        demo = Demo(Path(tempfile.mkdtemp(prefix="trellis-")))
        demos.append(demo)
        demo.replace_images(images)
        done = demo.run(ONE_TRIAL, timeout=3000)
        assert done.returncode == 0, done.stdout
        (folder,) = demo.runs()
        versions = len(demo.serving()["models"])
        demo.command("stop").communicate(timeout=120)
        return folder, ran_in(demo), versions

    yield run
    for demo in demos:
        demo.command("stop").communicate(timeout=120)
        shutil.rmtree(demo.local, ignore_errors=True)


def ran_in(demo):
    """The images that local_gcp's programs ran in; None for one without."""
    started = [file.read_text() for file in demo.local.glob("gcp/**/attempt.json")]
    return {
        next((image for image in builder.TARGETS if f"layouts/{image}/unpacked" in argv), None)
        for argv in started
    }


def test_containers_and_plain_processes_learn_the_same(layouts, first_run):
    images = [{"image": f"*/trellis/{name}:*", "oci": str(o)} for name, o in layouts.items()]
    contained, used, served = first_run(images)
    assert (used, served) == ({"trainer", "serve", "export"}, 1)
    plain, used, served = first_run([])
    assert (used, served) == ({None}, 1)
    assert contenders(contained) == contenders(plain)


def contenders(run: Path) -> list[dict]:
    """Return the leaderboard's contenders, without times and addresses."""
    board = json.loads((run / "leaderboard/leaderboard.json").read_text())
    return [{key: entry[key] for key in COMPARED} for entry in board["contenders"]]
