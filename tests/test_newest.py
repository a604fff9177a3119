""".ci/newest, with programs in place of uv and of the environments' Pythons."""

import shutil
import subprocess
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]

UV = """\
#!/bin/sh
echo "uv $*" >>record
if [ "$1" = venv ]; then
    for last in "$@"; do :; done
    mkdir -p "$last/bin" && cp python "$last/bin/python"
fi
[ "$2" != list ] || echo apache-airflow==9.9.9
"""
PYTHON = """\
#!/bin/sh
echo "python $*" >>record
case "$*" in *pytest*) exit $(cat code) ;; esac
"""


@pytest.fixture
def newest(tmp_path):
    """Runs the script in a checkout whose tests end with a code."""
    for name in (".ci/newest", "requirements.in", "tests/requirements.in", "trainer"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        if (ROOT / name).is_dir():
            (tmp_path / name).mkdir()
            for file in (ROOT / name).glob("*.in"):
                shutil.copy(file, tmp_path / name)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    uv = tmp_path / ".venv/tools/bin/uv"
    uv.parent.mkdir(parents=True)
    for path, text in ((uv, UV), (tmp_path / "python", PYTHON)):
        path.write_text(text)
        path.chmod(0o755)

    def run(*arguments, code=0, **variables):
        (tmp_path / "code").write_text(str(code))
        (tmp_path / "record").write_text("")
        done = subprocess.run(
            ["bash", ".ci/newest", *arguments],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        return done, (tmp_path / "record").read_text().splitlines()

    run.folder = tmp_path
    return run


def requirements(newest, part):
    text = (newest.folder / f".venv/newest-{part}/requirements.in").read_text()
    return {Requirement(line).name: Requirement(line) for line in text.split("\n") if line}


def test_each_part_runs_with_nothing_older_than_its_pins_and_nothing_held_back(newest):
    done, asked = newest()
    assert done.returncode == 0, done.stderr
    tests = [line for line in asked if "-m pytest" in line]
    assert ["tests/trellis" in line for line in tests] == [True, False]
    assert ["tests/trainer" in line for line in tests] == [False, True]
    assert sum("uv venv" in line and "--python 3.13" in line for line in asked) == 2
    airflow, trainer = requirements(newest, "airflow"), requirements(newest, "trainer")
    assert {"apache-airflow", "apache-airflow-providers-google", "pytest"} <= airflow.keys()
    assert {"tensorflow-cpu", "apache-beam", "keras", "pytest"} <= trainer.keys()
    assert trainer["apache-beam"].extras == {"gcp"}
    for requirement in (*airflow.values(), *trainer.values()):
        assert {each.operator for each in requirement.specifier} <= {">="}


def test_our_own_packages_are_installed_on_a_python_that_they_do_not_name_yet(newest):
    _, asked = newest("airflow", "-k", "operators", PYTHON="3.14")
    installed = [line for line in asked if "--ignore-requires-python" in line]
    assert [line.split()[-1] for line in installed] == ["contracts", "plugins"]
    assert "--python 3.14" in asked[0]
    assert asked[-1].endswith("-k operators")


def test_a_part_that_fails_fails_the_job_after_the_other_has_run(newest):
    done, asked = newest(code=1)
    assert done.returncode == 1
    assert sum("-m pytest" in line for line in asked) == 2


def test_a_part_that_is_not_there_is_refused(newest):
    done, asked = newest("docs")
    assert (done.returncode, asked) == (2, [])
    assert "There is no part docs: airflow, trainer" in done.stderr
