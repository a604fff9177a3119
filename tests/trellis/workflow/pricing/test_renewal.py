import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trellis.workflow.pricing.skus import COMPUTE, VERTEX
from tests.wording import says
from trellis.workflow.pricing.catalog import Rates, rates
from trellis.workflow.pricing.machines import TABLE, table
from trellis.workflow.pricing.renewal import renewed, text
from trellis.workflow.spec.machines import Machine

OLD = json.loads(TABLE.read_text())
TODAY = date(2026, 11, 22)


IOWA, NETHERLANDS = "us-central1", "europe-west4"


@pytest.fixture
def renew():
    """The table of today, renewed with the SKUs that are known."""
    return lambda *regions: renewed(OLD, rates([*COMPUTE, *VERTEX], regions), TODAY)


def test_what_changes_is_reported(renew):
    table, regions = renew(IOWA)
    new = regions[IOWA]
    price = table["prices"][IOWA]["a3-highgpu-1g"]
    assert price["training_usd"] == price["serving_usd"] == 12.625919
    assert new.changes[0] == "a3-highgpu-1g          training_usd          none ->    12.625919"
    assert says(new.changes[1], "a3-highgpu-1g", "serving_usd", "none ->", "12.625919")
    # N1's known prices are those of today already; the table as it comes has none of spot machines.
    lines = [line for line in new.changes if line.startswith("n1-standard-4 ")]
    assert [line.split()[1:] for line in lines] == [["spot_usd", "none", "->", "0.039327"]]
    assert "n2-standard-4" in new.kept
    assert new.prices["n2-standard-4"] == OLD["prices"][IOWA]["n2-standard-4"]
    assert (table["date"], new.absent) == ("2026-11-22", [])
    assert table["machines"] == OLD["machines"]


def test_a_dearer_machine():
    dearer = Rates({("compute", "n2", "core"): 0.04, ("compute", "n2", "ram"): 0.005})
    lines = renewed(OLD, {IOWA: dearer}, TODAY)[1][IOWA].changes
    dearer = ["n2-standard-4", "usd", "0.194236", "->", "0.240000", "+23.6%"]
    assert dearer in [line.split() for line in lines]


def test_another_region_gets_prices_of_its_own(renew):
    table, regions = renew(IOWA, NETHERLANDS)
    new = regions[NETHERLANDS]
    assert {name.split("-")[0] for name in table["prices"][NETHERLANDS]} == {"n1"}
    assert new.prices["n1-standard-4"] == {"usd": 0.209007}
    assert "NVIDIA_TESLA_T4" in new.absent
    assert not new.kept
    # What it lacks is not taken from the first, which loses nothing.
    assert table["prices"][IOWA].keys() == OLD["prices"][IOWA].keys()


def test_a_region_that_was_not_asked_for_stays_as_it_is(renew):
    assert renew(NETHERLANDS)[0]["prices"][IOWA] == OLD["prices"][IOWA]


def test_a_machine_that_comes_to_a_region_is_listed_there(renew):
    table, _ = renew(IOWA, NETHERLANDS)
    t4 = Rates({("compute", "NVIDIA_TESLA_T4", "gpu"): 0.4})
    again = renewed(table, {NETHERLANDS: t4}, TODAY)[1][NETHERLANDS]
    assert again.prices["NVIDIA_TESLA_T4"] == {"usd": 0.4}
    (change,) = again.changes
    assert change.split() == ["NVIDIA_TESLA_T4", "usd", "none", "->", "0.400000"]


def test_an_accelerator_that_is_sold_with_its_share_of_the_machine(renew):
    """Eight shares are the whole machine: its cores and memory have no price of their own."""
    share = Rates(
        {("compute", "NVIDIA_B200", "slice"): 17.0, ("spot", "NVIDIA_B200", "slice"): 5.0}
    )
    table, _ = renewed(OLD, {NETHERLANDS: share}, TODAY)
    assert table["prices"][NETHERLANDS]["a4-highgpu-8g"] == {"usd": 136.0, "spot_usd": 40.0}


def test_the_written_file_is_read_again(renew, tmp_path):
    file = tmp_path / "machines.json"
    file.write_text(text(renew(IOWA, NETHERLANDS)[0]))
    machine = Machine(type="a3-highgpu-1g", gpu="NVIDIA_H100_80GB", gpus=1)
    assert table(IOWA, file).usd(machine, "serving") == 12.625919
    n1 = Machine(type="n1-standard-4")
    assert table(NETHERLANDS, file).usd(n1, "serving") == pytest.approx(0.209007 * 1.15)


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


@given(RATES, st.sampled_from([IOWA, NETHERLANDS]))
def test_each_machine_of_a_renewed_table_has_a_price_of_each_use(tmp_path_factory, usd, region):
    file = tmp_path_factory.mktemp("table") / "machines.json"
    file.write_text(text(renewed(OLD, {region: Rates(usd)}, TODAY)[0]))
    new = table(region, file)
    for use in ("training", "serving"):
        listed = [Machine(type=name) for name in new.of(use) if name in new.prices]
        assert all(new.usd(machine, use) > 0 for machine in listed)
