"""Installation in a group's Composer environment: what this version of Trellis is and needs."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from trellis.compatibility import NEEDS

ROOT = Path(__file__).resolve().parents[2]


def pins(file: Path) -> dict[str, str]:
    """The pins of a requirements file, by distribution."""
    lines = [line for line in file.read_text().splitlines() if line and line[0] != "#"]
    return {r.name: str(r.specifier) for r in map(Requirement, lines)}


@pytest.fixture
def listed():
    return pins(ROOT / "dags/requirements-composer.txt")


def test_the_list_has_this_version_of_trellis(listed):
    for folder in ("contracts", "plugins"):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        assert listed[project["name"]] == f"=={project['version']}"


def test_the_list_has_the_oldest_google_provider_that_trellis_takes(listed):
    airflow, google = NEEDS
    assert listed[google.distribution] == f"=={google.oldest}"
    # Composer does not let its own Airflow be replaced.
    assert airflow.distribution not in listed


def test_the_tests_run_with_what_the_list_and_the_image_bring(listed):
    airflow, google = NEEDS
    tested = pins(ROOT / "tests/composer.txt")
    assert tested[google.distribution] == listed[google.distribution]
    assert tested[airflow.distribution] == f"=={airflow.oldest}"
