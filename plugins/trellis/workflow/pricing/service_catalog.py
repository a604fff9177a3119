"""Prices of what is no machine as the Cloud Billing Catalog lists them, and prices.json with them.

SKUs have names such as

    Analysis (europe-west4)                         bytes that BigQuery's queries read
    vCPU Time Batch Belgium, RAM Time Belgium       Dataflow's workers
    Local Disk Time PD Standard Belgium             their disks
    Vertex AI: Training/Pipelines on SSD backed PD Capacity in Belgium
    Standard Storage Belgium                        a regional bucket

AutoML's node hours and Composer's DCU-hours are not looked up: see `services`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from trellis.workflow.pricing.catalog import SERVICES

NAMES = {"bigquery": "BigQuery", "dataflow": "Cloud Dataflow", "storage": "Cloud Storage"}
"""Display names in the catalog of the services that `catalog` does not read."""

HOURS_OF_A_MONTH = 730
_BY_HOUR = {"GiBy.h": 1.0, "GBy.h": 1.0, "GiBy.mo": 1 / HOURS_OF_A_MONTH}
_DIGITS = 9
_NANO = 1e-9
_SKUS: Mapping[str, tuple[str, re.Pattern[str], Mapping[str, float]]] = {
    "query_tib": (NAMES["bigquery"], re.compile(r"Analysis(?: \(.+\))?"), {"TiBy": 1.0}),
    "dataflow_vcpu": (NAMES["dataflow"], re.compile(r"vCPU Time Batch .+"), {"h": 1.0}),
    "dataflow_memory_gb": (
        NAMES["dataflow"],
        re.compile(r"RAM Time (?:Batch .+|(?!Batch|Streaming|FlexRS).+)"),
        _BY_HOUR,
    ),
    "dataflow_disk_gb": (
        NAMES["dataflow"],
        re.compile(r"Local Disk Time PD Standard .+"),
        _BY_HOUR,
    ),
    "training_disk_gb": (
        SERVICES["vertex"],
        re.compile(r"Vertex AI: Training/Pipelines on SSD backed PD Capacity(?: in .+)?"),
        _BY_HOUR,
    ),
    "storage_gb_month": (
        NAMES["storage"],
        re.compile(r"Standard Storage (?!.*(?:-region|Dual|Multi)).+"),
        {"GiBy.mo": 1.0},
    ),
}
"""By field of prices.json: service, description, and the parts of an hour or TiB by unit."""


@dataclass(frozen=True)
class Renewed:
    """changes: lines for a person. missing: fields without one price in the catalog."""

    changes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def renewed(
    table: Mapping[str, Any],
    skus: Mapping[str, Iterable[Mapping[str, Any]]],
    regions: Iterable[str],
    today: date,
) -> tuple[dict[str, Any], dict[str, Renewed]]:
    """The table of prices.json with the catalog's prices, and what that changes in each region.

    skus: by the service's name or ID in `_SKUS`. A price that is not found stays as it is; a region
    that is new is added with all its prices only.
    """
    every = {service: list(of_service) for service, of_service in skus.items()}
    prices, reports = dict(table["prices"]), {}
    for region in regions:
        found, report = _found(every, region), Renewed()
        old = table["prices"].get(region, {})
        report.missing.extend(name for name in _SKUS if name not in found)
        reports[region] = report
        if report.missing and not old:
            continue
        prices[region] = {**old, **found}
        for name, usd in found.items():
            before = old.get(name)
            if before != usd:
                shown = "none" if before is None else f"{before:.9f}"
                report.changes.append(f"{name:<22} {shown:>14} -> {usd:>14.9f}")
    return {**table, "date": today.isoformat(), "prices": prices}, reports


def _found(skus: Mapping[str, list[Mapping[str, Any]]], region: str) -> dict[str, float]:
    """The prices of a region by field; without those that have none, or several."""
    found = {}
    for name, (service, description, units) in _SKUS.items():
        usd = {
            price
            for sku in skus.get(service, ())
            if region in sku.get("serviceRegions", ()) and description.fullmatch(sku["description"])
            if (price := _usd(sku, units)) is not None
        }
        if len(usd) == 1:
            found[name] = usd.pop()
    return found


def _usd(sku: Mapping[str, Any], units: Mapping[str, float]) -> float | None:
    """The dearest of a price's tiers: a limit does not know what else a project uses."""
    if sku.get("category", {}).get("usageType") != "OnDemand" or not sku.get("pricingInfo"):
        return None
    expression = sku["pricingInfo"][-1]["pricingExpression"]  # the last one is today's
    share = units.get(expression.get("usageUnit"))
    prices = [rate["unitPrice"] for rate in expression["tieredRates"]]
    if share is None or not prices:
        return None
    usd = max(int(p.get("units", 0)) + p.get("nanos", 0) * _NANO for p in prices)
    return round(usd * share, _DIGITS) or None
