"""The table of machines: what it costs, and where each figure is from."""

import datetime
import json

import pytest

from trellis.workflow.pricing import machines
from trellis.workflow.spec.machines import Machine
from trellis.workflow.validation.machines import machine_problems


def test_an_accelerator_that_is_part_of_the_machine_costs_nothing_extra():
    """88.49 USD on Compute Engine, with its 8 H100; Vertex AI adds 15 percent."""
    machine = Machine(type="a3-highgpu-8g", gpu="NVIDIA_H100_80GB", gpus=8)
    assert machines.table().usd(machine, "training") == pytest.approx(88.49 * 1.15)


@pytest.mark.parametrize(
    ("type_", "gpu", "usd"),
    [
        ("a3-megagpu-8g", "NVIDIA_H100_MEGA_80GB", 93.400712807),
        ("a3-ultragpu-8g", "NVIDIA_H200_141GB", 84.806908493),
        ("a4-highgpu-8g", "NVIDIA_B200", 128.88),
    ],
)
def test_the_machines_of_h200_and_b200_are_priced(type_, gpu, usd):
    machine = Machine(type=type_, gpu=gpu, gpus=8)
    assert list(machine_problems(machine, ("train", "machines"), "training")) == []
    assert machines.table().usd(machine, "training") == pytest.approx(usd * 1.15)


def test_an_accelerator_that_is_attached_costs_extra():
    machine = Machine(type="n1-standard-8", gpu="NVIDIA_TESLA_V100", gpus=2)
    assert machines.table().usd(machine, "training") == pytest.approx(0.4369977 + 2 * 2.852)


def test_googles_prices_of_training_are_compute_engines_plus_15_percent():
    """Google's page bears the factor out by which the others are derived."""
    table = machines.table()
    read = [price for price in table.prices.values() if price.training_usd is not None]
    assert len(read) == 12
    for price in read:
        assert price.training_usd == pytest.approx(price.usd * table.factors["training"], rel=1e-6)


def test_the_table_says_where_its_prices_are_from():
    table = machines.table()
    assert table.region == "us-central1"
    assert datetime.date.fromisoformat(table.date)
    assert "unverified" in table.sources["serving"]
    assert "2026-10-07" in table.sources["training"]


def test_prices_are_those_of_the_region(tmp_path):
    raw = json.loads(machines.TABLE.read_text())
    raw["prices"]["europe-west4"] = {"n1-standard-4": {"usd": 0.2}, "NVIDIA_TESLA_T4": {"usd": 0.4}}
    file = tmp_path / "machines.json"
    file.write_text(json.dumps(raw))
    here, there = machines.table("europe-west4", file), machines.table("europe-west9", file)
    with_gpu = Machine(type="n1-standard-4", gpu="NVIDIA_TESLA_T4", gpus=2)
    assert here.usd(with_gpu, "training") == pytest.approx((0.2 + 2 * 0.4) * 1.15)
    # No machine of europe-west9 is known: the first region's prices stand for it.
    assert there.region == "us-central1"
    assert there.regions == ("us-central1", "europe-west4")
    assert there.usd(with_gpu, "training") == machines.table().usd(with_gpu, "training")

    lacking = Machine(type="n2-standard-4")
    assert (here.unpriced(with_gpu), here.unpriced(lacking)) == ([], ["n2-standard-4"])
    with pytest.raises(KeyError):
        here.usd(lacking, "training")


def test_a_spot_machine_costs_compute_engines_spot_price_and_the_same_fee(tmp_path):
    raw = json.loads(machines.TABLE.read_text())
    raw["prices"]["us-central1"] |= {
        "n1-standard-4": {"usd": 0.19, "spot_usd": 0.04, "training_usd": 0.2185},
        "NVIDIA_TESLA_T4": {"usd": 0.35, "spot_usd": 0.12},
    }
    file = tmp_path / "machines.json"
    file.write_text(json.dumps(raw))
    table = machines.table("us-central1", file)
    alone = Machine(type="n1-standard-4")
    assert table.spot_usd(alone) == pytest.approx(0.04 + 0.0285)
    both = Machine(type="n1-standard-4", gpu="NVIDIA_TESLA_T4", gpus=2)
    assert table.spot_usd(both) == pytest.approx(0.0685 + 2 * (0.12 + 0.15 * 0.35))
    # The table as it comes has none.
    assert machines.table().spot_usd(alone) is None


@pytest.mark.parametrize("use", ["training", "serving"])
def test_every_machine_type_has_a_price(use):
    table = machines.table()
    assert all(table.usd(Machine(type=name), use) > 0 for name in table.of(use))
