"""A mistake in a machine of platform.yaml is that file's, with its line."""

import dataclasses

import pytest

from tests.airflow_side import ROOT
from trellis.workflow.pricing import machines
from trellis.workflow.spec.problems import FileError
from trellis.workflow.validation import platform

TEXT = (ROOT / "dags/platform.yaml").read_text()


def refusal(folder, text):
    (folder / "platform.yaml").write_text(text)
    with pytest.raises(FileError) as raised:
        platform.load(folder)
    (problem,) = raised.value.problems
    line = text.splitlines()[problem.line - 1]
    assert line.startswith(f"{problem.field[0]}:")
    assert problem.field[1] == "machine_type"
    return problem


@pytest.mark.parametrize("section", ["dataflow", "compare"])
@pytest.mark.parametrize("name", ["n1-standard-5", "n1-standard-4n1-standard-4", "2024-02-30"])
def test_a_machine_type_that_does_not_exist(tmp_path, section, name):
    old = f"{section}: {{machine_type: n1-standard-4"
    assert old in TEXT
    problem = refusal(tmp_path, TEXT.replace(old, f"{section}: {{machine_type: {name}"))
    assert problem.field[0] == section
    assert f"'{name}'" in problem.message


def test_a_machine_without_a_price_in_the_region(tmp_path, monkeypatch):
    here = machines.table()
    prices = {name: price for name, price in here.prices.items() if name != "n1-standard-4"}
    lacking = dataclasses.replace(here, prices=prices)
    monkeypatch.setattr(platform.machines, "table", lambda region: lacking)
    problem = refusal(tmp_path, TEXT)
    assert problem.field[0] == "compare"
    assert "no n1-standard-4 in us-central1" in problem.message
