"""machines.json, with the prices of today: what changes, line by line, and what could not be found.

The table has the prices of one region. Renewed for another region, a machine or accelerator without
a price there goes out of the table, so that `trellis check` refuses it.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from trellis.workflow.pricing.catalog import SERVICES, Rates, Whose

SOURCE = (
    "Cloud Billing Catalog, https://cloudbilling.googleapis.com/v1/services/{}/skus (on demand, "
    "USD); where an entry has no price of the use, usd and the factor"
)
_FIELDS: Mapping[Whose, str] = {
    "compute": "usd",
    "training": "training_usd",
    "serving": "serving_usd",
}
_DIGITS = 9


@dataclass(frozen=True)
class Renewal:
    """table: the new content of machines.json. changes, kept, removed: lines for a person."""

    table: dict[str, Any]
    changes: list[str]
    kept: list[str]
    removed: list[str]


def renewed(table: Mapping[str, Any], rates: Rates, region: str, today: date) -> Renewal:
    """The table with a region's rates. Sizes and what fits together stay as they are."""
    new = copy.deepcopy(dict(table))
    elsewhere = region != table["region"]
    changes: list[str] = []
    kept: list[str] = []
    removed: list[str] = []
    for section in ("machines", "attachable"):
        for name, old in table[section].items():
            prices = _prices(name, old, rates, elsewhere)
            entry = {key: value for key, value in old.items() if key not in _FIELDS.values()}
            before = {key: value for key, value in old.items() if key in _FIELDS.values()}
            if not prices and not elsewhere:
                kept.append(name)
            elif not _priced(entry, prices if elsewhere else {**before, **prices}):
                removed.append(name)
                del new[section][name]
            else:
                after = prices if elsewhere else {**before, **prices}
                new[section][name] = _ordered(entry, after)
                changes += _changes(name, before, after)
    new["region"], new["date"] = region, today.isoformat()
    new["source"] = SOURCE.format(SERVICES["compute"])
    for use in ("training", "serving"):
        new[use] = {**new[use], "source": SOURCE.format(SERVICES["vertex"])}
    return Renewal(new, changes, kept, removed)


def text(table: Mapping[str, Any]) -> str:
    """The file: one line for each machine and accelerator."""
    lines = []
    for key, value in table.items():
        if key in ("machines", "attachable"):
            entries = [f"    {json.dumps(name)}: {json.dumps(e)}" for name, e in value.items()]
            lines.append(f'  "{key}": {{\n' + ",\n".join(entries) + "\n  }")
        else:
            lines.append(f'  "{key}": ' + json.dumps(value, indent=2).replace("\n", "\n  "))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _prices(name: str, entry: Mapping[str, Any], rates: Rates, elsewhere: bool) -> dict[str, float]:
    """The prices that the catalog has of an entry, by field."""
    found: dict[str, float] = {}
    for whose, key in _FIELDS.items():
        if "vcpus" not in entry:
            usd = rates.gpu(whose, name)
        elif "gpu" not in entry:
            usd = rates.machine(whose, name.split("-")[0], entry["vcpus"], entry["memory_gb"])
        elif whose == "compute" and not elsewhere:
            usd = None  # with its local disks, which are not in these rates
        else:
            usd = _with_gpus(name, entry, rates, whose)
        if usd is not None:
            found[key] = round(usd, _DIGITS)
    only = entry.get("only")
    return {key: usd for key, usd in found.items() if not only or key in ("usd", f"{only}_usd")}


def _with_gpus(name: str, entry: Mapping[str, Any], rates: Rates, whose: Whose) -> float | None:
    machine = rates.machine(whose, name.split("-")[0], entry["vcpus"], entry["memory_gb"])
    gpu = rates.gpu(whose, entry["gpu"])
    return None if machine is None or gpu is None else machine + entry["gpus"] * gpu


def _priced(entry: Mapping[str, Any], prices: Mapping[str, float]) -> bool:
    """Whether each use of the entry has a price."""
    uses = [entry["only"]] if "only" in entry else ["training", "serving"]
    return "usd" in prices or all(f"{use}_usd" in prices for use in uses)


def _ordered(entry: Mapping[str, Any], prices: Mapping[str, float]) -> dict[str, Any]:
    """As the file has it: sizes, prices, accelerators."""
    sizes = {key: entry[key] for key in ("vcpus", "memory_gb") if key in entry}
    in_order = {key: prices[key] for key in _FIELDS.values() if key in prices}
    return {**sizes, **in_order, **{k: v for k, v in entry.items() if k not in sizes}}


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
