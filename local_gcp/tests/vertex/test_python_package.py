"""Python packages of a pythonPackageSpec, installed offline by the replica itself."""

import io
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

import local_gcp.vertex.python_package as installer

PYTHON = Path(__file__).parents[3] / ".venv/trainer/bin/python"
"""The environment that stands for Google's training images."""
SETUP = "from setuptools import setup; setup(name='trainer', version='0.1', packages=['trainer'])"
TASK = "import sys; print('trained', sys.argv[1:])"
FILES = {"trainer/__init__.py": "", "trainer/task.py": TASK}


@pytest.fixture
def bucket(tmp_path):
    folder = tmp_path / "buckets" / "b"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def run(tmp_path, bucket):
    """run("gs://b/x.tar.gz", "trainer.task", "--epochs", "3") -> completed process"""
    (tmp_path / "attempt").mkdir()

    def run(uri, module, *arguments, packages=()):
        return subprocess.run(
            [PYTHON, installer.__file__, "--package", uri, *packages, "--", module, *arguments],
            env={
                "GCS_ROOT": str(bucket.parent),
                "LOCAL_GCP_ATTEMPT": str(tmp_path / "attempt"),
                "PATH": "/usr/bin:/bin",
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    return run


def sdist(path: Path, files: dict[str, str]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"trainer-0.1/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))


def wheel(path: Path, files: dict[str, str], requires: str = "") -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        metadata = f"Metadata-Version: 2.1\nName: trainer\nVersion: 0.1\n{requires}"
        archive.writestr("trainer-0.1.dist-info/METADATA", metadata)


def test_a_wheel_runs_as_module_with_its_arguments(bucket, run):
    wheel(bucket / "trainer-0.1-py3-none-any.whl", FILES)
    done = run("gs://b/trainer-0.1-py3-none-any.whl", "trainer.task", "--epochs", "3")
    assert (done.stdout, done.returncode) == ("trained ['--epochs', '3']\n", 0)


@pytest.mark.parametrize(
    ("requirement", "problem"),
    [
        ("no-such-thing>=1", "requires no-such-thing>=1, which is not installed"),
        ("numpy<1", r"requires numpy<1, and numpy \d\S* is installed"),
        ("odd @ https://example.com/odd.whl", "requires odd @ https://example.com/odd.whl, which"),
    ],
)
def test_what_the_environment_lacks_ends_the_program_with_its_name(
    bucket, run, requirement, problem
):
    requires = f"Requires-Dist: numpy\nRequires-Dist: {requirement}\n"
    wheel(bucket / "t-0.1-py3-none-any.whl", FILES, requires)
    done = run("gs://b/t-0.1-py3-none-any.whl", "trainer.task")
    assert (done.stdout, done.returncode) == ("", 1)
    (reason,) = done.stderr.splitlines()
    assert re.search(problem, reason)
    assert f"{PYTHON} -m pip install" in reason


@pytest.mark.parametrize(
    "requirement",
    ["numpy>=1", "NumPy", "no-such-thing; python_version < '3'", "no-such-thing; extra == 'gpu'"],
)
def test_what_the_environment_has_or_nobody_asks_for_is_no_problem(bucket, run, requirement):
    wheel(bucket / "t-0.1-py3-none-any.whl", FILES, f"Requires-Dist: {requirement}\n")
    assert run("gs://b/t-0.1-py3-none-any.whl", "trainer.task").stdout == "trained []\n"


def test_packages_may_require_each_other(bucket, run):
    """Vertex AI installs all of `package_uris` together."""
    wheel(bucket / "t-0.1-py3-none-any.whl", FILES, "Requires-Dist: other>=2\n")
    with zipfile.ZipFile(bucket / "other-2.1-py3-none-any.whl", "w") as archive:
        archive.writestr("other.py", "")
        metadata = "Metadata-Version: 2.1\nName: other\nVersion: 2.1\n"
        archive.writestr("other-2.1.dist-info/METADATA", metadata)
    uris = ["gs://b/t-0.1-py3-none-any.whl", "--package", "gs://b/other-2.1-py3-none-any.whl"]
    done = run(uris[0], "trainer.task", packages=uris[1:])
    assert done.stdout == "trained []\n"


def test_a_missing_package_is_named(run):
    done = run("gs://b/none.tar.gz", "trainer.task")
    assert done.returncode == 1
    assert "gs://b/none.tar.gz does not exist" in done.stderr


def test_what_is_no_package_is_refused(bucket, run):
    (bucket / "x.tar.gz").write_text("no archive")
    assert "x.tar.gz is neither a wheel nor a source" in run("gs://b/x.tar.gz", "m").stderr
    sdist(bucket / "y.tar.gz", {"README": ""})
    assert "it has no setup.py or pyproject.toml" in run("gs://b/y.tar.gz", "m").stderr


def test_a_source_distribution_is_built_and_runs(bucket, run):
    sdist(bucket / "trainer-0.1.tar.gz", {"setup.py": SETUP, **FILES})
    done = run("gs://b/trainer-0.1.tar.gz", "trainer.task", "-v")
    assert (done.stdout, done.returncode) == ("trained ['-v']\n", 0)


def test_a_package_that_does_not_build_shows_why(bucket, run):
    sdist(bucket / "trainer-0.1.tar.gz", {"setup.py": "raise SystemExit('no version')"})
    done = run("gs://b/trainer-0.1.tar.gz", "trainer.task")
    assert done.returncode == 1
    assert "does not build" in done.stderr
