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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The folders with the longest files come first: no worker shall end alone with one of them."""
    items.sort(key=lambda item: not {"workflow", "training"} & set(item.path.parts))
