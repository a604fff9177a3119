"""The order of the stages, and what follows from it."""

import runpy

import pytest

from tests.airflow_side import ROOT
from trellis.workflow.assembly import chain
from trellis.workflow.stages import costs
from trellis.workflow.validation.file import with_changes


def test_what_an_experiment_has_not_is_passed_over(digits, breast_cancer):
    assert ("baselines", "compare") in chain.edges(breast_cancer)
    for experiment in (digits, breast_cancer):
        assert ("train", "compare") in chain.edges(experiment)
    assert not [edge for edge in chain.edges(digits) if "baselines" in edge]
    untuned = {("tune",): None, ("train", "minimize"): "brier", ("train", "top"): 1}
    assert ("changes", "train") in chain.edges(with_changes(digits, untuned))
    without = chain.edges(with_changes(digits, {("deploy",): None}))
    assert [a for a, b in without if b == "result"] == ["compare"]


@pytest.mark.parametrize("seeds", [1, 3])
def test_every_stage_but_the_first_follows_one(digits, breast_cancer, seeds):
    for experiment in (digits, breast_cancer):
        changed = with_changes(experiment, {("train", "seeds"): seeds})
        names = [stage.name for stage in costs.of(chain.STAGES, changed)]
        assert len(set(names)) == len(names)
        followers = {after for _, after in chain.edges(changed)}
        assert followers == set(names) - {"plan"}


def test_a_stages_name_is_none_of_anothers_tasks():
    """Advice is found by the task."""
    keys = [key for stage in chain.STAGES for key in stage.advice]
    assert len(set(keys)) == len(keys)


def test_the_figure_is_of_now():
    """It is made by: .venv/airflow/bin/python docs/flow.py"""
    figure = runpy.run_path(str(ROOT / "docs/flow.py"))["svg"]()
    assert figure == (ROOT / "docs/flow.svg").read_text()
