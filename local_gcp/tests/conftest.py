"""local_gcp as a real process; its clients also run in environments that have other libraries."""

import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

import local_gcp
from local_gcp.imports import without_collector

HERE = Path(__file__).resolve().parent
VENVS = HERE.parents[1] / ".venv"

pytest_plugins = ["local_gcp.testing", "tests.jobs.fixtures"]

# Models of few rows: threads that busy-wait for each other take 20 times the processor of one.
os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_NUM_THREADS": "1"}
os.environ["LOCAL_GCP_IMAGES"] = str(HERE / "images.yaml")
# urlopen keeps its first opener for good, with the proxy of that moment: a test that sets
# `client_env` in this process would lead every later one to a proxy that has ended.
urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))

if not Path(local_gcp.__file__).is_relative_to(HERE.parent):
    pytest.exit(f"{local_gcp.__file__} is installed, another tree than {HERE}: run `make setup`.")


def pytest_configure(config: pytest.Config) -> None:
    """Sets hypothesis as tests/conftest.py does."""
    examples = 50 if "not slow" in config.option.markexpr else 100
    hypothesis.settings.register_profile("local_gcp", deadline=None, max_examples=examples)
    hypothesis.settings.load_profile("local_gcp")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """The garbage collector does not look through what is collected: a quarter of the time."""
    with without_collector():
        return (yield)


@pytest.fixture(scope="session")
def local_gcp_environments() -> dict[str, Path]:
    """Airflow with Google's provider, TensorFlow and Beam, local_gcp itself."""
    return {name: VENVS / name / "bin/python" for name in ("airflow", "trainer", "local_gcp")}
