"""local_gcp as a real process; its clients also run in environments that have other libraries."""

import os
import urllib.request
from pathlib import Path

import pytest

import local_gcp

HERE = Path(__file__).resolve().parent
VENVS = HERE.parents[1] / ".venv"

pytest_plugins = ["local_gcp.testing", "tests.jobs.fixtures"]

os.environ["LOCAL_GCP_IMAGES"] = str(HERE / "images.yaml")
# urlopen keeps its first opener for good, with the proxy of that moment: a test that sets
# `client_env` in this process would lead every later one to a proxy that has ended.
urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))

if not Path(local_gcp.__file__).is_relative_to(HERE.parent):
    pytest.exit(f"{local_gcp.__file__} is installed, another tree than {HERE}: run `make setup`.")


@pytest.fixture(scope="session")
def local_gcp_environments() -> dict[str, Path]:
    """Airflow with Google's provider, TensorFlow and Beam, local_gcp itself."""
    return {name: VENVS / name / "bin/python" for name in ("airflow", "trainer", "local_gcp")}
