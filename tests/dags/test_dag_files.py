"""The DAG files as the DAG processor reads them, with good and wrong experiments."""

import ast
import shutil

import pytest

from tests.airflow_side import ROOT

pytestmark = pytest.mark.usefixtures("airflow_database")


@pytest.fixture
def folder(tmp_path):
    """A copy of dags/, to put experiments into."""
    shutil.copytree(ROOT / "dags", tmp_path / "dags", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "dags"


@pytest.fixture
def parse(folder):
    """Reads a DAG file of the folder: the DAGs, and the import errors."""
    from airflow.dag_processing.dagbag import BundleDagBag

    def parse(name):
        bag = BundleDagBag(dag_folder=folder / name, bundle_path=folder, bundle_name="dags-folder")
        return bag.dags, bag.import_errors

    return parse


def test_every_experiment_is_a_dag(parse, folder):
    text = (folder / "experiments/digits.yaml").read_text()
    (folder / "experiments/again.yaml").write_text(text)
    dags, errors = parse("research_training.py")
    assert set(dags) == {"again", "breast-cancer", "digits"}
    assert errors == {}


def test_a_wrong_experiment_harms_no_other(parse, folder):
    (folder / "experiments/wrong.yaml").write_text("owner: 1\n")
    dags, errors = parse("research_training.py")
    assert set(dags) == {"breast-cancer", "digits"}
    assert errors == {}


def test_wrong_experiments_are_import_errors_with_file_line_and_field(parse, folder):
    text = (folder / "experiments/digits.yaml").read_text()
    (folder / "experiments/wrong.yaml").write_text(text.replace("trials: 6", "trails: 6"))
    (folder / "experiments/broken.yaml").write_bytes(b"\xff")
    dags, errors = parse("check_experiments.py")
    assert dags == {}
    (report,) = errors.values()
    assert "experiments/wrong.yaml: 2 problems" in report
    assert "line 21, tune.trails: unknown key; did you mean 'trials'?" in report
    assert "experiments/broken.yaml: 1 problem" in report


def test_good_experiments_are_no_import_error(parse):
    assert parse("check_experiments.py") == ({}, {})


def test_a_file_with_another_ending_is_not_left_out_silently(parse, folder):
    (folder / "experiments/digits.yaml").rename(folder / "experiments/digits.yml")
    (report,) = parse("check_experiments.py")[1].values()
    assert "experiments end with .yaml" in report


def test_a_wrong_platform_is_everyones_error(parse, folder, monkeypatch):
    from research import platform

    (folder / "platform.yaml").write_text("project: local-gcp\n")
    monkeypatch.setattr(platform, "load", lambda: platform.read(folder / "platform.yaml"))
    dags, errors = parse("research_training.py")
    assert dags == {}
    assert "platform.yaml" in next(iter(errors.values()))


def test_a_tasks_process_makes_only_its_own_dag(parse, folder, monkeypatch):
    for number in range(3):
        text = (folder / "experiments/digits.yaml").read_text()
        (folder / f"experiments/other-{number}.yaml").write_text(text)
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", "other-1")
    assert set(parse("research_training.py")[0]) == {"other-1"}


def test_what_waits_to_be_undeployed_outlives_a_change_of_the_file(parse, folder):
    for file in (folder / "experiments").iterdir():
        assert "keep_previous" not in file.read_text()
    assert set(parse("research_retirement.py")[0]) == {"undeploy_previous"}


def test_the_workflows_modules_are_no_dag_files(folder):
    from airflow.dag_processing.importers import get_importer_registry

    files = get_importer_registry().list_dag_files(folder)
    assert sorted(files) == [
        str(folder / f"{name}.py")
        for name in (
            "check_experiments",
            "research_prediction",
            "research_retirement",
            "research_rollback",
            "research_training",
        )
    ]


def test_the_providers_modules_are_named_in_the_dag_file():
    """So that the DAG processor imports them once, not at every parsing: each that we import."""
    named = set(airflow_imports(ROOT / "dags/research_training.py"))
    used = {
        name
        for file in [*(ROOT / "plugins").glob("*/*.py"), *(ROOT / "dags/research").rglob("*.py")]
        for name in airflow_imports(file)
        if name.startswith("airflow.providers.") and ".links." not in name
    }
    assert used - named <= {"airflow.providers.google.cloud.operators.cloud_base"}


def airflow_imports(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("airflow"):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("airflow"))
