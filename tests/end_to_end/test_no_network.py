"""`make demo` where there is no network: no part of a local run needs one, and none looks for one.

Both experiments, with nothing but the loopback interface. The kernel counts whatever is sent
elsewhere, so a library that fails and goes on without its answer is seen too.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from testbed.local_run import SMALL, Demo

ALONE = (
    *("unshare", "--net", *(["--map-root-user"] if os.geteuid() else [])),
    *("python3", Path(__file__).with_name("without_network.py")),
)


def tell(*command: str) -> dict:
    """Return the report of without_network.py on a command; {} if it cannot be run."""
    if not shutil.which("unshare"):
        return {}
    done = subprocess.run([*ALONE, *command], capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if not done.returncode else {}


pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not tell("true"), reason="no network namespace: needs unshare and ip"),
]


@pytest.fixture
def alone():
    """A local run of its own, without a network."""
    local = Path(tempfile.mkdtemp(prefix="trellis-"))
    demo = Demo(local, around=ALONE)
    demo.replace_images([])
    yield demo
    Demo(local).command("stop").communicate(timeout=120)
    shutil.rmtree(local, ignore_errors=True)


def test_what_leaves_the_machine_is_counted():
    """The kernel counts TCP and UDP, with and without an answer."""
    program = """
import socket

for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    with socket.socket(type=kind) as client:
        client.connect_ex(("198.51.100.1", 53))
"""
    assert tell("python3", "-c", program) == {"unreachable": 2}


def test_both_experiments_succeed(alone):
    process = alone.command("run", "--conf", json.dumps(SMALL))
    out, _ = process.communicate(timeout=3000)
    assert process.returncode == 0, out
    for experiment in ("digits", "breast-cancer"):
        (run,) = alone.runs(experiment)
        assert json.loads((run / "leaderboard/leaderboard.json").read_text())["contenders"]
    assert json.loads(out.splitlines()[-1]) == {"unreachable": 0}
