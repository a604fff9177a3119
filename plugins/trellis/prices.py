"""`trellis prices`: compares the tables of prices with today's of Google's catalog.

Those of machines and of services, for all regions of the tables, and that of the group. It prints
what would change, and writes only with `--write`: into the checkout or installation that it runs
in, of which the wheel is then built.
"""

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from trellis import command_line
from trellis.google_api import GoogleApi, RefusedError
from trellis.workflow.pricing import catalog, renewal, service_catalog, services
from trellis.workflow.pricing.machines import TABLE
from trellis.workflow.spec import platform

_SERVICES = "https://cloudbilling.googleapis.com/v1/services"
_URL = _SERVICES + "/{service}/skus"
_PAGE = 5000


def add(commands: Any) -> None:
    """The command's arguments. commands: argparse's subparsers."""
    prices = commands.add_parser("prices", help="compare the prices of machines with Google's")
    command_line.add_folder(prices, "which names the group's region")
    prices.add_argument("--write", action="store_true", help="change the table")
    prices.set_defaults(handler=lambda options: run(options.folder, options.write))


def run(folder: Path, write: bool, file: Path = TABLE, services_file: Path = services.TABLE) -> int:
    """Compare for the tables' regions and that of a folder's platform.yaml; the exit code."""
    old, old_services = json.loads(file.read_text()), json.loads(services_file.read_text())
    try:
        known = [*old["prices"], *old_services["prices"]]
        regions = dict.fromkeys([*known, platform.load(folder).region])
        api = GoogleApi()
        skus = {service: _skus(api, service) for service in catalog.SERVICES.values()}
        rates = catalog.rates([sku for each in skus.values() for sku in each], regions)
        skus |= {name: _skus(api, service) for name, service in _named(api).items()}
    except RefusedError as error:
        print(f"The catalog could not be read: {error.message}", file=sys.stderr)
        if error.disabled:
            print(f"gcloud services enable {error.disabled}", file=sys.stderr)
        return 1
    if empty := [region for region in regions if not rates[region].usd]:
        where = ", ".join(empty)
        print(f"The catalog has no machine in {where}. Nothing was changed.", file=sys.stderr)
        return 1
    new, changed = renewal.renewed(old, rates, date.today())
    new_services, reports = service_catalog.renewed(old_services, skus, regions, date.today())
    print(f"{old['date']} -> {new['date']}, USD an hour; of queries, USD a TiB")
    for region, each in changed.items():
        _report(region, each, rates[region], reports[region])
    print("\nNot looked up, by hand:")
    for what, (day, source) in services.table(path=services_file).by_hand.items():
        print(f"  {what}, of {day}: {source}")
    if write:
        file.write_text(renewal.text(new))
        services_file.write_text(json.dumps(new_services, indent=2) + "\n")
        print(f"\nWritten: {file}, {services_file}")
    else:
        print("\nNothing was written. With --write it is.")
    return 0


def _skus(api: GoogleApi, service: str) -> list[dict[str, Any]]:
    return list(api.items(_URL.format(service=service), "skus", pageSize=_PAGE))


def _named(api: GoogleApi) -> dict[str, str]:
    """IDs of the services that are known by their names, by name."""
    every = api.items(_SERVICES, "services", pageSize=_PAGE)
    wanted = service_catalog.NAMES.values()
    return {s["displayName"]: s["serviceId"] for s in every if s["displayName"] in wanted}


def _report(
    region: str, new: renewal.Region, rates: catalog.Rates, others: service_catalog.Renewed
) -> None:
    print(f"\n{region}\n")
    print("\n".join([*new.changes, *others.changes]) or "No price has changed.")
    if others.missing:
        print(f"\nWithout one price in the catalog: {', '.join(others.missing)}")
    if new.kept:
        print(f"\nNot found in the catalog, kept as they were: {', '.join(new.kept)}")
    if new.absent:
        print(f"\nWithout a price in {region}: {', '.join(new.absent)}")
    if rates.ambiguous:
        print("\nOf these the catalog has two prices, so none was taken:")
        print("\n".join(f"  {description}" for description in rates.ambiguous))
