"""Importing trellis beside an Airflow that is too old ends in one error that says what to do."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.wording import says
from trellis.compatibility import NEEDS

ROOT = Path(__file__).resolve().parents[2]
GOOGLE = "apache-airflow-providers-google"


@pytest.fixture
def import_beside(tmp_path):
    """Imports trellis where a distribution's metadata has another version: the last line said."""

    def import_beside(distribution: str, version: str) -> str:
        metadata = tmp_path / f"{distribution.replace('-', '_')}-{version}.dist-info/METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.3\nName: {distribution}\nVersion: {version}\n")
        path = os.pathsep.join([str(tmp_path), str(ROOT / "plugins")])
        done = subprocess.run(
            [sys.executable, "-c", "import trellis; print('imported')"],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
        return (done.stdout or done.stderr).splitlines()[-1]

    return import_beside


@pytest.mark.parametrize(
    ("package", "version", "least", "remedy"),
    [
        (GOOGLE, "22.2.2", "22.8.0", ("cancel_on_kill", f"add {GOOGLE}==22.8.0")),
        (GOOGLE, "22.7.0", "22.8.0", ("cancel_on_kill", f"add {GOOGLE}==22.8.0")),
        ("apache-airflow-core", "3.1.7+composer", "3.3.1", "composer-3-airflow-3.3.1"),
        ("apache-airflow-core", "3.3.0", "3.3.1", "composer-3-airflow-3.3.1"),
    ],
)
def test_an_older_package_is_named_with_its_remedy(import_beside, package, version, least, remedy):
    needs = f"Trellis needs {package} {least} or later; {package} {version} is installed."
    assert says(import_beside(package, version), f"ImportError: {needs}", remedy)


def test_composers_own_build_of_airflow_is_good(import_beside):
    assert import_beside("apache-airflow-core", "3.3.1+composer") == "imported"


def test_the_wheel_requires_the_same_versions():
    project = tomllib.loads((ROOT / "plugins/pyproject.toml").read_text())["project"]
    required = {r.name: str(r.specifier) for r in map(Requirement, project["dependencies"])}
    airflow, google = NEEDS
    assert f">={airflow.oldest}" in required["apache-airflow"].split(",")
    assert f">={google.oldest}" in required[google.distribution].split(",")
