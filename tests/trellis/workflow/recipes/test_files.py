"""CONTRIBUTING's recipes of a model, a hyperparameter, a metric and a task: what a file may then
name.
"""

import json
import subprocess
import sys
from typing import NamedTuple

import pytest

from tests.recipes import tree as trees
from tests.wording import says

COMMANDS = """
import contextlib, io, json, sys
from trellis.__main__ import main
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            code = main(arguments)
    print(json.dumps([code, out.getvalue(), errors.getvalue()]))
"""


class Done(NamedTuple):
    """What a command has answered."""

    code: int
    out: str
    errors: str


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """{experiment or command: what `trellis` says}, of a copy of the tree in which all four recipes
    are done, by one program.
    """
    tree = trees.copy(tmp_path_factory.mktemp("tree"), ["plugins", "dags", "contracts", "trainer"])
    trees.add_model(tree)
    trees.add_hyperparameter(tree)
    trees.add_metric(tree)
    trees.add_task(tree)
    commands = {"reference": ["reference"]}
    for name, text in experiments(tree / "dags/experiments").items():
        file = tree / f"dags/experiments/{name}.yaml"
        file.write_text(text)
        commands[name] = ["check", str(file)]
    ended = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(list(commands.values()))],
        cwd=tree,
        env=trees.environment(tree),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    answers = (Done(*json.loads(line)) for line in ended.stdout.splitlines())
    return dict(zip(commands, answers, strict=True))


def experiments(shipped):
    """{name: text} of experiment files that name what the recipes have added."""
    digits = (shipped / "digits.yaml").read_text()
    digits = digits.replace(
        "model: convolutional", "model: maxout\nhyperparameters: {batch_size: 16}"
    )
    search = digits[digits.index("  search:\n") : digits.index("  machines:")]
    diabetes = (shipped / "diabetes.yaml").read_text()
    counts = diabetes.replace("task: regression", "task: count")
    counts = counts.replace("minimize: rmse", "minimize: poisson_deviance")
    return {
        "model": digits.replace(search, "  search: {pieces: {from: 2, to: 16}}\n"),
        "bound": digits.replace(search, "  search: {pieces: {from: 2, to: 17}}\n"),
        "gate": f"{diabetes}\ndeploy:\n  gate: {{require: {{max_error: 300}}}}\n",
        "baselines": counts,
        "task": counts[: counts.index("\ncoverage:")],
    }


def test_a_file_that_names_a_model_and_a_hyperparameter_is_good(done):
    assert done["model"].code == 0, done["model"].errors


def test_their_bounds_are_checked_and_the_reference_has_them(done):
    assert done["bound"].code == 1
    assert "tune.search.pieces" in done["bound"].errors
    reference = done["reference"].out
    assert "the largest of several linear layers" in reference
    assert "of which the largest output counts" in " ".join(reference.split())


def test_a_gate_may_bound_a_new_metric(done):
    assert done["gate"].code == 0, done["gate"].errors
    assert "largest absolute error" in " ".join(done["reference"].out.split())


def test_a_file_may_ask_for_a_new_task_and_what_does_not_go_with_it_is_refused(done):
    assert done["task"].code == 0, done["task"].errors
    assert done["baselines"].code == 1
    assert says(done["baselines"].errors, "baselines.bqml", "no model of counts")
