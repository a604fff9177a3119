"""`trellis prices`: compares the table of machines with today's prices of Google's catalog.

For all regions of the table, and that of the group. It prints what would change, and writes only
with `--write`: into the checkout or installation that it runs in, of which the wheel is then built.
"""

import json
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from trellis.google_api import CredentialsError, GoogleApi, RefusedError
from trellis.workflow.pricing import catalog, renewal
from trellis.workflow.pricing.machines import TABLE
from trellis.workflow.spec import platform
from trellis.workflow.spec.problems import FileError

_URL = "https://cloudbilling.googleapis.com/v1/services/{service}/skus"
_PAGE = 5000


def run(folder: Path, write: bool, file: Path = TABLE) -> int:
    """Compare for the table's regions and that of a folder's platform.yaml; the exit code."""
    old = json.loads(file.read_text())
    try:
        regions = dict.fromkeys([*old["prices"], platform.load(folder).region])
        rates = catalog.rates(_skus(GoogleApi()), regions)
    except (FileError, CredentialsError) as error:
        print(error, file=sys.stderr)
        return 1
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
    print(f"{old['date']} -> {new['date']}, USD an hour")
    for region, each in changed.items():
        _report(region, each, rates[region])
    if write:
        file.write_text(renewal.text(new))
        print(f"\nWritten: {file}")
    else:
        print("\nNothing was written. With --write it is.")
    return 0


def _skus(api: GoogleApi) -> Iterator[dict[str, Any]]:
    for service in catalog.SERVICES.values():
        yield from api.each(_URL.format(service=service), "skus", pageSize=_PAGE)


def _report(region: str, new: renewal.Region, rates: catalog.Rates) -> None:
    print(f"\n{region}\n")
    print("\n".join(new.changes) or "No price has changed.")
    if new.kept:
        print(f"\nNot found in the catalog, kept as they were: {', '.join(new.kept)}")
    if new.absent:
        print(f"\nWithout a price in {region}: {', '.join(new.absent)}")
    if rates.ambiguous:
        print("\nOf these the catalog has two prices, so none was taken:")
        print("\n".join(f"  {description}" for description in rates.ambiguous))
