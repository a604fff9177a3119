import pytest

from tests.trellis.workflow.pricing.skus import (
    COMPUTE,
    CORE,
    RECORDED,
    SERVING,
    TRAINING,
    VERTEX,
    sku,
)
from trellis.workflow.pricing.catalog import meaning, rates


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("N1 Predefined Instance Core running in Americas", ("compute", "n1", "core")),
        ("N2D AMD Instance Ram running in Americas", ("compute", "n2d", "ram")),
        ("Compute optimized Core running in Americas", ("compute", "c2", "core")),
        ("Memory-optimized Instance Ram running in Americas", ("compute", "m1", "ram")),
        ("Nvidia Tesla A100 80GB GPU running in Iowa", ("compute", "NVIDIA_A100_80GB", "gpu")),
        ("Nvidia L4 GPU running in Americas", ("compute", "NVIDIA_L4", "gpu")),
        (
            "Nvidia H100 80GB Mega GPU running in Frankfurt",
            ("compute", "NVIDIA_H100_MEGA_80GB", "gpu"),
        ),
        (
            "Nvidia H100 80GB Plus GPU running in Americas",
            ("compute", "NVIDIA_H100_MEGA_80GB", "gpu"),
        ),
        ("H200 141GB GPU running in Americas", ("compute", "NVIDIA_H200_141GB", "gpu")),
        (
            "H200 141GB GPU attached to Spot Preemptible VMs running in Americas",
            ("spot", "NVIDIA_H200_141GB", "gpu"),
        ),
        ("RTX 6000 96GB running in Oregon", ("compute", "NVIDIA_RTX_PRO_6000", "gpu")),
        ("A4 Nvidia B200 (1 gpu slice) running in Americas", ("compute", "NVIDIA_B200", "slice")),
        (f"{TRAINING} on A3 Instance RAM in Iowa", ("training", "a3", "ram")),
        (f"{TRAINING} on NVIDIA H100 80GB in Iowa", ("training", "NVIDIA_H100_80GB", "gpu")),
        (f"{SERVING} A3 Predefined Instance Core running in Iowa", ("serving", "a3", "core")),
        (f"{SERVING} Nvidia H100 80gb GPU running in Iowa", ("serving", "NVIDIA_H100_80GB", "gpu")),
        (
            "Spot Preemptible N1 Predefined Instance Core running in Americas",
            ("spot", "n1", "core"),
        ),
        ("Spot Preemptible Compute optimized Ram running in Iowa", ("spot", "c2", "ram")),
        (
            "Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Americas",
            ("spot", "NVIDIA_TESLA_T4", "gpu"),
        ),
        # What is not billed by the hour of an ordinary machine.
        (f"{TRAINING} Management fee on N1 Instance Core in Americas", None),
        (f"{SERVING} management fee on A3 Instance Core in Iowa", None),
        ("Vertex AI: Training/Pipelines on SSD backed PD Capacity", None),
        ("Spot Preemptible Custom Instance Core running in Americas", None),
        ("N2 Custom Instance Core running in Americas", None),
        ("Nvidia L4 GPU attached to DWS Defined Duration VMs running in Americas", None),
        ("Commitment v1: N2 Cpu in Americas for 1 Year", None),
        ("Sole Tenancy Premium for N1 Sole Tenancy Instance Core running in Americas", None),
    ],
)
def test_a_description_says_what_the_price_is_of(description, expected):
    assert meaning(description) == expected


def of_iowa(*skus):
    return rates(skus, ["us-central1"])["us-central1"]


def test_prices_of_a_region():
    both = rates([*RECORDED, *COMPUTE, *VERTEX], ["us-central1", "europe-west4"])
    here, there = both["us-central1"], both["europe-west4"]
    assert here.machine("compute", "n1", 4, 15) == pytest.approx(0.189999)
    assert here.machine("training", "n1", 4, 15) == pytest.approx(0.21849885)
    assert here.machine("spot", "n1", 4, 15) == pytest.approx(0.039327)
    assert here.gpu("spot", "NVIDIA_TESLA_T4") == 0.119
    assert here.gpu("serving", "NVIDIA_H100_80GB") == 11.2660332
    assert there.machine("compute", "n1", 4, 15) == pytest.approx(0.209007)
    assert there.machine("compute", "n2", 4, 16) is None
    assert there.gpu("compute", "NVIDIA_TESLA_T4") is None


def test_the_newest_price_counts():
    changed = sku("N1 Predefined Instance Core running in Americas", 1.0)
    changed["pricingInfo"] += sku("", 2.5)["pricingInfo"]
    assert of_iowa(changed).usd == {("compute", "n1", "core"): 2.5}


def test_two_prices_of_one_thing_are_none():
    twice = [
        sku(f"N2 Instance Core running in {where}", usd) for where, usd in (("A", 1), ("B", 2))
    ]
    found = of_iowa(*twice, twice[0])
    assert not found.usd
    assert len(found.ambiguous) == 2


def test_a_spot_price_is_none_of_an_on_demand_machine():
    """The description alone does not count."""
    name = "Spot Preemptible N1 Predefined Instance Core running in Americas"
    assert not of_iowa(sku(name, 1.0), sku(CORE, 1.0, usage="Preemptible")).usd


@pytest.mark.parametrize("unit", ["GiBy.mo", "count"])
def test_a_price_by_another_unit_is_none(unit):
    other = sku("N1 Predefined Instance Core running in Americas", 1, unit)
    assert not of_iowa(other).usd


def test_an_answer_as_it_was_recorded():
    """Whole SKUs: other services' parts, tiers, and prices of less than a cent in `nanos`."""
    assert of_iowa(*RECORDED).usd == {("compute", "n1", "core"): 0.031611}


def test_one_list_has_all_regions():
    """It is read once: a generator of its pages will do."""
    both = rates((each for each in COMPUTE), ["us-central1", "europe-west4", "mars-north1"])
    assert [len(each.usd) for each in both.values()] == [6, 2, 0]
