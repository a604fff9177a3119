"""Shared by all parts' tests: a local_gcp as a real process, from any of the three environments."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytest_plugins = ["local_gcp.testing"]

# What runs as the job image in a local_gcp.
os.environ["LOCAL_GCP_IMAGES"] = str(ROOT / "demo/images.yaml")


@pytest.fixture(scope="session")
def local_gcp_environments() -> dict[str, Path]:
    """The three Python environments, by name."""
    names = ("airflow", "trainer", "local_gcp")
    return {name: ROOT / f".venv/{name}/bin/python" for name in names}
