"""Serving processes: the variables that they get."""

from types import SimpleNamespace

import pytest

from local_gcp.home import Home
from local_gcp.jobs.machine import Machine
from local_gcp.vertex.endpoints.deployment import Launch, Replica
from local_gcp.vertex.endpoints.processes import Processes


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    home.create()
    return home


def test_variables_are_the_services_then_the_images_then_the_models(home, until):
    processes = Processes(home, {"PYTHONPATH": "/hook", "A": "service", "B": "service"}, Machine(1))
    image = {"PATH": "/bin", "PYTHONPATH": "/app", "B": "image", "C": "image"}
    own = {"C": "$(B) of model, port $(AIP_HTTP_PORT)"}
    launch = Launch(["env"], image, own, "/", health="/", predict="/", timeout=10)
    deployment = SimpleNamespace(
        endpoint="projects/1/locations/us-central1/endpoints/2", id="3", key="3", launch=launch
    )
    replica = Replica(0, port=4)
    processes.launch(deployment, replica)
    until(lambda: processes.attempt(deployment, replica).poll())
    shown = (processes.folder(deployment, replica) / "log").read_text().splitlines()
    told = dict(line.split("=", 1) for line in shown)
    assert [told[name] for name in "ABC"] == ["service", "image", "image of model, port 4"]
    # What leads Python's clients to local_gcp stays, behind the image's own.
    assert told["PYTHONPATH"] == "/app:/hook"
