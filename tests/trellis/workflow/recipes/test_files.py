"""CONTRIBUTING's recipes of a model, a hyperparameter and a metric: what a file may then name."""

import subprocess
import sys

import pytest

from tests.recipes import tree as trees
from tests.wording import says


@pytest.fixture
def trellis(tmp_path):
    """The command, in a copy of the tree with a model and a hyperparameter more."""
    tree = trees.copy(tmp_path, ["plugins", "dags", "contracts", "trainer"])
    trees.add_model(tree)
    trees.add_hyperparameter(tree)
    file = tree / "dags/experiments/digits.yaml"
    text = file.read_text()
    text = text.replace("model: convolutional", "model: maxout\nhyperparameters: {batch_size: 16}")
    search = text[text.index("  search:\n") : text.index("  machines:")]
    file.write_text(text.replace(search, "  search: {pieces: {from: 2, to: 16}}\n"))

    def trellis(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "trellis", *arguments],
            cwd=tree,
            env=trees.environment(tree),
            capture_output=True,
            text=True,
            check=False,
        )

    return trellis


def test_a_file_that_names_them_is_good(trellis):
    done = trellis("check", "dags/experiments/digits.yaml")
    assert done.returncode == 0, done.stderr


def test_a_gate_may_bound_a_new_metric(trellis, tmp_path):
    trees.add_metric(tmp_path)
    file = tmp_path / "dags/experiments/diabetes.yaml"
    gate = "deploy:\n  gate: {require: {max_error: 300}}\n"
    file.write_text(f"{file.read_text()}\n{gate}")
    done = trellis("check", "dags/experiments/diabetes.yaml")
    assert done.returncode == 0, done.stderr
    assert "largest absolute error" in " ".join(trellis("reference").stdout.split())


def test_their_bounds_are_checked_and_the_reference_has_them(trellis, tmp_path):
    file = tmp_path / "dags/experiments/digits.yaml"
    file.write_text(file.read_text().replace("to: 16}}", "to: 17}}"))
    done = trellis("check", "dags/experiments/digits.yaml")
    assert done.returncode == 1
    assert "tune.search.pieces" in done.stderr
    reference = trellis("reference").stdout
    assert "the largest of several linear layers" in reference
    assert "of which the largest output counts" in " ".join(reference.split())


def test_a_file_may_ask_for_a_new_task_and_what_does_not_go_with_it_is_refused(trellis, tmp_path):
    trees.add_task(tmp_path)
    file = tmp_path / "dags/experiments/diabetes.yaml"
    text = file.read_text().replace("task: regression", "task: count")
    file.write_text(text.replace("minimize: rmse", "minimize: poisson_deviance"))
    done = trellis("check", "dags/experiments/diabetes.yaml")
    assert says(done.stderr, "baselines.bqml", "no model of counts")
    without = text[: text.index("\ncoverage:")].replace("rmse", "poisson_deviance")
    file.write_text(without)
    done = trellis("check", "dags/experiments/diabetes.yaml")
    assert done.returncode == 0, done.stderr
