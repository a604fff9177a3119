"""Shared by all parts' tests: a local_gcp as a real process, from any of the three environments."""

import gc
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from local_gcp.imports import without_collector

ROOT = Path(__file__).resolve().parents[1]

pytest_plugins = ["local_gcp.testing"]

# After 50,000 new objects instead of 700: the collector took 4 % of the time of the trainer's tests
# and 8 % of that of Airflow's, and finds little, as a test's objects go when it ends.
gc.set_threshold(50_000)

# What runs as the job image in a local_gcp.
os.environ["LOCAL_GCP_IMAGES"] = str(ROOT / "demo/images.yaml")


def pytest_configure(config: pytest.Config) -> None:
    """Sets hypothesis: no deadline, as on a busy machine how long an example took says nothing
    about the code; half of its 100 examples a test where the slow tests are left out.
    """
    with suppress(ModuleNotFoundError):  # the environment of tests/infra has no hypothesis
        import hypothesis

        examples = 50 if "not slow" in config.option.markexpr else 100
        hypothesis.settings.register_profile("trellis", deadline=None, max_examples=examples)
        hypothesis.settings.load_profile("trellis")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported and collected stays to the end: the garbage collector does not look through
    it again and again, which is half of the CPU time of importing Airflow and collecting its tests.
    """
    with without_collector():
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with tests that start jobs in a local_gcp come first: they take longest (run.sh)."""
    started = {item.path for item in items if "local_gcp" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: item.path not in started)


@pytest.fixture(scope="session")
def local_gcp_environments() -> dict[str, Path]:
    """The three Python environments, by name."""
    names = ("airflow", "trainer", "local_gcp")
    return {name: ROOT / f".venv/{name}/bin/python" for name in names}
