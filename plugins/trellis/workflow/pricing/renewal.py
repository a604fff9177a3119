"""machines.json, with the prices of today: what changes, line by line, and what could not be found.

The table has the prices of one region or more. A machine or accelerator without a price in a region
that is new there is not listed for it, so that `trellis check` refuses it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from trellis.workflow.pricing.catalog import SERVICES, Rates, Whose

SOURCE = (
    "Cloud Billing Catalog, https://cloudbilling.googleapis.com/v1/services/{}/skus (on demand and "
    "spot, USD); where an entry has no price of the use, usd and the factor"
)
_FIELDS: Mapping[Whose, str] = {
    "compute": "usd",
    "spot": "spot_usd",
    "training": "training_usd",
    "serving": "serving_usd",
}
_SECTIONS = ("machines", "attachable")
_DIGITS = 9

Prices = dict[str, dict[str, float]]
"""Prices of one region, in the file's form: US dollars an hour, by machine and field."""


@dataclass(frozen=True)
class Region:
    """prices: the new ones. changes: lines for a person. kept: which the catalog does not have.
    absent: which have no price in a region that is new in the table.
    """

    prices: Prices
    changes: list[str]
    kept: list[str]
    absent: list[str]


def renewed(
    table: Mapping[str, Any], rates: Mapping[str, Rates], today: date
) -> tuple[dict[str, Any], dict[str, Region]]:
    """The table with the rates by region, and what that changes in each.

    Sizes and what fits together stay as they are.
    """
    regions = {
        region: _region(table, table["prices"].get(region), each) for region, each in rates.items()
    }
    new = {**table, "date": today.isoformat(), "source": SOURCE.format(SERVICES["compute"])}
    for use in ("training", "serving"):
        new[use] = {**table[use], "source": SOURCE.format(SERVICES["vertex"])}
    new["prices"] = {**table["prices"], **{name: each.prices for name, each in regions.items()}}
    return new, regions


def text(table: Mapping[str, Any]) -> str:
    """The file: one line for each machine and accelerator, and for each of its prices."""
    lines = []
    for key, value in table.items():
        if key in _SECTIONS:
            lines.append(f'  "{key}": {_entries(value, "  ")}')
        elif key == "prices":
            regions = [f'    "{name}": {_entries(each, "    ")}' for name, each in value.items()]
            lines.append('  "prices": {\n' + ",\n".join(regions) + "\n  }")
        else:
            lines.append(f'  "{key}": ' + json.dumps(value, indent=2).replace("\n", "\n  "))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _entries(entries: Mapping[str, Any], indent: str) -> str:
    lines = [f"{indent}  {json.dumps(name)}: {json.dumps(each)}" for name, each in entries.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _region(table: Mapping[str, Any], old: Prices | None, rates: Rates) -> Region:
    """old: the region's prices in the table; None if it is new there."""
    new = Region({}, [], [], [])
    for name, entry in [each for section in _SECTIONS for each in table[section].items()]:
        found = _prices(name, entry, rates, own_disks=old is None)
        before = (old or {}).get(name, {})
        after = {**before, **found}
        if not _priced(entry, after):
            new.absent.append(name)
            continue
        if not found:
            new.kept.append(name)
        new.prices[name] = {key: after[key] for key in _FIELDS.values() if key in after}
        new.changes.extend(_changes(name, before, after))
    return new


def _prices(name: str, entry: Mapping[str, Any], rates: Rates, own_disks: bool) -> dict[str, float]:
    """The prices that the catalog has of an entry, by field.

    own_disks: take Compute Engine's price of a machine with accelerators without its local disks,
    which are not in these rates.
    """
    found: dict[str, float] = {}
    for whose, key in _FIELDS.items():
        if "vcpus" not in entry:
            usd = rates.gpu(whose, name)
        elif "gpu" not in entry:
            usd = rates.machine(whose, name.split("-")[0], entry["vcpus"], entry["memory_gb"])
        elif whose in ("compute", "spot") and not own_disks:
            usd = None
        else:
            usd = _with_gpus(name, entry, rates, whose)
        if usd is not None:
            found[key] = round(usd, _DIGITS)
    others = {
        f"{use}_usd" for use in ("training", "serving") if entry.get("only") not in (None, use)
    }
    return {key: usd for key, usd in found.items() if key not in others}


def _with_gpus(name: str, entry: Mapping[str, Any], rates: Rates, whose: Whose) -> float | None:
    if (share := rates.gpu_slice(whose, entry["gpu"])) is not None:
        return entry["gpus"] * share
    machine = rates.machine(whose, name.split("-")[0], entry["vcpus"], entry["memory_gb"])
    gpu = rates.gpu(whose, entry["gpu"])
    return None if machine is None or gpu is None else machine + entry["gpus"] * gpu


def _priced(entry: Mapping[str, Any], prices: Mapping[str, float]) -> bool:
    """Return whether each use of the entry has a price."""
    uses = [entry["only"]] if "only" in entry else ["training", "serving"]
    return "usd" in prices or all(f"{use}_usd" in prices for use in uses)


def _changes(name: str, before: Mapping[str, float], after: Mapping[str, float]) -> Iterator[str]:
    for key in _FIELDS.values():
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if old and new:
            yield f"{name:<22} {key:<13} {old:>12.6f} -> {new:>12.6f}  {new / old - 1:+.1%}"
        else:
            a, b = (f"{usd:.6f}" if usd else "none" for usd in (old, new))
            yield f"{name:<22} {key:<13} {a:>12} -> {b:>12}"
