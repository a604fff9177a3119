import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trellis.workflow.pricing.skus import COMPUTE, VERTEX
from trellis.workflow.pricing.catalog import Rates, rates
from trellis.workflow.pricing.machines import TABLE, table
from trellis.workflow.pricing.renewal import renewed, text
from trellis.workflow.spec.machines import Machine

OLD = json.loads(TABLE.read_text())
TODAY = date(2026, 11, 22)


@pytest.fixture
def renew():
    """The table of today, renewed with the SKUs that are known."""
    return lambda region: renewed(OLD, rates([*COMPUTE, *VERTEX], region), region, TODAY)


def test_what_changes_is_told(renew):
    new = renew(OLD["region"])
    entry = new.table["machines"]["a3-highgpu-1g"]
    assert entry["training_usd"] == entry["serving_usd"] == 12.625919
    lines = [line for line in new.changes if line.startswith("a3-highgpu-1g ")]
    assert lines == [
        "a3-highgpu-1g          training_usd          none ->    12.625919",
        "a3-highgpu-1g          serving_usd           none ->    12.625919",
    ]
    # N1's known prices are those of today already.
    assert not [line for line in new.changes if line.startswith("n1-standard-4 ")]
    assert "n2-standard-4" in new.kept
    assert new.table["machines"]["n2-standard-4"] == OLD["machines"]["n2-standard-4"]
    assert (new.table["date"], new.removed) == ("2026-11-22", [])


def test_a_dearer_machine():
    dearer = Rates({("compute", "n2", "core"): 0.04, ("compute", "n2", "ram"): 0.005})
    lines = renewed(OLD, dearer, OLD["region"], TODAY).changes
    assert "n2-standard-4          usd               0.194236 ->     0.240000  +23.6%" in lines


def test_in_another_region_nothing_keeps_a_price_of_the_first(renew):
    new = renew("europe-west4")
    assert new.table["region"] == "europe-west4"
    assert {name.split("-")[0] for name in new.table["machines"]} == {"n1"}
    assert new.table["machines"]["n1-standard-4"] == {"vcpus": 4, "memory_gb": 15, "usd": 0.209007}
    assert not new.table["attachable"]
    assert "NVIDIA_TESLA_T4" in new.removed
    assert not new.kept


def test_the_written_file_is_read_again(renew, tmp_path):
    file = tmp_path / "machines.json"
    file.write_text(text(renew(OLD["region"]).table))
    machine = Machine(type="a3-highgpu-1g", gpu="NVIDIA_H100_80GB", gpus=1)
    assert table(file).usd(machine, "serving") == 12.625919


def test_a_file_that_does_not_change_is_written_as_it_was():
    assert text(OLD) == TABLE.read_text()


PARTS = st.sampled_from(sorted({name.split("-")[0] for name in OLD["machines"]}))
RATES = st.dictionaries(
    st.tuples(
        st.sampled_from(["compute", "training", "serving"]),
        PARTS,
        st.sampled_from(["core", "ram"]),
    ),
    st.floats(0.0001, 1),
)


@given(RATES, st.sampled_from([OLD["region"], "europe-west4"]))
def test_each_machine_of_a_renewed_table_has_a_price_of_each_use(tmp_path_factory, usd, region):
    file = tmp_path_factory.mktemp("table") / "machines.json"
    file.write_text(text(renewed(OLD, Rates(usd), region, TODAY).table))
    new = table(file)
    for use in ("training", "serving"):
        assert all(
            new.usd(Machine(type=name), use) > 0 for name in new.of(use) if not new.types[name].gpu
        )
