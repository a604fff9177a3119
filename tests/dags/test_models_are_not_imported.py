"""Airflow's DAG processor leaves the Python files beside the experiments alone."""

import shutil

from airflow.utils.file import list_py_file_paths

from tests.airflow_side import ROOT


def test_a_models_file_is_no_dag_file(tmp_path):
    shutil.copytree(ROOT / "dags", tmp_path / "dags")
    # Both words, by which Airflow takes a file for one that may have DAGs.
    (tmp_path / "dags/experiments/mine.py").write_text("# no dag of airflow\nraise SystemExit\n")
    found = {path.rpartition("/")[2] for path in list_py_file_paths(tmp_path / "dags")}
    assert "trellis_dags.py" in found
    assert "mine.py" not in found
    (tmp_path / "dags/.airflowignore").unlink()
    without = list_py_file_paths(tmp_path / "dags")
    assert any(path.endswith("mine.py") for path in without)
