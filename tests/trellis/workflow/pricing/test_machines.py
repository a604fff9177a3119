"""The table of machines: what it costs, and where each figure is from."""

import datetime

import pytest

from trellis.workflow.pricing import machines
from trellis.workflow.spec.machines import Machine


def test_an_accelerator_that_is_part_of_the_machine_costs_nothing_extra():
    """88.49 USD on Compute Engine, with its 8 H100; Vertex AI adds 15 percent."""
    machine = Machine(type="a3-highgpu-8g", gpu="NVIDIA_H100_80GB", gpus=8)
    assert machines.table().usd(machine, "training") == pytest.approx(88.49 * 1.15)


def test_an_accelerator_that_is_attached_costs_extra():
    machine = Machine(type="n1-standard-8", gpu="NVIDIA_TESLA_V100", gpus=2)
    assert machines.table().usd(machine, "training") == pytest.approx(0.4369977 + 2 * 2.852)


def test_googles_prices_of_training_are_compute_engines_plus_15_percent():
    """What was read on Google's page bears the factor out by which the others are derived."""
    table = machines.table()
    entries = {**table.types, **table.attachable}
    read = {name: entry for name, entry in entries.items() if entry.training_usd is not None}
    assert len(read) == 12
    for entry in read.values():
        assert entry.training_usd == pytest.approx(entry.usd * table.factors["training"], rel=1e-6)


def test_the_table_says_where_its_prices_are_from():
    table = machines.table()
    assert table.region == "us-central1"
    assert datetime.date.fromisoformat(table.date)
    assert "unverified" in table.sources["serving"]
    assert "2026-10-07" in table.sources["training"]


@pytest.mark.parametrize("use", ["training", "serving"])
def test_every_machine_type_has_a_price(use):
    table = machines.table()
    assert all(table.usd(Machine(type=name), use) > 0 for name in table.of(use))
