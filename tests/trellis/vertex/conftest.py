from types import SimpleNamespace

import pytest

from tests.trellis.vertex import deploying


@pytest.fixture(scope="session")
def serving(google):
    """Clients of the services, `models` and `endpoints`; the files of a model are there."""
    folder = google.buckets / deploying.BUCKET / "model"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights").write_text("1")
    models, endpoints = deploying.clients()
    return SimpleNamespace(models=models, endpoints=endpoints)


@pytest.fixture
def name(request):
    """A name for the experiment, model and endpoint of one test."""
    short = request.node.name.replace("_", "-").replace("[", "-").replace("]", "")
    return short.removeprefix("test-")[:50].rstrip("-").lower().replace(" ", "-")


@pytest.fixture
def endpoint(serving, name):
    """Name of an endpoint with nothing deployed."""
    return deploying.make_endpoint(name)


@pytest.fixture
def champion(serving, name, endpoint):
    """Name of a version that has all traffic of the endpoint, and the alias champion."""
    version = deploying.register(name, aliases=["champion"], run_id="the run before")
    deploying.deploy(endpoint, version)
    return version


@pytest.fixture
def held(google, serving, name):
    """A file: a model with the variable SICK=held is being deployed for as long as it is there."""
    file = google.buckets / deploying.BUCKET / f"{name}.sick"
    file.touch()
    yield file
    file.unlink(missing_ok=True)
