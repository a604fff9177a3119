"""CONTRIBUTING's recipe "Add a stage", done in a copy of the tree."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recipes import tree as trees
from tests.trellis.workflow.prices import DISK, hourly
from tests.wording import says
from trellis.workflow.assembly import chain
from trellis.workflow.stages import costs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    tree = trees.copy(tmp_path_factory.mktemp("tree"), ["plugins", "dags", "contracts"])
    trees.add_stage(tree)
    return tree


@pytest.fixture(scope="module")
def found(tree, airflow_database):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("look_at_stage.py"), tree / "dags"],
        cwd=tree,
        # The first parsing imports Airflow's providers, which takes longer on a busy machine.
        env=trees.environment(tree) | {"AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_it_is_in_the_graph(found):
    assert (found["before"], found["after"]) == (["compare"], ["result"])
    assert found["job"] == "job"


def test_it_is_on_the_page_and_in_a_dry_run(found):
    (row,) = found["page"]
    assert says(row, "| audit | ", "`audit.json`", "(Vertex AI) |")
    (line,) = found["dry_run"]
    assert says(line, "  audit ", f"at most {found['usd']:.2f} USD")


def test_it_is_in_the_cost_and_in_the_number_of_jobs(found, digits, group):
    ten_minutes = (hourly("n1-standard-8") + DISK) / 6
    assert found["usd"] == pytest.approx(ten_minutes)
    assert found["total"] == pytest.approx(chain.at_most(digits, group).usd + ten_minutes)
    assert found["jobs"]["custom"] == 2 + 1 + 1  # trainings, the comparison, the audit


def test_doctor_looks_for_its_quota(found):
    metric = "custom_model_training_cpus"
    assert found["quotas"][metric] == {"metric": metric, "amount": 8, "who": "digits.yaml, audit"}


def test_its_failure_says_what_to_do(found):
    assert found["advice"].startswith("The leaderboard is safe.")


def test_its_file_is_checked(found):
    assert says(found["refused"], "audit.json", "audit.schema.json")


def test_check_adds_its_cost(found):
    good, out = found["check"]
    assert good
    assert re.search(r", compare \d+\.\d\d, audit \d+\.\d\d\)", out)


def test_the_tree_itself_has_no_such_stage(digits):
    assert "audit" not in {stage.name for stage in costs.of(chain.STAGES, digits)}
