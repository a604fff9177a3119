"""The command for people who write experiments."""

import subprocess

import pytest

from research.__main__ import main
from research.experiment import Experiment
from research.sections import fields, section_of
from tests.airflow_side import ROOT


def test_a_good_file(capsys):
    assert main(["check", str(ROOT / "dags/experiments/digits.yaml")]) == 0
    out = capsys.readouterr().out
    assert "digits.yaml: good; one run costs at most 1.92 USD" in out
    assert "serving costs at most 2.62 USD a day" in out


def test_wrong_files_are_told_with_all_their_problems(tmp_path, capsys):
    (tmp_path / "a.yaml").write_text("owner: 1\n")
    assert main(["check", str(tmp_path / "a.yaml"), str(tmp_path / "missing.yaml")]) == 1
    errors = capsys.readouterr().err
    assert "line 1, owner: got 1; expected text" in errors
    assert "missing.yaml: 1 problem" in errors


def test_a_private_endpoint_without_a_network(tmp_path, capsys):
    text = (ROOT / "dags/experiments/digits.yaml").read_text()
    (tmp_path / "a.yaml").write_text(text.replace("deploy:", "deploy:\n  private: true"))
    assert main(["check", str(tmp_path / "a.yaml")]) == 1
    assert "a.yaml: deploy.private keeps the endpoint inside" in capsys.readouterr().err


def keys(section, prefix=""):
    for name, info in fields(section):
        yield prefix + name
        inner = section_of(info.annotation)
        if inner and not str(info.annotation).startswith("dict"):
            yield from keys(inner, f"{prefix}{name}.")


def test_the_reference_names_every_key_and_hyperparameter(capsys):
    assert main(["reference"]) == 0
    out = capsys.readouterr().out
    words = {line.split()[0].rstrip("*") for line in out.splitlines() if line.strip()}
    assert set(keys(Experiment)) <= words
    assert {"tune.search.HYPERPARAMETER.from", "learning_rate", "convolutional"} <= words
    assert all(len(line) <= 100 for line in out.splitlines())
    assert "only for images; true or false; default false" in out


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_teaches(arguments):
    done = subprocess.run(
        [ROOT / ".venv/airflow/bin/python", "-m", "research", *arguments],
        cwd=ROOT / "dags",
        capture_output=True,
        text=True,
    )
    assert done.returncode == (0 if arguments else 2)
    assert "python -m research" in done.stdout + done.stderr


def test_nothing_heavy_is_imported_at_the_top():
    """A parsing pays for every import: neither Google's libraries nor Airflow's core here."""
    program = (
        "import sys, research.experiment, research.cost, research.platform, research.reference; "
        "print([m for m in sys.modules if m.startswith(('google.cloud.', 'airflow', 'numpy'))])"
    )
    done = subprocess.run(
        [ROOT / ".venv/airflow/bin/python", "-c", program],
        cwd=ROOT / "dags",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
