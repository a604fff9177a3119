"""The image of a program that knows nothing of Trellis: no TensorFlow, and it answers."""

import json
import signal
import subprocess

import pytest

from tests.docker import builder
from tests.docker.asking import ask, free_port, wait_for, wait_for_port
from tests.docker.builder import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

NEAREST = ROOT / "dags/experiments/programs/nearest"
FIT = """
import importlib.util, pathlib
import numpy as np
from nearest.model import Neighbours

assert importlib.util.find_spec("tensorflow") is None
assert importlib.util.find_spec("trainer") is None
columns = {"radius": np.array([0.0, 0.1, 1.0, 1.1])}
model = Neighbours.fit(columns, ["no", "no", "yes", "yes"], ["no", "yes"], 2, 1.0)
model.save(pathlib.Path("/data/model"))
"""


@pytest.fixture(scope="module")
def nearest(tmp_path_factory):
    """A function: arguments, variables -> the command that runs them in a container."""
    if why_not := builder.install_tools():
        pytest.skip(why_not)
    container = builder.container(builder.build_program(NEAREST))
    volume = f"--volume={tmp_path_factory.mktemp('data')}:/data"

    def command(*argv, **variables):
        named = [f"--env={name}={value}" for name, value in variables.items()]
        return builder.command(container, argv, volume, "--network=host", *named)

    yield command
    builder.remove(container)
    builder.release()


def test_its_server_answers_by_vertex_ais_contract(nearest):
    subprocess.run(nearest("python", "-c", FIT), env=builder.environment(), check=True)
    port = free_port()
    served = nearest(
        *("python", "-m", "nearest.serve"),
        AIP_HTTP_PORT=port,
        AIP_HEALTH_ROUTE="/health",
        AIP_PREDICT_ROUTE="/predict",
        AIP_STORAGE_URI="/data/model",
    )
    server = subprocess.Popen(served, env=builder.environment())
    try:
        wait_for_port(port, server)
        assert wait_for(lambda: ask(port, "/health"))[0] == 200
        code, answer = ask(port, "/predict", instances=[{"radius": 1.05}])
        assert code == 200
        (prediction,) = json.loads(answer)["predictions"]
        assert prediction["label"] == "yes"
        # One of a batch that is wrong has an error, and the other its prediction.
        batch = [{"radius": 0.05}, {"radius": "wide"}]
        assert ask(port, "/predict", instances=batch)[0] == 400
        _, answer = ask(port, "/predict", instances=batch, parameters={"each": True})
        first, second = json.loads(answer)["predictions"]
        assert (first["label"], list(second)) == ("no", ["error"])
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=60)


def test_a_job_without_its_flags_says_which_are_missing(nearest):
    done = subprocess.run(
        nearest("python", "-m", "nearest.train"),
        env=builder.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "missing flags: --dataset, --task" in done.stderr
