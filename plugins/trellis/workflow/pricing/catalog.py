"""Prices of machines as the Cloud Billing Catalog lists them: one SKU for a vCPU, a GB, a GPU.

A SKU says what it is in its description alone, for example:

    Vertex AI: Training/Pipelines on N1 Predefined Instance Core running in Americas
    Vertex AI: Online/Batch Prediction Nvidia H100 80gb GPU running in Iowa
    N1 Predefined Instance Ram running in Americas                  of Compute Engine
    Spot Preemptible N1 Predefined Instance Ram running in Americas
    Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Americas
    A4 Nvidia B200 (1 gpu slice) running in Americas                with its cores and memory

Vertex AI bills on-demand machines by SKUs of its own, and spot machines by Compute Engine's and a
management fee. https://docs.cloud.google.com/billing/v1/how-tos/catalog-api
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SERVICES = {"compute": "6F81-5844-456A", "vertex": "C7E2-9256-1C43"}
"""IDs of Compute Engine and Vertex AI in the catalog."""

Whose = Literal["compute", "spot", "training", "serving"]
"""Whose price: Compute Engine's, on demand or of spot machines, or Vertex AI's for a use."""

_VERTEX = re.compile(
    r"Vertex AI: (?:(?P<training>Training/Pipelines on )|Online/Batch Prediction )"
    r"(?P<what>(?!management fee).+?)(?: running)? in .+",
    re.IGNORECASE,
)
_COMPUTE = re.compile(
    r"(?P<spot>Spot Preemptible )?(?P<what>.+?)(?P<gpu> attached to Spot Preemptible VMs)?"
    r" running in .+"
)
_MACHINE = re.compile(
    r"(?:(?P<series>[A-Z]\d[A-Z]?) (?:AMD )?(?:Predefined )?Instance"
    r"|(?P<c2>Compute optimized)|(?P<m1>Memory-optimized Instance)) (?P<part>Core|Ram)",
    re.IGNORECASE,
)
_GPU = re.compile(r"(?:Nvidia )?(?:Tesla )?(?P<model>.+?)(?: GPU)?", re.IGNORECASE)
_SLICE = re.compile(r"A4 Nvidia (?P<model>B200) \(1 gpu slice\)", re.IGNORECASE)

_GPUS = {
    "a100": "NVIDIA_TESLA_A100",
    "a100 80gb": "NVIDIA_A100_80GB",
    "b200": "NVIDIA_B200",
    "h100 80gb": "NVIDIA_H100_80GB",
    # It has either name, by the region.
    "h100 80gb mega": "NVIDIA_H100_MEGA_80GB",
    "h100 80gb plus": "NVIDIA_H100_MEGA_80GB",
    "h200 141gb": "NVIDIA_H200_141GB",
    "l4": "NVIDIA_L4",
    "p100": "NVIDIA_TESLA_P100",
    "p4": "NVIDIA_TESLA_P4",
    "rtx 6000 96gb": "NVIDIA_RTX_PRO_6000",
    "rtx pro 6000": "NVIDIA_RTX_PRO_6000",
    "t4": "NVIDIA_TESLA_T4",
    "v100": "NVIDIA_TESLA_V100",
}
_UNITS = ("h", "GiBy.h", "GBy.h")
_NANO = 1e-9


@dataclass(frozen=True)
class Rates:
    """US dollars an hour by (whose, name, part).

    name: a series ("n1") with the parts core and ram, or an accelerator with the part gpu, or slice
    where it is sold with its share of the machine.
    ambiguous: descriptions of SKUs that mean the same and differ in price; none of them counts.
    """

    usd: Mapping[tuple[Whose, str, str], float] = field(default_factory=dict)
    ambiguous: tuple[str, ...] = ()

    def machine(self, whose: Whose, series: str, vcpus: float, memory_gb: float) -> float | None:
        """A machine without accelerators; None if a part of it has no price."""
        core, ram = self.usd.get((whose, series, "core")), self.usd.get((whose, series, "ram"))
        return None if core is None or ram is None else vcpus * core + memory_gb * ram

    def gpu(self, whose: Whose, name: str) -> float | None:
        """One accelerator."""
        return self.usd.get((whose, name, "gpu"))

    def gpu_slice(self, whose: Whose, name: str) -> float | None:
        """One accelerator with its share of the machine's cores and memory."""
        return self.usd.get((whose, name, "slice"))


_Found = dict[tuple[Whose, str, str], dict[float, str]]
"""Prices of what a SKU is the price of, each with a description."""


def rates(skus: Iterable[Mapping[str, Any]], regions: Collection[str]) -> dict[str, Rates]:
    """The rates of machines by region. skus: as `services.skus.list` returns them.

    The catalog has all regions in one list; a SKU names those where it is sold.
    """
    found: dict[str, _Found] = {region: {} for region in regions}
    for sku in skus:
        here = [region for region in sku.get("serviceRegions", ()) if region in found]
        key, usd = meaning(sku["description"]), _usd(sku)
        if key is not None and usd is not None and _usage(sku) == _usage_of(key):
            for region in here:
                found[region].setdefault(key, {})[usd] = sku["description"]
    return {region: _rates(each) for region, each in found.items()}


def _rates(found: _Found) -> Rates:
    ambiguous = (text for prices in found.values() if len(prices) > 1 for text in prices.values())
    return Rates(
        {key: next(iter(prices)) for key, prices in found.items() if len(prices) == 1},
        tuple(sorted(ambiguous)),
    )


def meaning(description: str) -> tuple[Whose, str, str] | None:
    """Return what a SKU is the price of; None unless it is of a machine that is billed by the
    hour.
    """
    whose: Whose = "compute"
    if found := _VERTEX.fullmatch(description):
        whose = "training" if found["training"] else "serving"
    elif description.startswith("Vertex AI") or not (found := _COMPUTE.fullmatch(description)):
        return None
    elif found["spot"] or found["gpu"]:
        whose = "spot"
    if machine := _MACHINE.fullmatch(found["what"]):
        series = machine["series"] or ("c2" if machine["c2"] else "m1")
        return whose, series.lower(), machine["part"].lower()
    if part := _SLICE.fullmatch(found["what"]):
        return whose, _GPUS[part["model"].lower()], "slice"
    if (gpu := _GPU.fullmatch(found["what"])) and gpu["model"].lower() in _GPUS:
        return whose, _GPUS[gpu["model"].lower()], "gpu"
    return None


def _usage(sku: Mapping[str, Any]) -> Any:
    return sku.get("category", {}).get("usageType")


def _usage_of(key: tuple[Whose, str, str]) -> str:
    return "Preemptible" if key[0] == "spot" else "OnDemand"


def _usd(sku: Mapping[str, Any]) -> float | None:
    """The price of an hour; None if it is by another unit, or in tiers."""
    if not sku.get("pricingInfo"):
        return None
    # In chronological order: the last one is today's.
    expression = sku["pricingInfo"][-1]["pricingExpression"]
    tiers = expression["tieredRates"]
    if expression.get("usageUnit") not in _UNITS or len(tiers) != 1:
        return None
    price = tiers[0]["unitPrice"]
    return round(int(price.get("units", 0)) + price.get("nanos", 0) * _NANO, 9) or None
