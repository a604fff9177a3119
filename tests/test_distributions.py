"""Contents of distributions: each wheel is its package with its data files, no more."""

import configparser
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

from trellis_contracts import VERSION

ROOT = Path(__file__).resolve().parents[1]
# The folder with pyproject.toml, and the package that the distribution consists of.
DISTRIBUTIONS = {
    "contracts": ROOT / "contracts/trellis_contracts",
    "plugins": ROOT / "plugins/trellis",
    "local_gcp": ROOT / "local_gcp/src/local_gcp",
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, zipfile.Path]:
    """The wheels, by folder. Built without network: the build backend is a part of uv."""
    uv, made = ROOT / ".venv/tools/bin/uv", {}
    for folder in DISTRIBUTIONS:
        out = tmp_path_factory.mktemp(folder)
        command = [uv, "build", "--quiet", "--offline", "--wheel", "--out-dir", out, folder]
        subprocess.run(command, cwd=ROOT, check=True)
        (file,) = out.glob("*.whl")
        made[folder] = zipfile.Path(file)
    return made


@pytest.mark.parametrize("folder", DISTRIBUTIONS)
def test_a_wheel_holds_every_file_of_its_package_and_no_other(wheels, folder):
    package = DISTRIBUTIONS[folder]
    files = {name for name in wheels[folder].root.namelist() if not name.endswith("/")}
    assert {name for name in files if ".dist-info/" not in name} == {
        str(file.relative_to(package.parent))
        for file in package.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


@pytest.mark.parametrize("folder", DISTRIBUTIONS)
def test_a_wheel_carries_the_license(wheels, folder):
    (license,) = (n for n in wheels[folder].root.namelist() if n.endswith("licenses/LICENSE"))
    assert wheels[folder].root.read(license) == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize(
    "file",
    [
        "sql/snapshot.sql",
        "pricing/prices.json",
        "pricing/machines.json",
    ],
)
def test_airflows_wheel_has_the_data_that_its_modules_read(wheels, file):
    built = wheels["plugins"] / "trellis/workflow" / file
    assert built.read_text() == (DISTRIBUTIONS["plugins"] / "workflow" / file).read_text()


def test_airflow_finds_the_plugin_by_the_wheels_entry_point(wheels):
    (metadata,) = (f for f in wheels["plugins"].iterdir() if f.name.endswith(".dist-info"))
    entry_points = configparser.ConfigParser()
    entry_points.read_string((metadata / "entry_points.txt").read_text())
    assert entry_points["airflow.plugins"]["trellis"] == "trellis.plugin:TrellisPlugin"


def test_no_other_folder_says_that_it_can_be_installed():
    files = [ROOT / "pyproject.toml", *ROOT.glob("*/pyproject.toml")]
    installable = {f.parent.name for f in files if "project" in tomllib.loads(f.read_text())}
    assert installable == set(DISTRIBUTIONS)


def test_the_contracts_know_their_own_version():
    """Documents name it."""
    project = tomllib.loads((ROOT / "contracts/pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
