"""What the plan says of decoded examples, before their export and after it."""

import dataclasses

import pytest

from tests.airflow_side import ROOT
from tests.trellis.workflow.plans import a_description, a_plan, a_table
from trellis.workflow.assembly.chain import STAGES
from trellis.workflow.contracts.layout import Run
from trellis.workflow.stages import dry_run, shares
from trellis.workflow.validation.file import load, with_changes

IMAGE_BYTES = 8 * 8 * 1 + 8 + 4
"""An image of the digits, its class and its weight."""


@pytest.fixture
def estimate(digits):
    """A function: the share of the stage `train` of the digits' experiment, and its words."""

    def estimate(examples, known=None, **changes):
        experiment = with_changes(digits, {("train", "machines"): changes})
        found = shares.of(experiment, a_table(experiment), examples, known)["train"]
        return found, shares.text(experiment, found, "train")

    return estimate


def test_workers_divide_the_training_split(estimate):
    found, text = estimate(1000, workers=4)
    assert (found.bytes, found.kept) == (200 * IMAGE_BYTES, "in memory")
    assert text == "a worker's examples take about 15.2 kB decoded, kept in memory of n1-standard-4"


@pytest.mark.parametrize(
    ("machine", "gb", "kept"),
    [
        ("n1-standard-4", 6.9, "in memory"),  # half of 15 GB, of which 2 are taken
        ("n1-standard-4", 7.1, "on disk"),
        ("n1-standard-8", 7.1, "in memory"),
        ("n1-standard-4", 77, "on disk"),  # 80 % of 100 GB, of which 10 are taken
        ("n1-standard-4", 78, None),
    ],
)
def test_the_machine_decides_where_examples_are_kept(estimate, machine, gb, kept):
    found, text = estimate(round(gb * 1e9 / IMAGE_BYTES / 0.8), type=machine, workers=1)
    assert found.kept == kept
    again = "decoded again in every epoch: n1-standard-4 has about 14.0 GB of memory"
    assert (again in text) == (kept is None)


def test_beside_parameter_servers_nothing_is_kept(estimate):
    found, text = estimate(1000, workers=2, parameter_servers={})
    assert (found.bytes, found.kept) == (800 * IMAGE_BYTES, None)
    assert text.endswith("beside parameter servers nothing is kept")


def test_a_dataset_that_exists_is_counted(estimate):
    found, _ = estimate(1000, a_description(500), workers=1)
    assert found.bytes == 500 * IMAGE_BYTES


def test_sequences_have_no_size_before_the_export(breast_cancer):
    table = a_table(breast_cancer)
    pulse = dataclasses.replace(table.features[0], kind="sequence")
    table = dataclasses.replace(table, features=[*table.features, pulse])
    found = shares.of(breast_cancer, table, 1000, None)["train"]
    assert (found.bytes, found.kept) == (None, None)


def test_rows_that_nobody_has_counted_have_no_size(estimate):
    found, text = estimate(None)
    assert (found.bytes, found.kept) == (None, None)
    assert "known once they are exported" in text


def test_programs_of_other_libraries_have_no_estimate():
    experiment = load(ROOT / "dags/experiments/neighbours.yaml")
    assert shares.of(experiment, a_table(experiment), 1000, None) == {}


def test_a_run_that_only_plans_lists_the_stages_that_train(digits, group):
    plan = a_plan(digits, Run("bucket", "digits", "r"))
    plan = dataclasses.replace(
        plan,
        cost={"stages": {}, "at_most_usd": 1.0, "assumptions": "prices of a day"},
        shares=shares.of(digits, plan.table, 1000, None),
    )
    lines = dry_run.lines(STAGES, plan, group)
    said = [n for n, line in enumerate(lines) if "decoded, kept in memory" in line]
    assert [lines[n - 1].split()[0] for n in said] == ["tune", "train"]
